package simulate_test

import (
	"context"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/scenario"
	"throughline/plan"
	"throughline/serving/simulate"
	"throughline/workload"
)

// deployment is a model on a system behind an engine.
func deployment(t testing.TB, model, system, name string, p plan.Plan) deploy.Deployment {
	t.Helper()
	l, err := (&scenario.Scenario{Model: model, System: system, Assume: "physical", Lengths: workload.Lengths{Input: 512, Output: 512}}).Load()
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
	return plan.Plan{Attention: plan.Layout{DP: dp, PP: 1, TP: tp, CP: 1}, Batch: plan.Batch{Count: 1, Size: 1}}
}

// BenchmarkReplicas: 100,000 requests of 512 + 512 tokens through 8 replicas of Llama-3.1-8B on H100, at most 256 of them
// running on each, at 80% of the highest rate.
func BenchmarkReplicas(b *testing.B) {
	for _, name := range []string{"vllm", "sglang", "trtllm"} {
		b.Run(name, func(b *testing.B) {
			d := deployment(b, "Llama-3.1-8B", "H100_SXM", name, dense(1, 8))
			b.ReportAllocs()
			var r *simulate.Record
			for b.Loop() {
				o, err := simulate.Of(&d, workload.Lengths{Input: 512, Output: 512}, &simulate.Settings{Running: 256})
				if err != nil {
					b.Fatal(err)
				}
				t := simulate.Traffic{Requests: 100_000, Rate: benchRate, Arrival: simulate.Arrival{Kind: "poisson"},
					Input: simulate.Length{Mean: 512, Kind: "fixed"}, Output: simulate.Length{Mean: 512, Kind: "fixed"}, Seed: 1}
				if r, err = simulate.Run(context.Background(), o, t.Source()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.Steps), "steps")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
			b.ReportMetric(float64(r.Steps)/(b.Elapsed().Seconds()/float64(b.N))/1e6, "Msteps/s")
			b.Logf("%d steps, duration %.1f s, TTFT mean %.1f p99 %.1f ms, ITL %.2f ms, busy %.2f", r.Steps, r.Duration(), 1e3*r.TTFT.Mean(), 1e3*r.TTFT.Quantile(0.99), 1e3*r.ITL.Mean(), r.Busy/r.Duration()/8)
		})
	}
}

// benchRate is 80% of what the replicas hold.
const benchRate = 150
