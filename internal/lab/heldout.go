package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/internal/validate"
)

// Target is a median error that predictions of serving runs should keep.
type Target struct {
	Name   string
	Most   float64 // percent; 0: none
	figure int
	of     func(*judged) bool
}

var targets = []Target{
	{"aggregated TTFT", 18, ttft, func(j *judged) bool { return j.mode == "agg" }},
	{"aggregated TPOT", 7, tpot, func(j *judged) bool { return j.mode == "agg" && !j.drafts }},
	{"disaggregated TTFT", 0, ttft, func(j *judged) bool { return j.mode == "disagg" }},
	{"disaggregated TTFT, without stalled runs", 25, ttft, func(j *judged) bool { return j.mode == "disagg" && !j.stalled }},
	{"disaggregated TPOT", 8, tpot, func(j *judged) bool { return j.mode == "disagg" && !j.drafts }},
	{"TPOT with drafts", 12, tpot, func(j *judged) bool { return j.drafts }},
	{"MI300X TPOT", 15, tpot, func(j *judged) bool { return strings.HasPrefix(strings.ToLower(j.system), "mi300x") }},
	{"MI355X TPOT", 15, tpot, func(j *judged) bool { return strings.HasPrefix(strings.ToLower(j.system), "mi355x") }},
}

// judged is a run with its predictions by the built-in constants and by those fitted to other
// groups; figures not measured or not predicted are NaN.
type judged struct {
	engine, mode, system, group string
	drafts                      bool
	stalled                     bool
	fold                        int
	doubtful                    [2]bool

	measured, shipped, held [2]float64
}

func (j *judged) error(figure int, predicted float64) float64 {
	if j.doubtful[figure] {
		return math.NaN()
	}
	return math.Abs(predicted/j.measured[figure] - 1)
}

// Kept is how a target is kept: median errors in percent.
type Kept struct {
	Target
	Runs, Groups  int
	Shipped, Held float64
}

// HeldOut judges runs in folds by model, system and engine, with fitted engine constants chosen
// anew on the other folds. Copies of a run count once and doubtful runs are left out. It also
// returns the constants that all runs choose.
func (t *Table) HeldOut(ctx context.Context, folds int) ([]Kept, []Chosen, error) {
	predict := func(tune tuning) (*validate.Report, error) {
		return t.predict(ctx, question.Default(), validate.Trial{Simulated: validate.Nothing, Tune: tune})
	}
	base, err := predict(nil)
	if err != nil {
		return nil, nil, err
	}
	runs := t.judged(base, folds)
	drawn, err := surfaces(runs, predict)
	if err != nil {
		return nil, nil, err
	}
	groups := groupedRuns(runs, drawn)
	for fold := range folds {
		others := slices.DeleteFunc(slices.Clone(groups), func(g *grouped) bool { return g.fold == fold })
		r, err := predict(choose(others).tune)
		if err != nil {
			return nil, nil, err
		}
		for i := range runs {
			if j := runs[i]; j != nil && j.fold == fold {
				j.held = predictedFigures(&r.Rows[i])
			}
		}
	}
	return kept(runs), choose(groups).list(), nil
}

// Chosen is a constant of an engine in seconds, as built in and as all runs of a table choose it.
type Chosen struct {
	Engine, Name  string
	BuiltIn, Runs float64
}

// list is the constants of engines that are built in, by engine.
func (m chosen) list() (out []Chosen) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		e, err := engine.Find(name)
		if err != nil {
			continue // no engine, or a generic one, of which nothing is fitted
		}
		for i := range constants {
			out = append(out, Chosen{name, constants[i].name, *constants[i].of(&e.Scheduling.Scheduling), constants[i].at(m[name][i])})
		}
	}
	return out
}

// judged are the rows of a report as runs; nil for copies of others.
func (t *Table) judged(r *validate.Report, folds int) []*judged {
	out := make([]*judged, len(r.Rows))
	groups, copies, stalled := map[string]int{}, t.countRuns(r), stalledRuns(t.loads(r))
	for i := range r.Rows {
		row := &r.Rows[i]
		of := t.rows[i]
		name := of.name(row)
		listed := copies[name]
		if copies[name] = 0; listed == 0 {
			continue
		}
		drafting, _ := of.Drafts()
		j := &judged{engine: of.Get("backend"), mode: of.Get("mode"), system: of.Get("system"), drafts: drafting, stalled: stalled[i], group: of.group()}
		j.measured = [2]float64{row.Figures[ttft].Measured, row.Figures[tpot].Measured}
		if j.measured[tpot] == 0 {
			j.measured[tpot] = of.median() // nearly the mean, where a run has none
		}
		j.doubtful[ttft], j.doubtful[tpot] = doubted(of.named, listed)
		j.shipped = predictedFigures(row)
		groups[j.group] = 0
		out[i] = j
	}
	for at, group := range slices.Sorted(maps.Keys(groups)) {
		groups[group] = at % folds
	}
	for _, j := range out {
		if j != nil {
			j.fold = groups[j.group]
		}
	}
	return out
}

// median is the measured median of TPOT in ms, 0 where there is none.
func (r run) median() float64 {
	v, _ := strconv.ParseFloat(cmp.Or(r.Cell("tpot_p50"), r.Cell("tpot_p50_ms"), r.Cell("median_tpot_ms")), 64)
	return v
}

func predictedFigures(row *validate.Row) (out [2]float64) {
	for f := range out {
		if out[f] = row.Figures[f].Predicted; out[f] == 0 {
			out[f] = math.NaN()
		}
	}
	return out
}

// kept is how the targets are kept that some runs tell something of.
func kept(runs []*judged) (out []Kept) {
	for i := range targets {
		k := Kept{Target: targets[i]}
		var shipped, held []float64
		groups := map[string]bool{}
		for _, j := range runs {
			if j == nil || !k.of(j) {
				continue
			}
			a, b := j.error(k.figure, j.shipped[k.figure]), j.error(k.figure, j.held[k.figure])
			if math.IsNaN(a+b) || math.IsInf(a+b, 0) {
				continue
			}
			shipped, held = append(shipped, a), append(held, b)
			groups[j.group] = true
		}
		if k.Runs, k.Groups = len(shipped), len(groups); k.Runs == 0 {
			continue
		}
		k.Shipped, k.Held = 100*validate.Median(shipped), 100*validate.Median(held)
		out = append(out, k)
	}
	return out
}

// Cells are a target as a row of a table.
func (k *Kept) Cells() []string {
	most, verdict := "", ""
	if k.Most > 0 {
		most, verdict = fmt.Sprintf("%.0f%%", k.Most), "kept"
		if k.Held > k.Most {
			verdict = "missed"
		}
	}
	return []string{k.Name, fmt.Sprint(k.Runs), fmt.Sprint(k.Groups), fmt.Sprintf("%.1f%%", k.Shipped), fmt.Sprintf("%.1f%%", k.Held), most, verdict}
}

// KeptColumns are the heads of these cells.
var KeptColumns = []string{"median error", "runs", "groups", "as it is", "held out", "target", ""}
