package estimate_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/plan"
)

// TestOffload: GPT-3 at one byte on 8 ranks holds 96 layers of 12·12288² weights / 8 and a little:
// with a quarter of them behind a link of 64 GB/s a decode step waits for the link, which is far
// slower than the memory.
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

	// Layers 96·12·12288²/8 = 21.743 GB; embedding and output head 2·50257·12288/8 = 0.154 GB. A
	// quarter of both: 5.474 GB. The cache of 5120 tokens: 2·12 heads·128·96 layers·5120 = 1.510
	// GB, half of it 0.755 GB.
	near("second tier", part.Memory.Second, 0.25*(21.743e9+0.154e9)+0.755e9)
	near("weights", part.Memory.Weights[0]+part.Memory.Weights[1], 0.75*(21.743e9+0.154e9))
	near("cache", part.Memory.Cache, 0.755e9)
	near("memory in both tiers", part.Memory.Total()+part.Memory.Second, whole.Memory.Total())

	// A step reads the quarter of the weights but one row of the embedding, 5.455 GB, and half of
	// the cache of 4609 tokens: 1.359 GB / 2. At 64 GB/s that takes (5.455 + 0.680)/64 = 0.09586 s,
	// of which the stage hides its own time.
	near("waiting", part.OffloadTime+whole.StageTime, (5.455e9+0.680e9)/64e9)
	near("step", part.StepTime, whole.StepTime+part.OffloadTime)
	// A host that runs a quarter of the layers at 50 GB/s, cache included: (21.743/4 + 1.359/4)/50
	// = 0.11551 s, while a quarter of the stage falls away. The ends stay with the processor, which
	// keeps 0.75 · 21.743 + 0.154 GB.
	host := evaluate(estimate.Offload{Weights: 0.25, Cache: 0.25, Host: 50, Link: 8})
	near("the host", host.OffloadTime+0.25*whole.StageTime, (21.743e9+1.359e9)/4/50e9)
	near("weights beside a host", host.Memory.Weights[0]+host.Memory.Weights[1], 0.75*21.743e9+0.154e9)
	if whole.OffloadTime != 0 || whole.Memory.Second != 0 {
		t.Errorf("without offload %v s and %v bytes", whole.OffloadTime, whole.Memory.Second)
	}
}

// TestOffloadedExperts: a step reads the experts that its tokens visit. Of DeepSeek-V3's 256 one
// token visits 8, so that the link delivers a small part of a quarter of the weights, and more
// tokens more of them, up to all.
func TestOffloadedExperts(t *testing.T) {
	p := problem(t, "DeepSeek-V3", "H200")
	p.Assume, p.Offload = &assume.Physical, estimate.Offload{Weights: 0.25}
	p.Precision = plan.Precision{
		Weight: 1, Activation: 1, Cache: 2, Comm: 2,
		MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16",
	}
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	at := func(batch int) float64 {
		pl := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 8, DP: 1}, SharedPerCard: true, Pipelined: true},
			Batch:  plan.Batch{Count: 1, Size: batch},
		}
		var out estimate.Estimate
		e.Evaluate(&pl, &out)
		return out.OffloadTime + out.StageTime
	}
	// 58 layers of 8 of 256 experts of 3·7168·2048 weights, 1/8 each: 2.55 GB of 81.7 a rank; the
	// rest of a rank is about 2.6 GB (3 dense layers, attention, shared experts, head). A quarter
	// of both at 64 GB/s: about 20 ms, where all experts take 330.
	if one, all := at(1), at(512); one < 0.017 || one > 0.024 || all < 0.3 || all > 0.36 {
		t.Errorf("one token takes %.4f s, 512 take %.4f", one, all)
	}
	for last, n := 0.0, 1; n <= 64; n *= 2 {
		if now := at(n); now <= last {
			t.Errorf("%d tokens take %.4f s, half as many %.4f", n, now, last)
		} else {
			last = now
		}
	}
}
