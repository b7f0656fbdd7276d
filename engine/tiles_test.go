package engine

import (
	"testing"

	"throughline/deploy"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/plan"
)

// TestUntuned: experts of a rank x their width, by chip, format and release, as the files of the
// engines are named.
func TestUntuned(t *testing.T) {
	bf16, fp8 := plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}, plan.Product{Weight: 1, Activation: 1, Type: "float8"}
	blocks := plan.Product{Weight: 1 + 4./128/128, Activation: 1, Type: "float8"}
	for _, c := range []struct {
		engine, model, chip string
		format              plan.Product
		tp, ep              int
		want                bool
	}{
		{"vllm@0.11.0", "Qwen3-235B-A22B", "H200", bf16, 8, 1, false}, // 128x192
		{"vllm@0.11.0", "GLM-4.5", "H200", bf16, 8, 1, true},          // 160x192
		{"vllm@0.11.0", "GLM-4.5", "H200", fp8, 8, 1, true},           // from 0.12 on
		{"vllm@0.13", "GLM-4.5", "H200", fp8, 8, 1, false},
		{"sglang", "GLM-4.5", "H200", bf16, 8, 1, false},             // with its shared expert, 161x192
		{"sglang@0.5.5", "GLM-4.5", "H200", bf16, 8, 1, true},        // from 0.5.8 on
		{"vllm@0.11.0", "GLM-4.5-Air", "A100_SXM", bf16, 4, 1, true}, // 128x352
		{"vllm", "DeepSeek-V3", "H200", blocks, 8, 1, false},         // 256x256
		{"vllm", "DeepSeek-V3", "H200", blocks, 4, 1, false},         // 256x512: in other kernels, and there is a table
		{"sglang@0.5.9", "DeepSeek-V3", "H200", blocks, 4, 1, true},  // 256x512: after 0.5.10
		{"sglang", "DeepSeek-V3", "H200", blocks, 1, 8, true},        // 32x2048
		{"trtllm", "GLM-4.5", "H200", bf16, 8, 1, false},             // chooses tiles by itself
		{"vllm", "GLM-4.5", "B200", bf16, 8, 1, false},               // other kernels
		{"vllm", "Llama-3.1-70B", "H200", bf16, 8, 1, false},         // no experts
	} {
		m, _ := builtin.Model(t, c.model)
		d := deploy.Deployment{Model: m}
		d.Precision.MatrixType = c.format.Type
		d.Precision.Weight, d.Precision.Activation = c.format.Weight, c.format.Activation
		u := unit{Deployment: &d, Shape: m, moe: m.IsMoE(), ep: c.ep, etp: c.tp}
		if got := find(t, c.engine).untuned(&u, builtin.System(t, c.chip)); got != c.want {
			t.Errorf("%s, %s on %s, tp %d, ep %d, %v of %v: untuned %v", c.engine, c.model, c.chip, c.tp, c.ep, c.format, model.ExpertModule, got)
		}
	}
}

// TestUnpacking: engines with Marlin say what it reaches on the chips that it runs on.
func TestUnpacking(t *testing.T) {
	for _, c := range []struct {
		engine, chip string
		want         float64
	}{{"vllm", "A100_SXM", 0.82}, {"sglang", "L40S", 0.82}, {"vllm", "H100_SXM", 0}, {"trtllm", "A100_SXM", 0}} {
		d := exchanging(8, 8)
		for i := range d.Pools {
			d.Pools[i].System = builtin.System(t, c.chip)
		}
		if got := find(t, c.engine).Apply(d).Precision.Unpacking; got != c.want {
			t.Errorf("%s on %s: %g, want %g", c.engine, c.chip, got, c.want)
		}
	}
}
