package search_test

import (
	"context"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/internal/test/builtin"
	"throughline/internal/test/racing"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// TestCalibratedBatch: with calibrated kernels throughput is no simple function of the batch, and
// the search looks into ranges of it only. What it finds is at most a hundredth below the best of
// all batches.
func TestCalibratedBatch(t *testing.T) {
	if racing.Enabled {
		t.Skip("trying every batch takes minutes under the race detector")
	}
	worst := 1.0
	for _, name := range []string{"llama_3_8b", "DeepSeek-V3", "Qwen3-30B-A3B"} {
		for _, system := range []string{"H200", "B200", "A100_SXM"} {
			m, set := builtin.Model(t, name)
			p := &search.Problem{Problem: estimate.Problem{
				Model: m, Settings: set, System: builtin.System(t, system), Assume: &assume.Physical,
				Lengths:   workload.Lengths{Input: 1000, Output: 500},
				Precision: plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"},
			}, Procs: 8, SharedPerCard: true}
			if name == "DeepSeek-V3" {
				p.Procs = 32
			}
			for _, limit := range []float64{0, 0.05, 0.02} {
				p.Limit = limit
				found, err := search.Best(context.Background(), p, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !found.Found {
					continue
				}
				all := *p
				for b := 1; b <= 1000; b++ {
					all.Batches = append(all.Batches, plan.Batch{Count: 1, Size: b})
				}
				best, err := search.Best(context.Background(), &all, 1)
				if err != nil {
					t.Fatal(err)
				}
				ratio := found.Best.Requests / best.Best.Requests
				worst = min(worst, ratio)
				if ratio < 0.99 {
					t.Errorf("%s on %s under %g s: %v batch %d, %.4f of %v batch %d", name, system, limit,
						&found.Best.Plan, found.Best.Plan.Batch.Size, ratio, &best.Best.Plan, best.Best.Plan.Batch.Size)
				}
			}
		}
	}
	t.Logf("the worst is %.4f of the best", worst)
}

// A prefill of at most 4000 new tokens holds 4 prompts of 1000, or 8 of which the half is cached;
// one that is longer runs alone.
func TestMostTokens(t *testing.T) {
	for _, c := range []struct{ input, cached, want int }{{1000, 0, 4}, {1000, 500, 8}, {5000, 0, 1}} {
		p := sampleProblem(t, "qwen3_32b_flash", 1)
		p.Phase, p.Limit, p.MostTokens = op.Prefill, 0, 4000
		p.Lengths = workload.Lengths{Input: c.input, Output: 10, Cached: c.cached}
		got, err := search.Best(context.Background(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if size := got.Best.Plan.Batch.Size; size != c.want {
			t.Errorf("%+v: a batch of %d", c, size)
		}
		p.MostTokens = 0
		if all, _ := search.Best(context.Background(), p, 1); all.Best.Requests < got.Best.Requests || all.Best.Plan.Batch.Size <= c.want {
			t.Errorf("%+v: without the limit a batch of %d", c, all.Best.Plan.Batch.Size)
		}
	}
}
