package serving_test

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// TestCacheTokens: a token of Llama-3.1-8B takes 2 · 32 layers · 8 heads · 128 · 2 bytes = 128 KiB of cache; what memory has
// left beside weights and working space holds so many. A prefill server counts the same, whatever the prompts of a step.
func TestCacheTokens(t *testing.T) {
	d := deployment(t, "Llama-3.1-8B", "vllm", dense(1))
	d.Precision.Weight, d.Precision.Cache = 2, 2
	p, err := serving.NewPredictor(&d)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []deploy.Role{deploy.Both, deploy.Prefill, deploy.Decode} {
		pool := d.Pools[0]
		pool.Role, pool.Plan.Batch = role, plan.Batch{Count: 1, Size: 1}
		n := workload.Lengths{Input: 1000, Output: 200}
		tokens, err := p.CacheTokens(&d, &pool, n)
		if err != nil {
			t.Fatal(err)
		}
		m := p.Memory(&d, &pool, n)
		usable := d.Assume.Usable(pool.System.Memory.GiB)
		if want := (usable - m.WithoutCache()) / (128 * 1024); math.Abs(tokens/want-1) > 1e-9 || tokens < 500_000 {
			t.Errorf("%s: %v tokens, want %v (%v GiB usable)", role, tokens, want, usable/estimate.GiB)
		}
	}
}
