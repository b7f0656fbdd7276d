package estimate_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/plan"
)

// TestOffload: GPT-3 at one byte on 8 ranks holds 96 layers of 12·12288² weights / 8 and a little: with a quarter of
// them behind a link of 64 GB/s a decode step waits for the link, which is far slower than the memory.
func TestOffload(t *testing.T) {
	p := problem(t, "gpt_3_175b", "H100_SXM")
	p.Assume = &assume.Physical
	p.Precision = plan.Precision{
		Weight: 1, Activation: 1, Cache: 1, Comm: 2,
		MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16",
	}
	pl := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Pipelined: true}, Batch: plan.Batch{Count: 1, Size: 1}}
	evaluate := func(o estimate.Offload) estimate.Estimate {
		q := *p
		q.Offload = o
		e, err := estimate.NewEvaluator(&q)
		if err != nil {
			t.Fatal(err)
		}
		var out estimate.Estimate
		e.Evaluate(&pl, &out)
		if m := e.MemoryOf(&pl); m != out.Memory {
			t.Errorf("memory alone is %+v, evaluated it is %+v", m, out.Memory)
		}
		return out
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s is %v, by hand %v", what, got, want)
		}
	}
	whole, part := evaluate(estimate.Offload{}), evaluate(estimate.Offload{Weights: 0.25, Cache: 0.5})

	// Layers 96·12·12288²/8 = 21.743 GB; embedding and output head 2·50257·12288/8 = 0.154 GB. A quarter of both: 5.474 GB.
	// The cache of 5120 tokens: 2·12 heads·128·96 layers·5120 = 1.510 GB, half of it 0.755 GB.
	near("second tier", part.Memory.Second, 0.25*(21.743e9+0.154e9)+0.755e9)
	near("weights", part.Memory.Weights[0]+part.Memory.Weights[1], 0.75*(21.743e9+0.154e9))
	near("cache", part.Memory.Cache, 0.755e9)
	near("memory in both tiers", part.Memory.Total()+part.Memory.Second, whole.Memory.Total())

	// A step reads the quarter of the weights, and half of the cache of 4609 tokens: 1.359 GB / 2. At 64 GB/s that takes
	// (5.474 + 0.680)/64 = 0.09616 s, of which the stage hides its own time.
	near("waiting", part.OffloadTime+whole.StageTime, (5.474e9+0.680e9)/64e9)
	near("step", part.StepTime, whole.StepTime+part.OffloadTime)
	if whole.OffloadTime != 0 || whole.Memory.Second != 0 {
		t.Errorf("without offload %v s and %v bytes", whole.OffloadTime, whole.Memory.Second)
	}
}
