package lab

import (
	"context"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/internal/validate"
)

// rules are numbers of engines that can be taken away to see which runs they help: those that runs
// choose, and others that were chosen with results in view.
var rules = append(constants[:len(constants):len(constants)],
	constant{name: "group_seconds", of: func(s *deploy.Scheduling) *float64 { return &s.GroupSeconds }},
	constant{name: "request_seconds", of: func(s *deploy.Scheduling) *float64 { return &s.RequestSeconds }},
	constant{name: "draft_seconds", of: func(s *deploy.Scheduling) *float64 { return &s.DraftSeconds }},
)

// RuleRow is what a number is worth to the runs of a source: medians of errors in percent, of the
// runs that it moves.
type RuleRow struct {
	Rule, Source  string
	Runs          int
	With, Without float64
}

// moved is how far a prediction must move for a rule to matter to a run.
const moved = 0.01

// Rules judges numbers of engines by the runs of each source that they move, with and without them.
func Rules(ctx context.Context, tables ...*Table) ([]RuleRow, error) {
	h := &Held{tables: tables, by: &Partings[1]}
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	list := h.choosing()
	predict := func(tune tuning) (map[*judged][figureCount]float64, error) {
		out := map[*judged][figureCount]float64{}
		err := h.predict(ctx, list, tune, func(j *judged, f *[figureCount]float64) { out[j] = *f })
		return out, err
	}
	built, err := predict(nil)
	if err != nil {
		return nil, err
	}
	var out []RuleRow
	for i := range rules {
		without, err := predict(func(_ string, s *deploy.Scheduling) { *rules[i].of(s) = 0 })
		if err != nil {
			return nil, err
		}
		out = append(out, ruleRows(rules[i].name, list, built, without)...)
	}
	return out, nil
}

func ruleRows(name string, list []*judged, built, without map[*judged][figureCount]float64) (out []RuleRow) {
	errors := map[string]*[2][]float64{}
	var sources []string
	for _, j := range list {
		for _, f := range []int{ttft, tpot} {
			with, alone := built[j], without[j]
			a, b := j.error(f, &with), j.error(f, &alone)
			if math.IsNaN(a+b) || math.Abs(alone[f]/with[f]-1) < moved {
				continue
			}
			if errors[j.source] == nil {
				errors[j.source], sources = new([2][]float64), append(sources, j.source)
			}
			e := errors[j.source]
			e[0], e[1] = append(e[0], a), append(e[1], b)
		}
	}
	slices.Sort(sources)
	for _, s := range sources {
		e := errors[s]
		out = append(out, RuleRow{name, s, len(e[0]), 100 * validate.Median(e[0]), 100 * validate.Median(e[1])})
	}
	return out
}
