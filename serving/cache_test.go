package serving_test

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// TestCacheTokens: a token of Llama-3.1-8B takes 2 · 32 layers · 8 heads · 128 · 2 bytes = 128 KiB
// of cache; what memory has left beside weights and working space holds so many. A prefill server
// counts the same, whatever the prompts of a step.
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
		// Of the 140.4 GiB of an H200 nine tenths, less 1.8 for what is not PyTorch's, the weights
		// and 8 bytes for each logit of 1024 sequences.
		held := (0.9*140.4-1.8)*estimate.GiB - m.Weights[op.AttentionBlock] - m.Weights[op.MLPBlock] - 8*1024*128256
		if want := held / (128 * 1024); math.Abs(tokens/want-1) > 1e-9 || tokens < 500_000 {
			t.Errorf("%s: %v tokens, want %v", role, tokens, want)
		}
	}
}
