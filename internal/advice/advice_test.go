package advice_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/op"
)

func load(t testing.TB, model, system string, tpot float64) *question.Loaded {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Input, q.Output, q.Formats.Weights, q.TPOT, q.GPUs = model, system, 4000, 1000, "fp8", tpot, 1
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func advise(t testing.TB, l *question.Loaded, o advice.Options) *advice.Advice {
	t.Helper()
	if o.GPUsPerNode == 0 {
		o.GPUsPerNode = 8
	}
	if o.Mode == "" {
		o.Mode = advice.Both
	}
	if o.Objective == "" {
		o.Objective = advice.Throughput
	}
	if o.Engines == nil {
		o.Engines = engine.All()
	}
	o.Workers = max(1, o.Workers)
	o.Top = max(5, o.Top)
	got, err := advice.Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRankedKeepsLimitsAndOrder(t *testing.T) {
	long.NotRacing(t)
	l := load(t, "llama_3_70b", "H100_SXM", 40)
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 16}})
	modes := map[advice.Mode]bool{}
	for i, c := range got.Ranked {
		modes[advice.Mode(c.Mode)] = true
		if c.TPOT > 0.040*(1+1e-9) {
			t.Errorf("deployment %d takes %v s per token, more than the limit of 0.040", i+1, c.TPOT)
		}
		// A hundredth of throughput does not count against an earlier answer.
		if i > 0 && c.PerGPU() > 1.0101*got.Ranked[i-1].PerGPU() {
			t.Errorf("deployment %d is better than the one before it", i+1)
		}
		// Tokens per second and processor are requests times 1000 tokens over 16 processors.
		if want := c.Requests * 1000 / 16; math.Abs(c.PerGPU()-want) > 1e-9*want {
			t.Errorf("%v tokens per second and processor, by hand %v", c.PerGPU(), want)
		}
	}
	if !modes[advice.Aggregated] || !modes[advice.Disaggregated] {
		t.Errorf("modes %v, want both among the ranked", modes)
	}
}

// TestFrontier: no point is beaten by another in both what a user sees and what a processor does.
func TestFrontier(t *testing.T) {
	long.NotRacing(t)
	got := advise(t, load(t, "llama_3_70b", "H200", 0), advice.Options{Search: question.Search{GPUs: 8}})
	if len(got.Frontier) < 4 {
		t.Fatalf("only %d points", len(got.Frontier))
	}
	for i := range got.Frontier[1:] {
		a, b := &got.Frontier[i], &got.Frontier[i+1]
		if !(b.TPOT > a.TPOT && b.PerGPU() > a.PerGPU()) {
			t.Errorf("point %d (%v s, %v tokens/s/GPU) does not lie beyond (%v, %v)", i+1, b.TPOT, b.PerGPU(), a.TPOT, a.PerGPU())
		}
	}
}

// TestUserSeesPrefills: aggregated, the requests in flight share the processors with the prefills
// of others, so that a token takes longer than a decode step. By Little's law they stay as long as
// there are clients per request and second.
func TestUserSeesPrefills(t *testing.T) {
	l := load(t, "llama_3_8b", "H100_SXM", 0)
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 1, Mode: advice.Aggregated}})
	c := got.Ranked[0]
	stay := float64(c.Load.Clients) / c.Requests
	if want := (stay - c.TTFT) / 999; math.Abs(c.TPOT-want) > 1e-9*want {
		t.Errorf("%v s per token, by Little's law %v", c.TPOT, want)
	}
	if c.TPOT <= c.Decoding().Step.StepTime {
		t.Errorf("a user sees %v s per token, no more than a decode step of %v", c.TPOT, c.Decoding().Step.StepTime)
	}
}

func TestMoneyAndEnergy(t *testing.T) {
	l := load(t, "llama_3_8b", "H100_SXM", 0)
	c := advise(t, l, advice.Options{Search: question.Search{GPUs: 2}, PerHour: 3.6, Watts: 500}).Ranked[0]
	// 2 processors at 3.6 dollars an hour cost 0.002 dollars a second, and take 1000 W.
	tokens := c.PerGPU() * 2
	if want := 0.002 / tokens * 1e6; math.Abs(c.DollarsPerMillion-want) > 1e-9*want {
		t.Errorf("%v dollars per million tokens, by hand %v", c.DollarsPerMillion, want)
	}
	if want := tokens / 1000; math.Abs(c.TokensPerJoule-want) > 1e-9*want {
		t.Errorf("%v tokens per joule, by hand %v", c.TokensPerJoule, want)
	}
}

