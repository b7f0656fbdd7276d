package validate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"throughline/engine"
	"throughline/internal/point"
)

// Forward predicts a table of whole forward passes: columns kind (prefill or decode, and behind _ how it was measured), model, params (b sequences of s
// tokens, and for one rank of a group tp), time_ms. Model files are looked up from the working directory, then beside the
// table. The passes are those of one process: the weights, cache and
// communication of base apply, the collectives of a rank are left out.
func Forward(ctx context.Context, name string, src io.Reader, base point.Point) (*Report, error) {
	e := point.NewEstimator()
	// What is wrong with the flags is wrong for every row.
	base.Engine = engine.Generic.Name // a forward pass by itself
	probe := base
	probe.Model, probe.Phase, probe.Batch = "llama_3_8b", "decode", 1
	if _, err := e.Answer(&probe); err != nil {
		return nil, err
	}
	folder := filepath.Dir(name)
	r, err := table(ctx, name, src, []string{"kind", "model", "params", "time_ms"}, func(get func(string) string) Row {
		f := measured(get("time_ms"))
		if f.Reason == "" {
			f.Predicted, f.Reason = forwardTime(e, base, folder, get)
		}
		return Row{Group: get("kind") + " " + get("model"), Figures: []Figure{f}}
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_ms", "reason")
	}
	return r, err
}

// forwardTime is the time of one pass in ms, or why there is none.
func forwardTime(e *point.Estimator, p point.Point, folder string, get func(string) string) (ms float64, reason string) {
	n, err := params(get("params"))
	if err != nil {
		return 0, err.Error()
	}
	if n["b"] < 1 || n["s"] < 1 {
		return 0, "params need b and s, whole numbers of at least 1"
	}
	p.Model, p.Batch = get("model"), n["b"]
	p.Phase, _, _ = strings.Cut(get("kind"), "_") // prefill_cudnn: a prefill that was measured in another way
	if beside := filepath.Join(folder, p.Model); isFile(beside) && !isFile(p.Model) {
		p.Model = beside
	}
	p.TP = max(1, n["tp"])
	switch p.Phase {
	case "prefill":
		p.Input, p.Output = n["s"], 1
	case "decode":
		p.Context = n["s"] + 1
	default:
		return 0, fmt.Sprintf("%q is neither prefill nor decode", get("kind"))
	}
	answer, err := e.Answer(&p)
	if err != nil {
		return 0, strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", "; "), "--model: ")
	}
	r := &answer.Phases[0]
	return 1e3 * (r.Estimate.StepTime - r.Shares.Communication), ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
