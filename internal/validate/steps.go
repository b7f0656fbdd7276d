package validate

import (
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/rows"
)

// measuredStepColumns must be there; a table may have others.
var measuredStepColumns = []string{
	"model", "chip", "gpus", "engine", "tp", "dp", "ep", "precision", "phase",
	"sequences_per_rank", "new_tokens_per_rank", "kv_tokens_per_rank", "time_ms",
}

// selfBenchmark begins how steps were measured that a scheduler of Dynamo makes itself, whose
// prompts are one token repeated (components/src/dynamo/vllm/instrumented_scheduler.py,
// _bench_inject_prefill): their values, and so what attention makes of them, are the same.
const selfBenchmark = "engine self-benchmark"

// leastContext is the shortest context of a decode step that can be asked for.
const leastContext = 2

// Steps predicts single engine steps as hosts time them: from scheduling to results, with no other
// step in flight. Sequences and tokens are those of the busiest data-parallel rank.
func Steps(ctx context.Context, name string, src io.Reader, base question.Question) (*Report, error) {
	if err := base.Check(question.Steps); err != nil {
		return nil, err
	}
	e := point.NewEstimator()
	base.Beside = filepath.Dir(name)
	r, err := predictTable(ctx, name, src, measuredStepColumns, func(get func(string) string) Row {
		f := measured(get("time_ms"))
		if f.Reason == "" {
			f.Predicted, f.Trusted, f.Reason = stepTime(e, base, get)
		}
		row := Row{Group: stepGroup(get), Class: get("phase"), Figures: []Figure{f}, More: []float64{math.NaN()}}
		row.Label = fmt.Sprintf("%s sequences, %s new tokens, %s cached", get("sequences_per_rank"), get("new_tokens_per_rank"), get("kv_tokens_per_rank"))
		if f.Reason == "" && f.Measured > 0 {
			row.More[0] = 100 * f.Error()
		}
		return row
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_ms", "error_percent", "reason")
	}
	return r, err
}

// stepGroup tells prompts that follow cached tokens from those that do not; a table may name groups
// of its own.
func stepGroup(get func(string) string) string {
	if own := get("group"); own != "" {
		return own + ", " + get("phase")
	}
	group := strings.Join([]string{path.Base(get("model")), get("chip"), get("engine"), get("parallelism"), get("phase")}, " ")
	if get("phase") == string(question.Prefill) && get("kv_tokens_per_rank") != "0" {
		group += " behind cached tokens"
	}
	return group
}

// stepTime is the time of one step in ms, with that of its host, or why there is none.
func stepTime(e *point.Estimator, base question.Question, get func(string) string) (ms float64, trusted *estimate.Confidence, reason string) {
	q, err := stepQuestion(base, get)
	if err != nil {
		return 0, nil, reasonIn(err)
	}
	if q.EP == 1 {
		// Experts that are not spread are cut; a model without any has nothing to cut.
		if l, err := q.Read(); err == nil && !l.Shape.IsMoE() {
			q.MoETP = 1
		}
	}
	answer, err := e.Answer(&q)
	if err != nil {
		return 0, nil, reasonIn(err)
	}
	step := &answer.Phases[0]
	seconds, err := alikeTime(e, q, get, step.Estimate.StepTime)
	if err != nil {
		return 0, nil, reasonIn(err)
	}
	rules := &answer.Deployment.Engine
	r := reader{get: get}
	sequences := r.atLeastOne("sequences_per_rank")
	host := rules.Alone(float64(sequences), answer.Deployment.Model.CacheGroups())
	if get("phase") == string(question.Prefill) {
		tokens := r.count("new_tokens_per_rank", 0) + r.count("kv_tokens_per_rank", 0)
		host += rules.Handing(float64(tokens), q.TP*q.PP)
	}
	return 1e3 * (seconds + host), &step.Detail.Confidence, ""
}

// alikeTime is the time of a step, or less where its prompts are alike: few experts are read then.
// That few have all rows takes no longer here: kernels were measured with even loads, with hundreds
// of rows, and are faster with thousands.
func alikeTime(e *point.Estimator, q question.Question, get func(string) string, seconds float64) (float64, error) {
	if get("phase") != string(question.Prefill) || !strings.HasPrefix(get("measured_by"), selfBenchmark) {
		return seconds, nil
	}
	q.Popularity = question.Alike
	answer, err := e.Answer(&q)
	if err != nil {
		return 0, err
	}
	return min(seconds, answer.Phases[0].Estimate.StepTime), nil
}

// stepQuestion is a row as a question about a bare step. The error holds all that is wrong with it.
func stepQuestion(q question.Question, get func(string) string) (question.Question, error) {
	cells := rows.Row{Cell: get}
	r := reader{get: get}
	sequences, fresh := r.atLeastOne("sequences_per_rank"), r.atLeastOne("new_tokens_per_rank")
	gpus, ep := r.atLeastOne("gpus"), r.atLeastOne("ep")
	cached := r.count("kv_tokens_per_rank", 0)
	q.TP, q.DP, q.PP, q.EP, q.Batch = r.atLeastOne("tp"), r.atLeastOne("dp"), max(1, r.count("pp", 1)), ep, sequences
	q.MoETP, q.GPULayers = gpus/q.PP/ep, r.count("gpu_layers", 0)
	switch {
	case len(r.problems) > 0:
	case q.TP*q.DP*q.PP != gpus:
		r.note(fmt.Errorf("tp %d × dp %d × pp %d are not the %d GPUs of the row", q.TP, q.DP, q.PP, gpus))
	case gpus/q.PP%ep != 0:
		r.note(fmt.Errorf("%d GPUs of a stage do not divide into ep %d", gpus/q.PP, ep))
	case fresh < sequences:
		r.note(fmt.Errorf("%d new tokens are less than one for each of %d sequences", fresh, sequences))
	}
	q.Model, q.System, q.Engine = cells.Get("model"), cells.Get("system"), cells.Get("engine")
	if !strings.Contains(get("precision"), "(checkpoint)") {
		q.Formats.Weights = cells.Weights()
	}
	each := func(tokens int) int { return int(math.Round(float64(tokens) / float64(q.Batch))) }
	switch q.Phase = question.Phase(get("phase")); q.Phase {
	case question.Decode:
		if e, err := engine.Find(q.Engine); err == nil {
			q.Batch = e.Scheduling.Padded(sequences)
		}
		q.Context = max(leastContext, each(cached+fresh))
	case question.Prefill:
		if e, err := engine.Find(q.Engine); err == nil && e.Scheduling.DecodesSingles && fresh == sequences {
			q.Phase, q.Batch, q.Context = question.Decode, e.Scheduling.Padded(sequences), max(leastContext, each(cached)+1)
			break
		}
		q.Prefix, q.Output = each(cached), 1
		// Rounded up: one token more than is captured makes a step of another kind.
		q.Input = q.Prefix + (fresh+sequences-1)/sequences
	default:
		r.note(fmt.Errorf("phase %q is neither prefill nor decode", get("phase")))
	}
	return q, document.Join(r.problems...)
}

// reader reads the cells of a row and collects what is wrong with them.
type reader struct {
	get      func(string) string
	problems []error
}

func (r *reader) note(err error) { r.problems = append(r.problems, err) }

// count is a whole number, or another where the cell is empty. Some tables write it with decimals.
func (r *reader) count(column string, otherwise int) int {
	text := r.get(column)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != float64(int(v)) || v < 0 || v > 1e9 {
		r.note(fmt.Errorf("%s: %q is not a whole number", column, text))
		return otherwise
	}
	return int(v)
}

// atLeastOne is a number that no row can do without.
func (r *reader) atLeastOne(column string) int {
	n := r.count(column, 0)
	if n < 1 && (r.get(column) == "" || r.get(column) == "0") {
		r.note(fmt.Errorf("%s must be at least 1, not %q", column, r.get(column)))
	}
	return max(1, n)
}