// TestFewestProcessors: the answer serves the rate, and the next smaller size does not.
func TestFewestProcessors(t *testing.T) {
	long.NotRacing(t)
	l := load(t, "llama_3_70b", "H100_SXM", 40)
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 64, Objective: advice.MinGPUs, Rate: 6}})
	if len(got.Ranked) == 0 {
		t.Fatal(got.Reasons)
	}
	n := got.Ranked[0].Procs
	if got.Ranked[0].Requests < 6 || n < 2 {
		t.Errorf("%d processors serve %v requests per second", n, got.Ranked[0].Requests)
	}
	smaller := map[int]int{2: 1, 4: 2, 8: 4}[n]
	if n > 8 {
		smaller = n - 8
	}
	if less := advise(t, l, advice.Options{Search: question.Search{GPUs: smaller}}); len(less.Ranked) > 0 && less.Ranked[0].Requests >= 6 {
		t.Errorf("%d processors would do, not %d", smaller, n)
	}
	none := advise(t, l, advice.Options{Search: question.Search{GPUs: 2, Objective: advice.MinGPUs, Rate: 1e6}})
	if len(none.Ranked) > 0 || len(none.Reasons) == 0 {
		t.Errorf("a million requests per second on 2 processors: %d deployments, reasons %q", len(none.Ranked), none.Reasons)
	}
}

// Two pools that miss the limit on the first token say so, not that they miss one on tokens.
func TestReasonOfFirstToken(t *testing.T) {
	q := question.DefaultOf(question.Plan)
	q.Model, q.System, q.GPUs, q.Input, q.Output, q.Goals.TTFT = "Llama-3.1-8B", "H200", 8, 1000, 200, "10ms"
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 8, Mode: advice.Disaggregated}})
	if text := strings.Join(got.Reasons, " "); !strings.Contains(text, "10 ms to the first token") || strings.Contains(text, "per token") {
		t.Errorf("%q", got.Reasons)
	}
}

func TestShortestRequest(t *testing.T) {
	l := load(t, "llama_3_70b", "H100_SXM", 0)
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 8, Objective: advice.Latency}})
	for i, c := range got.Ranked {
		if i > 0 && c.Latency < got.Ranked[i-1].Latency {
			t.Errorf("deployment %d is faster than the one before it", i+1)
		}
	}
	if best := got.Ranked[0].Deployment.Of(op.Decode).Plan; best.Attention.TP != 8 {
		t.Errorf("the shortest request runs on %v, want all processors on one request", &best)
	}
}

// TestEngineRestricts: every deployment is one that the engine can run.
func TestEngineRestricts(t *testing.T) {
	long.NotRacing(t)
	l := load(t, "deepseek_v3_flash_mla_absorb", "H200", 50)
	for _, e := range engine.All() {
		got := advise(t, l, advice.Options{Search: question.Search{GPUs: 32}, Engines: []*engine.Engine{e}})
		if len(got.Ranked) == 0 {
			t.Errorf("%s: nothing found: %v", e.Name, got.Reasons)
		}
		for _, c := range got.Ranked {
			for i := range c.Deployment.Pools {
				if why := e.Refuses(&c.Deployment, &c.Deployment.Pools[i]); len(why) > 0 {
					t.Errorf("%s cannot run %v: %v", e.Name, &c.Deployment.Pools[i].Plan, why)
				}
			}
		}
	}
}

