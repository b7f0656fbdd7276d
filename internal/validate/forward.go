package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"throughline/cost"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/question"
)

// Forward predicts a table of whole forward passes of one process, with columns kind (prefill or
// decode, then _ and how it was measured), model, params (b sequences of s tokens, and tp for one
// rank of a group) and time_ms. Model files are looked up in the working directory, then beside the
// table. Weights, cache and communication come from base; a rank's collectives are left out.
func Forward(ctx context.Context, name string, src io.Reader, base question.Question) (*Report, error) {
	e := point.NewExaminer()
	// What is wrong with the flags is wrong for every row.
	base.Engine = engine.Generic.Name // a forward pass by itself
	base.Beside = filepath.Dir(name)
	probe := base
	probe.Model, probe.Phase, probe.Batch = probeModel, question.Decode, 1
	if _, err := e.Answer(&probe); err != nil {
		return nil, err
	}
	r, err := predictTable(ctx, name, src, []string{"kind", "model", "params", "time_ms"}, func(get func(string) string) Row {
		f := measured(get("time_ms"))
		if f.Reason == "" {
			f.Predicted, f.Trusted, f.Reason = forwardTime(e, base, get)
		}
		return Row{Group: get("kind") + " " + get("model"), Figures: []Figure{f}, More: []float64{bandPercent(f.Trusted)}}
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_ms", "error_band_percent", "reason")
	}
	return r, err
}

// probeModel is built in, and small.
const probeModel = "llama_3_8b"

// forwardTime is the time of one pass in ms, or why there is none.
func forwardTime(e *point.Estimator, p question.Question, get func(string) string) (ms float64, trusted *estimate.Confidence, reason string) {
	r, err := forwardStep(e, p, get("kind"), get("model"), get("params"))
	if err != nil {
		return 0, nil, strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return 1e3 * passTime(r), &r.Detail.Confidence, ""
}

// timedPasses is over how many passes, from a rest on, a time of a table is taken to be the mean.
const timedPasses = 10

// passTime is the seconds of a pass without collectives, as tables have it: the mean of a few.
func passTime(r *point.Result) float64 {
	p := r.Problem.System.Power
	if p == nil {
		return r.Estimate.StepTime - r.Shares.Communication
	}
	effort := effortOf(p, passWorks(r))
	held := effort.Under(p, r.Problem.System.Limit())
	return cost.AfterRest(p, timedPasses, effort.Seconds(1), held.Seconds)
}

// forwardStep is one pass of a model.
func forwardStep(e *point.Estimator, p question.Question, kind, model, text string) (*point.Result, error) {
	n, err := params(text)
	if err != nil {
		return nil, err
	}
	if n["b"] < 1 || n["s"] < 1 {
		return nil, errors.New("params need b and s, whole numbers of at least 1")
	}
	phase, _, _ := strings.Cut(kind, "_") // prefill_cudnn: a prefill that was measured in another way
	p.Model, p.Phase, p.Batch = model, question.Phase(phase), n["b"]
	p.TP = max(1, n["tp"])
	switch p.Phase {
	case question.Prefill:
		p.Input, p.Output = n["s"], 1
	case question.Decode:
		p.Context = n["s"] + 1
	default:
		return nil, fmt.Errorf("%q is neither prefill nor decode", kind)
	}
	answer, err := e.Answer(&p)
	if err != nil {
		return nil, err
	}
	return &answer.Phases[0], nil
}
