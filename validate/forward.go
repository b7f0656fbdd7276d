package validate

import (
	"fmt"
	"io"
	"strings"

	"throughline/point"
)

// Forward predicts a table of whole forward passes: columns kind (prefill or decode), model, params (b sequences of s
// tokens, and for one rank of a group tp), time_ms. The passes are those of one process: the weights, cache and
// communication of base apply, the collectives of a rank are left out.
func Forward(name string, src io.Reader, base point.Point) (*Report, error) {
	e := point.NewEstimator()
	r, err := table(name, src, []string{"kind", "model", "params", "time_ms"}, func(get func(string) string) Row {
		f := measured(get("time_ms"))
		if f.Reason == "" {
			f.Predicted, f.Reason = forwardTime(e, base, get)
		}
		return Row{Group: get("kind") + " " + get("model"), Figures: []Figure{f}}
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_ms", "reason")
	}
	return r, err
}

// forwardTime is the time of one pass in ms, or why there is none.
func forwardTime(e *point.Estimator, p point.Point, get func(string) string) (ms float64, reason string) {
	n := params(get("params"))
	if n["b"] < 1 || n["s"] < 1 {
		return 0, "params need b and s"
	}
	p.Model, p.Phase, p.Batch = get("model"), get("kind"), n["b"]
	p.TP = max(1, n["tp"])
	switch p.Phase {
	case "prefill":
		p.Input, p.Output = n["s"], 1
	case "decode":
		p.Context = n["s"] + 1
	default:
		return 0, fmt.Sprintf("%q is neither prefill nor decode", p.Phase)
	}
	results, err := e.All(&p)
	if err != nil {
		return 0, strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return 1e3 * (results[0].Estimate.StepTime - results[0].Shares.Communication), ""
}