// TestFrontierBesideRows: deployments of the frontier are on it, however few rows are shown.
func TestFrontierBesideRows(t *testing.T) {
	long.NotRacing(t)
	for _, c := range []struct {
		model, system       string
		gpus, input, output int
	}{{"Llama-3.1-8B", "L40S", 4, 512, 64}, {"Llama-3.1-70B", "H200", 5, 20000, 100}, {"Llama-3.1-405B", "H200", 16, 1024, 1024}} {
		l, o := loadQuestion(t, "vllm", func(q *question.Question) {
			q.Model, q.System, q.GPUs, q.Input, q.Output, q.Formats.Weights = c.model, c.system, c.gpus, c.input, c.output, "fp8"
		})
		o.Pools, o.Top = 0, 40
		many := advise(t, l, o).Frontier
		o.Top = 5
		few := advise(t, l, o).Frontier
		if len(few) != len(many) {
			t.Errorf("%s: a frontier of %d deployments beside five rows, of %d beside forty", c.model, len(few), len(many))
			continue
		}
		for i := range few {
			if few[i].Requests != many[i].Requests || few[i].TPOT != many[i].TPOT {
				t.Errorf("%s: deployment %d of the frontier serves %v requests/s beside five rows, %v beside forty", c.model, i+1, few[i].Requests, many[i].Requests)
			}
		}
	}
}

// BenchmarkPlan is the question of a platform engineer, with all that plan searches by default:
// DeepSeek-V3 on so many H200, aggregated and disaggregated, behind all engines, overlapping or
// not, with redundant experts. docs/plan.md says how it grows.
func BenchmarkPlan(b *testing.B) {
	for _, gpus := range []int{8, 32, 256, 1024, 4096, 16384, 65536} {
		b.Run(fmt.Sprint(gpus), func(b *testing.B) {
			l, o := loadQuestion(b, engine.Any, func(q *question.Question) {
				q.Model, q.System, q.GPUs, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H200", gpus, 4000, 1000, 50
			})
			o.Pools = 0
			for b.Loop() {
				if got := advise(b, l, o); len(got.Ranked) == 0 {
					b.Fatal(got.Reasons)
				}
			}
		})
	}
}

// BenchmarkFewest is the search for the fewest H200 that serve 1000 requests per second.
func BenchmarkFewest(b *testing.B) {
	l, o := loadQuestion(b, engine.Any, func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Input, q.Output, q.TPOT = "DeepSeek-V3", "H200", 100000, 4000, 1000, 50
	})
	o.Pools, o.Objective, o.Rate = 0, advice.MinGPUs, 1000
	for b.Loop() {
		if got := advise(b, l, o); len(got.Ranked) == 0 {
			b.Fatal(got.Reasons)
		}
	}
}

// TestMemoryOfPlans: plans fit into what their engine takes of the memory; where none does, the
// share is named with which one would, and more memory is never worse.
func TestMemoryOfPlans(t *testing.T) {
	sglang, err := engine.Find("sglang")
	if err != nil {
		t.Fatal(err)
	}
	best := func(gib float64, assumed string) (float64, string) {
		q := question.DefaultOf(question.Plan)
		q.Model, q.System, q.GPUs, q.Assume = "llama_3_70b", "H100_SXM", 2, assumed
		l, err := q.Load()
		if err != nil {
			t.Fatal(err)
		}
		sys := *l.Decode
		sys.Memory.GiB = gib
		l.Prefill, l.Decode = &sys, &sys
		got := advise(t, l, advice.Options{Search: question.Search{GPUs: 2, Mode: advice.Aggregated}, Engines: []*engine.Engine{sglang}})
		if len(got.Ranked) == 0 {
			return 0, strings.Join(got.Reasons, " ")
		}
		return got.Ranked[0].PerGPU(), ""
	}
	last := 0.0
	for _, gib := range []float64{70, 75, 76, 80} {
		rate, why := best(gib, "physical")
		if rate < last || (rate > 0) != (gib > 75.87) { // weights of 65.72 GiB and a request of 0.3125 are 0.9 of what 2.5 GiB for the runtime leave
			t.Errorf("%v GiB: %v tokens/s/GPU, with less memory %v: %s", gib, rate, last, why)
		}
		if gib == 75 && !strings.Contains(why, "mem-fraction-static 0.911 (memory-share 0.911)") {
			t.Errorf("75 GiB: %q", why)
		}
		last = rate
	}
	if rate, why := best(75, "physical,memory-fraction=0.911"); rate == 0 {
		t.Error("75 GiB with more of them:", why)
	}
}
