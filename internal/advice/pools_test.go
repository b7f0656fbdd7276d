package advice_test

import (
	"math"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
	"throughline/serving/simulate"
)

// loadQuestion is a question as plan asks it by default, and its options.
func loadQuestion(t testing.TB, engineName string, set func(*question.Question)) (*question.Loaded, advice.Options) {
	t.Helper()
	if racing.Enabled {
		t.Skip("TestNothingPrunedWouldHaveWon has the same accesses")
	}
	q := question.DefaultOf(question.Plan)
	set(&q)
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	engines, err := engine.Choices(engineName)
	if err != nil {
		t.Fatal(err)
	}
	return l, advice.Options{
		Search: question.Search{GPUs: q.GPUs, Mode: q.Mode, PrefillGPUs: q.PrefillGPUs, Pools: 200}, GPUsPerNode: q.GPUsPerNode, Engines: engines, Workers: 2,
		Redundant: search.Range{High: q.Redundant}, Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch},
	}
}

// ofBest is what the pool of a plan in words does by itself, of what the best one of its phase
// does.
func ofBest(t *testing.T, got *advice.Advice, role deploy.Role, words string) float64 {
	t.Helper()
	best := 0.0
	for i := range got.Pools {
		p := &got.Pools[i]
		if p.Pool.Role != role {
			continue
		}
		best = max(best, p.Tokens)
		if result.Instances(1, &p.Pool.Plan) == words {
			return p.Tokens / best
		}
	}
	t.Errorf("no %s pool %s", role, words)
	return 0
}

// TestPractitionersChoices: by themselves, the pools that SGLang measured are within 5% of the best
// ones (lmsys.org/blog/2025-05-05-large-scale-ep, lmsys.org/blog/2025-06-16-gb200-part-1).
func TestPractitionersChoices(t *testing.T) {
	type pool struct {
		role deploy.Role
		plan string
	}
	prefill32 := pool{deploy.Prefill, "dp32·pp1·tp1 ep32·etp1·edp1 tbo"}
	decode72 := pool{deploy.Decode, "dp72·pp1·tp1 ep72·etp1·edp1 +32 tbo"}
	decode48 := pool{deploy.Decode, "dp48·pp1·tp1 ep48·etp1·edp1 +32 sbo"}
	hopper := func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H100_SXM", 104, question.Disaggregated, 2000, 100, 100
	}
	blackwell := func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.GPUsPerNode = "DeepSeek-V3", "GB200_NVL72", 56, question.Disaggregated, 2000, 100, 4
	}
	for _, c := range []struct {
		engine string
		ask    func(*question.Question)
		pools  []pool
	}{
		{"sglang", hopper, []pool{prefill32, decode72}},
		{engine.Any, hopper, []pool{prefill32, decode72}},
		{"sglang", blackwell, []pool{decode48}},
		{engine.Any, blackwell, []pool{decode48}},
	} {
		l, o := loadQuestion(t, c.engine, c.ask)
		got := advise(t, l, o)
		for _, p := range c.pools {
			if share := ofBest(t, got, p.role, p.plan); share < 0.95 {
				t.Errorf("%s, engine %s: %s %s does %.3f of the best by itself", l.System, c.engine, p.role, p.plan, share)
			}
		}
	}
}

// TestBalanced: 32 GPUs of prefill and 72 of decode are what a search finds for 2000 + 1500 tokens,
// with experts over all 72.
func TestBalanced(t *testing.T) {
	l, o := loadQuestion(t, "sglang", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H100_SXM", 104, question.Disaggregated, 2000, 1500, 100
	})
	first := advise(t, l, o).Ranked[0].Deployment
	if p, d := &first.Pools[0], &first.Pools[1]; p.Procs() != 32 || d.Procs() != 72 || d.Plan.Experts.EP != 72 || d.Plan.Overlap != plan.TwoBatch {
		t.Errorf("prefill %d × %v, decode %d × %v %v", p.Count, &p.Plan, d.Count, &d.Plan, d.Plan.Overlap)
	}
}

// TestOneNode: DeepSeek-R1 on 8 × H200 goes from tensor parallelism to data-parallel attention with
// all experts apart.
func TestOneNode(t *testing.T) {
	l, o := loadQuestion(t, "sglang", func(q *question.Question) { q.Model, q.System, q.GPUs = "DeepSeek-R1", "H200", 8 })
	got := advise(t, l, o).Frontier
	first, last := got[0].Deployment.Pools[0].Plan, got[len(got)-1].Deployment.Pools[0].Plan
	if first.Attention.TP != 8 {
		t.Errorf("the fastest for a user is %v", &first)
	}
	if last.Attention.DP != 8 || last.Experts.EP != 8 {
		t.Errorf("the highest throughput is that of %v", &last)
	}
}

