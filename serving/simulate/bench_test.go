package simulate_test

import (
	"context"
	"runtime"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/question"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// deployment is a model on a system behind an engine.
func deployment(t testing.TB, model, system, name string, p plan.Plan) deploy.Deployment {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Input, q.Output, q.GPUs = model, system, 512, 512, 1
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d := l.Deployment()
	p.Pipelined = true
	d.Pools = []deploy.Pool{{System: l.Decode, Plan: p, Count: 1}}
	return e.Apply(d)
}

func dense(tp, dp int) plan.Plan {
	return plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: dp, PP: 1, TP: tp, CP: 1}}}
}

// BenchmarkReplicas: 100,000 requests of 512 + 512 tokens through 8 replicas of Llama-3.1-8B on
// H100, at most 256 of them running on each, at 80% of the highest rate.
func BenchmarkReplicas(b *testing.B) {
	// The highest rates, as throughline simulate --max-rate finds them.
	for name, highest := range map[string]float64{"vllm": 166, "sglang": 153, "trtllm": 173} {
		b.Run(name, func(b *testing.B) {
			d := deployment(b, "Llama-3.1-8B", "H100_SXM", name, dense(1, 8))
			b.ReportAllocs()
			var r *simulate.Record
			for b.Loop() {
				o, err := simulate.Of(&d, workload.Lengths{Input: 512, Output: 512}, &simulate.Settings{Running: 256})
				if err != nil {
					b.Fatal(err)
				}
				t := workload.Traffic{Requests: 100_000, Rate: 0.8 * highest, Arrival: workload.Arrival{Kind: "poisson"},
					Input: workload.Length{Mean: 512, Kind: "fixed"}, Output: workload.Length{Mean: 512, Kind: "fixed"}, Seed: 1}
				if r, err = simulate.Run(context.Background(), o, t.Source()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.Steps), "steps")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
		})
	}
}

// BenchmarkMany: a million requests of one token through one server: what an event takes.
func BenchmarkMany(b *testing.B) {
	const requests = 1_000_000
	table, err := simulate.NewTable([]simulate.TableRow{{Tokens: 1, Prompts: 1, Seconds: 1}}, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o := simulate.Options{Pools: []simulate.Pool{{Servers: 1, Ranks: 1, Times: table,
			Policy: simulate.Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First, StepTokens: 1, Sequences: 1}, Blocks: 1 << 20, BlockTokens: 16}}}}
		t := workload.Traffic{Requests: requests, Rate: 0.8, Arrival: workload.Arrival{Kind: "poisson"},
			Input: workload.Length{Mean: 1, Kind: "fixed"}, Output: workload.Length{Mean: 1, Kind: "fixed"}, Seed: 1}
		if _, err := simulate.Run(context.Background(), o, t.Source()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
}

// BenchmarkSteady: what 1,589 clients of DeepSeek-V3 on two pools of 16 H200 see.
func BenchmarkSteady(b *testing.B) {
	p := dense(1, 16)
	p.Experts = plan.ExpertSplit{EP: 16, TP: 1, DP: 1}
	d := apart(deployment(b, "DeepSeek-V3", "H200", "sglang", p))
	for b.Loop() {
		predictor, err := serving.NewPredictor(&d)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := simulate.Steady(predictor, &d, requests(1589, 4000, 1000)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemory: a run of many requests takes less than a kilobyte for each, all that was ever
// allocated counted.
func TestMemory(t *testing.T) {
	const requests = 50_000
	d := deployment(t, "Llama-3.1-8B", "H100_SXM", "vllm", dense(1, 8))
	o, err := simulate.Of(&d, workload.Lengths{Input: 512, Output: 32}, &simulate.Settings{Running: 256})
	if err != nil {
		t.Fatal(err)
	}
	traffic := workload.Traffic{Requests: requests, Rate: 400, Arrival: workload.Arrival{Kind: "poisson"},
		Input: workload.Length{Mean: 512, Kind: "fixed"}, Output: workload.Length{Mean: 32, Kind: "fixed"}, Seed: 1}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := simulate.Run(context.Background(), o, traffic.Source()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if each := float64(after.TotalAlloc-before.TotalAlloc) / requests; each > 1000 {
		t.Errorf("%.0f bytes for each request", each)
	}
}
