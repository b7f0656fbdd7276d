package point_test

import (
	"testing"

	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
)

// What does not fit names the smallest changes with which it does, by hand: Llama-3.1-70B has 131
// GiB in 16 bits. Two RTX 4090 of 24 hold the 33 GiB of 4 bits, not the 66 of 8; eight hold all.
func TestNearest(t *testing.T) {
	for _, c := range []struct{ model, system, tp, want string }{
		{"Llama-3.1-70B", "RTX_4090", "2", "it fits with `weights` int4, or with `gpus` 8"},
		{"Llama-3.1-70B", "H100_SXM", "1", "it fits with `weights` fp8, or with `gpus` 2"},
		{"Llama-3.1-405B", "L40S", "4", "neither FP8 nor INT4 weights nor any number of GPUs up to 8 makes it fit"},
	} {
		words := map[string]string{"model": c.model, "system": c.system, "tp": c.tp, "phase": "decode", "engine": "vllm"}
		q := question.NewQuery(files.Machine, question.Estimate, words)
		if got := point.NewEstimator().Nearest(&q.Question); got != c.want {
			t.Errorf("%s on %s %s: %q, not %q", c.model, c.tp, c.system, got, c.want)
		}
	}
}