// TestPrefillShare: the prefill pool has the GPUs that it is given, the decode pool the others.
func TestPrefillShare(t *testing.T) {
	l, o := loadQuestion(t, engine.Any, func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.PrefillGPUs, q.Mode, q.Input, q.Output = "Qwen3-30B-A3B", "H100_SXM", 12, 4, question.Disaggregated, 1000, 1000
	})
	got := advise(t, l, o)
	if len(got.Ranked) < 5 {
		t.Fatalf("%d deployments", len(got.Ranked))
	}
	for _, c := range append(got.Ranked, got.Frontier...) {
		p, d := &c.Deployment.Pools[0], &c.Deployment.Pools[1]
		if p.Procs() > 4 || p.Procs()+p.Plan.Attention.Procs() <= 4 || d.Procs() > 8 || d.Procs()+d.Plan.Attention.Procs() <= 8 {
			t.Errorf("%d × %v and %d × %v", p.Count, &p.Plan, d.Count, &d.Plan)
		}
	}
	q := question.DefaultOf(question.Plan)
	q.Model, q.System, q.GPUs, q.PrefillGPUs = "Qwen3-30B-A3B", "H100_SXM", 4, 4
	if _, err := q.Load(); err == nil || !strings.Contains(err.Error(), "prefill-gpus: must be less than the 4 GPUs") {
		t.Errorf("%v", err)
	}
}

// TestAlone: a pool by itself does what its steps say, each layout once, the best first.
func TestAlone(t *testing.T) {
	l, o := loadQuestion(t, "sglang", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H200", 32, question.Disaggregated, 2000, 100, 60
	})
	got := advise(t, l, o)
	seen := map[string]bool{}
	for i := range got.Pools {
		p := &got.Pools[i]
		q := &p.Pool.Plan
		tokens := float64(q.Batch.Size)
		if p.Pool.Role == deploy.Prefill {
			tokens *= 2000
		} else if p.Seconds > 0.060 {
			t.Errorf("%v: %v s between two tokens", q, p.Seconds)
		}
		if want := float64(q.Attention.DP*q.Attention.PP) * tokens / p.Seconds / float64(q.Attention.Procs()); math.Abs(p.Tokens/want-1) > 1e-9 {
			t.Errorf("%s %v: %v tokens per second and processor, by hand %v", p.Pool.Role, q, p.Tokens, want)
		}
		if key := p.Pool.Role.String() + q.String(); seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
		if i > 0 && got.Pools[i-1].Pool.Role == p.Pool.Role && got.Pools[i-1].Tokens < p.Tokens {
			t.Errorf("%s %v is behind one that does less", p.Pool.Role, q)
		}
	}
	// Two micro-batches of a small batch cost more than they hide.
	l, o = loadQuestion(t, "sglang", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H200", 32, question.Disaggregated, 2000, 100, 15
	})
	for _, p := range advise(t, l, o).Pools {
		if p.Pool.Role == deploy.Decode && p.Pool.Plan.Overlap == plan.TwoBatch {
			t.Errorf("%v decodes %d sequences as two micro-batches", &p.Pool.Plan, p.Pool.Plan.Batch.Size)
		}
	}
}

// TestPricedAsLaunched: a row is what its servers do as they are launched. Told to run few
// requests, they keep less memory for logits than by themselves, and have more for caches.
func TestPricedAsLaunched(t *testing.T) {
	l, o := loadQuestion(t, "trtllm", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Mode, q.Offload.Weights = "gpt-oss-20b", "RTX_5090", 3, question.Aggregated, 0.2
	})
	o.Top = 5
	ranked := advise(t, l, o).Ranked
	for i := range ranked {
		c := &ranked[i]
		p, err := serving.NewPredictor(&c.Deployment)
		if err != nil {
			t.Fatal(err)
		}
		if seen, err := simulate.Steady(p, &c.Deployment, c.Load); err != nil || seen != c.Prediction {
			t.Errorf("row %d: %+v as launched, %+v in the plan, %v", i+1, seen, c.Prediction, err)
		}
	}
}
