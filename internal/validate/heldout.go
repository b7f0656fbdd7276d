package validate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/internal/question"
)

// tuning changes what is known of an engine; nil: nothing.
type tuning func(engine string, s *deploy.Scheduling)

// constant is a number of an engine that was fitted to serving runs, and the figure and the mode of runs that it shows in.
type constant struct {
	name   string
	of     func(*deploy.Scheduling) *float64
	start  float64 // seconds, the same for all engines
	figure int
	mode   question.Mode
}

const ttft, tpot = 0, 1

// constants in the order in which they are chosen.
var constants = []constant{
	{"step_seconds", func(s *deploy.Scheduling) *float64 { return &s.StepSeconds }, 0.5e-3, tpot, question.Aggregated},
	{"sequence_seconds", func(s *deploy.Scheduling) *float64 { return &s.SequenceSeconds }, 6e-6, tpot, question.Aggregated},
	{"first_seconds", func(s *deploy.Scheduling) *float64 { return &s.FirstSeconds }, 40e-3, ttft, question.Aggregated},
	{"request_seconds", func(s *deploy.Scheduling) *float64 { return &s.RequestSeconds }, 8e-3, ttft, question.Aggregated},
	{"token_seconds", func(s *deploy.Scheduling) *float64 { return &s.TokenSeconds }, 4e-6, ttft, question.Aggregated},
	{"handover_seconds", func(s *deploy.Scheduling) *float64 { return &s.HandoverSeconds }, 100e-3, ttft, question.Disaggregated},
}

// scales are what the start of a constant is multiplied with in the search for its best value.
var scales = []float64{1, 0.25, 0.35, 0.5, 0.7, 1.4, 2, 2.8, 4}

// chosen are constants of engines: by engine and name, in seconds.
type chosen map[[2]string]float64

func (m chosen) tune(engine string, s *deploy.Scheduling) {
	for i := range constants {
		if x, ok := m[[2]string{engine, constants[i].name}]; ok {
			*constants[i].of(s) = x
		}
	}
}

// Target is a median error that predictions of serving runs should keep.
type Target struct {
	Name   string
	Most   float64 // percent; 0: none
	figure int
	of     func(*judged) bool
}

// stall is how much longer than predicted the first token of a stalled run took, in ms: the least of what the study of the public
// table found, of which most turned out to be requests that wait for the batch of a decode server.
const stall = 2700

var targets = []Target{
	{"aggregated TTFT", 18, ttft, func(j *judged) bool { return j.mode == "agg" }},
	{"aggregated TPOT", 7, tpot, func(j *judged) bool { return j.mode == "agg" && !j.drafts }},
	{"disaggregated TTFT", 0, ttft, func(j *judged) bool { return j.mode == "disagg" }},
	{"disaggregated TTFT, without stalled runs", 25, ttft, func(j *judged) bool { return j.mode == "disagg" && j.measured[ttft]-j.shipped[ttft] < stall }},
	{"disaggregated TPOT", 8, tpot, func(j *judged) bool { return j.mode == "disagg" && !j.drafts }},
	{"TPOT with drafts", 12, tpot, func(j *judged) bool { return j.drafts }},
	{"MI300X TPOT", 15, tpot, func(j *judged) bool { return strings.HasPrefix(strings.ToLower(j.system), "mi300x") }},
	{"MI355X TPOT", 15, tpot, func(j *judged) bool { return strings.HasPrefix(strings.ToLower(j.system), "mi355x") }},
}

