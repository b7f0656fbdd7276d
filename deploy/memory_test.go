package deploy_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// TestCacheBytes: of a processor of 100 GiB, of which 1 is reserved, 0.8 are gone besides and 0.7
// in groups, with 40 GiB of weights and 3 of working space, a server that is told 0.9 has for its
// cache what its engine counts so. Choosing next tokens takes 6 GiB.
func TestCacheBytes(t *testing.T) {
	const gib = estimate.GiB
	m := estimate.Memory{Cache: 5 * gib}
	m.Weights[op.AttentionBlock], m.Weights[op.MLPBlock] = 10*gib, 30*gib
	m.Working[op.AttentionBlock], m.Working[op.MLPBlock] = 1*gib, 3*gib
	sys := &hardware.System{}
	sys.Memory.GiB = 100
	for _, c := range []struct {
		counts string
		tp     int
		logits float64
		want   float64 // GiB
	}{
		{"", 1, 0, 0.9*100 - 1 - 43},
		{"all", 1, 0, 0.9*100 - 1.8 - 43},
		{"all", 2, 0, 0.9*100 - 2.5 - 43},
		{"all", 1, 6, 0.9*100 - 1.8 - 46},
		{"static", 1, 6, 0.9*98.2 - 40},
		{"free", 2, 0, 0.9 * (97.5 - 43)},
	} {
		shape, _ := builtin.Model(t, "Qwen3-8B")
		d := deploy.Deployment{Model: shape, Assume: &assume.Physical, ServerOptions: deploy.ServerOptions{MemoryShare: 0.9}}
		d.Engine.Sequences = 1024
		d.Engine.Memory = deploy.Memory{Counts: c.counts, TakenGiB: 0.8, GroupGiB: 0.7, LogitBytes: c.logits * gib / 1024 / float64(d.Model.Vocab)}
		pool := deploy.Pool{System: sys, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: c.tp}}}}
		if got := d.CacheBytes(&pool, &m) / gib; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q over %d, %v GiB to choose: %v GiB, by hand %v", c.counts, c.tp, c.logits, got, c.want)
		}
	}
}

// TestOwnShare: SGLang leaves 512 MiB, 1.5 for each token of a step and 2 for each of 512
// sequences (256 with fewer than 4 ranks), 128 for each rank, with replicas of attention 2304 for each; on small GPUs for fewer
// tokens and sequences. vLLM and TensorRT-LLM take nine tenths.
func TestOwnShare(t *testing.T) {
	for _, c := range []struct {
		engine, system string
		cut            plan.Split
		tokens         int
		want           float64
	}{
		{"sglang", "H100_SXM", plan.Split{DP: 1, PP: 1, TP: 8}, 0, 1 - (1536+8192*1.5+1024)/(79.65*1024)},
		{"sglang", "H100_SXM", plan.Split{DP: 1, PP: 1, TP: 2}, 0, 1 - (1024+8192*1.5+256)/(79.65*1024)},
		{"sglang", "L40S", plan.Split{DP: 1, PP: 1, TP: 4}, 0, 1 - (512+2*160+4096*1.5+512)/(44.99*1024)},
		{"sglang", "GB300_NVL72", plan.Split{DP: 1, PP: 1, TP: 1}, 0, 1 - (1536+16384*1.5+128)/(277.55*1024)},
		{"sglang", "H200", plan.Split{DP: 8, PP: 1, TP: 1}, 1024, 1 - (1536+8192*1.5+1024+8*2304)/(140.4*1024)},
		{"sglang", "H200", plan.Split{DP: 8, PP: 1, TP: 1}, 0, 1 - (1536+8192*1.5+1024+8*2304)/(140.4*1024)}, // whose steps of 8192 tokens they share
		{"sglang", "H100_SXM", plan.Split{DP: 4, PP: 1, TP: 2}, 4096, 1 - (1536+4*4096*1.5+1024+4*2304)/(79.65*1024)},
		{"sglang", "H200", plan.Split{DP: 1, PP: 1, TP: 1}, 2048, 1 - 10240/(140.4*1024)},
		{"sglang", "RTX_4090", plan.Split{DP: 1, PP: 1, TP: 1}, 0, 1 - (512+2*24+2048*1.5+128)/(23.99*1024)},
		{"sglang", "L40S", plan.Split{DP: 1, PP: 1, TP: 2}, 0, 1 - (512+2*32+4096*1.5+256)/(44.99*1024)},
		{"sglang", "L40S", plan.Split{DP: 2, PP: 1, TP: 1}, 1024, 1 - (512+2*32+2*1024*1.5+256+2*3*32)/(44.99*1024)},
		{"vllm", "H200", plan.Split{DP: 1, PP: 1, TP: 1}, 0, 0.9},
		{"trtllm", "B200", plan.Split{DP: 1, PP: 1, TP: 1}, 0, 0.9},
	} {
		e, err := engine.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := builtin.Model(t, "Qwen3-30B-A3B")
		d := deploy.Deployment{Model: m, Assume: &assume.Physical}
		d.ServerOptions.StepTokens = c.tokens
		d.Engine.Scheduling = d.ServerOptions.Of(e.Scheduling.Scheduling)
		pool := deploy.Pool{System: builtin.System(t, c.system), Plan: plan.Plan{Layout: plan.Layout{Attention: c.cut}}}
		if got := d.MemoryShare(&pool); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("%s on %s, %+v: %v, by hand %v", c.engine, c.system, c.cut, got, c.want)
		}
	}
}

// TestMemoryShare: a server takes what it is told, else what is assumed where that is not the
// usual, else what its engine takes by itself; servers of separate pools take the usual share.
// Replicas of a dense model are servers of their own.
func TestMemoryShare(t *testing.T) {
	e, err := engine.Find("sglang")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := builtin.Model(t, "Qwen3-8B")
	assumed := assume.Physical
	assumed.MemoryFraction = 0.8
	pool := deploy.Pool{System: builtin.System(t, "H100_SXM"), Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}}}}
	copies := pool
	copies.Plan.Attention.DP = 4
	own := math.Round(1e3*(1-(1024+8192*1.5+128)/(79.65*1024))) / 1e3
	for _, c := range []struct {
		name   string
		told   float64
		assume *assume.Assumptions
		pools  []deploy.Pool
		want   float64
	}{
		{"told", 0.7, &assume.Physical, []deploy.Pool{pool}, 0.7},
		{"told and assumed", 0.7, &assumed, []deploy.Pool{pool}, 0.7},
		{"assumed", 0, &assumed, []deploy.Pool{pool}, 0.8},
		{"by itself", 0, &assume.Physical, []deploy.Pool{pool}, own},
		{"replicas", 0, &assume.Physical, []deploy.Pool{copies}, own},
		{"two pools", 0, &assume.Physical, []deploy.Pool{pool, pool}, 0.9},
	} {
		d := deploy.Deployment{Model: m, Assume: c.assume, ServerOptions: deploy.ServerOptions{MemoryShare: c.told}, Pools: c.pools}
		d.Engine.Scheduling = e.Scheduling.Scheduling
		if got := d.MemoryShare(&d.Pools[0]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