// judged is a run beside its predictions: with the constants of the engines as they are, and as they are fitted to the runs of
// other groups. A figure that was not measured, or not predicted, is not a number.
type judged struct {
	engine, mode, system, group string
	drafts                      bool
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

// HeldOut judges a table of serving runs by groups of model, system and engine, in so many folds. The constants of the engines
// that were fitted to such runs are chosen anew for each fold, one after the other, on the runs of the other folds alone, from
// where all engines are alike. Copies of a run count once; runs that no prediction should be judged by are left out.
func HeldOut(ctx context.Context, name string, src io.Reader, q question.Question, folds int) ([]Kept, error) {
	text, err := io.ReadAll(src)
	if err != nil {
		return nil, err
	}
	predict := func(tune tuning) (*Report, error) {
		return servingRuns(ctx, name, bytes.NewReader(text), q, nothing, tune)
	}
	base, err := predict(nil)
	if err != nil {
		return nil, err
	}
	runs := judgedRuns(base, folds)
	for fold := range folds {
		chosen, err := choose(runs, fold, predict)
		if err != nil {
			return nil, err
		}
		r, err := predict(chosen.tune)
		if err != nil {
			return nil, err
		}
		for i := range runs {
			if j := runs[i]; j != nil && j.fold == fold {
				j.held = predictedFigures(&r.Rows[i])
			}
		}
	}
	return kept(runs), nil
}

// judgedRuns are the rows of a report as runs; nil for copies of others.
func judgedRuns(r *Report, folds int) []*judged {
	out := make([]*judged, len(r.Rows))
	groups, copies := map[string]int{}, countRuns(r)
	for i := range r.Rows {
		row := &r.Rows[i]
		of := run{r.cells(row)}
		name := runName(&of, row)
		listed := copies[name]
		if copies[name] = 0; listed == 0 {
			continue
		}
		drafting, _ := of.drafts()
		j := &judged{engine: of.get("backend"), mode: of.get("mode"), system: of.get("system"), drafts: drafting, group: of.group()}
		j.measured = [2]float64{row.Figures[ttft].Measured, row.Figures[tpot].Measured}
		if j.measured[tpot] == 0 {
			j.measured[tpot] = of.median() // nearly the mean, where a run has none
		}
		j.doubtful[ttft], j.doubtful[tpot] = doubted(of.known, listed)
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
	v, _ := strconv.ParseFloat(cmp.Or(r.cell("tpot_p50"), r.cell("tpot_p50_ms"), r.cell("median_tpot_ms")), 64)
	return v
}

// cells are those of a row by the names of their columns.
func (r *Report) cells(row *Row) func(string) string {
	return func(column string) string {
		if at := slices.Index(r.Header, column); at >= 0 && at < len(row.Cells) {
			return row.Cells[at]
		}
		return ""
	}
}

func predictedFigures(row *Row) (out [2]float64) {
	for f := range out {
		if out[f] = row.Figures[f].Predicted; out[f] == 0 {
			out[f] = math.NaN()
		}
	}
	return out
}

// choose chooses the constants by the runs outside a fold.
func choose(runs []*judged, fold int, predict func(tuning) (*Report, error)) (chosen, error) {
	out := chosen{}
	for _, j := range runs {
		for c := range constants {
			if j != nil {
				out[[2]string{j.engine, constants[c].name}] = constants[c].start
			}
		}
	}
	for c := range constants {
		k := &constants[c]
		best, least := maps.Clone(out), map[string]float64{}
		for _, scale := range scales {
			tried := maps.Clone(out)
			for key := range tried {
				if key[1] == k.name {
					tried[key] = scale * k.start
				}
			}
			r, err := predict(tried.tune)
			if err != nil {
				return nil, err
			}
			for key := range tried {
				if key[1] != k.name {
					continue
				}
				miss := trainingError(runs, r, k, key[0], fold)
				if last, ok := least[key[0]]; !ok || miss < last {
					least[key[0]], best[key] = miss, tried[key]
				}
			}
		}
		out = best
	}
	return out, nil
}

// trainingError is the median error of the runs of an engine outside a fold.
func trainingError(runs []*judged, r *Report, k *constant, engine string, fold int) float64 {
	var errs []float64
	for i, j := range runs {
		if j == nil || j.fold == fold || j.engine != engine || j.mode != string(k.mode) || j.drafts {
			continue
		}
		if e := j.error(k.figure, predictedFigures(&r.Rows[i])[k.figure]); !math.IsNaN(e) && !math.IsInf(e, 0) {
			errs = append(errs, e)
		}
	}
	if len(errs) == 0 {
		return math.Inf(1)
	}
	return median(errs)
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
		k.Shipped, k.Held = 100*median(shipped), 100*median(held)
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
