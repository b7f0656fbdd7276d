package simulate_test

import (
	"context"
	"math"
	"testing"

	"throughline/deploy"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// loop runs clients that each send requests one after another.
func loop(t *testing.T, d *deploy.Deployment, clients, requests int, input, output simulate.Length) *simulate.Record {
	t.Helper()
	o, err := simulate.Of(d, workload.Lengths{Input: input.Average(), Output: output.Average()}, &simulate.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	traffic := simulate.Traffic{Requests: clients * requests, Clients: clients, Rate: math.Inf(1), Input: input, Output: output, Seed: 1}
	var later simulate.Distribution
	o.Each = func(e *simulate.Ended) {
		if e.Arrival > 0 {
			later.Add(e.First-e.Arrival, 1)
		}
	}
	r, err := simulate.Run(context.Background(), o, traffic.Source())
	if err != nil {
		t.Fatal(err)
	}
	r.TTFT = later // without the first requests, which all come at once
	return r
}

// TestOneClient: a single client sees what the closed form says, behind every engine, aggregated and split: nothing waits.
func TestOneClient(t *testing.T) {
	for _, name := range []string{"vllm", "sglang", "trtllm", "none"} {
		for _, split := range []bool{false, true} {
			for _, n := range []workload.Lengths{{Input: 1024, Output: 128}, {Input: 20000, Output: 64}} {
				d := deployment(t, "Llama-3.1-8B", "H200", name, dense(1, 1))
				if split {
					pool := d.Pools[0]
					prefill, decode := pool, pool
					prefill.Role, decode.Role = deploy.Prefill, deploy.Decode
					d.Pools = []deploy.Pool{prefill, decode}
				}
				want, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: 1})
				if err != nil {
					t.Fatal(err)
				}
				r := loop(t, &d, 1, 3, simulate.Length{Mean: n.Input, Kind: "fixed"}, simulate.Length{Mean: n.Output, Kind: "fixed"})
				// The closed form takes the middle of the output as the context of all steps, and the transfer between pools in
				// proportion between powers of two.
				if ttft, tpot := r.TTFT.Mean(), r.TPOT.Mean(); math.Abs(ttft/want.TTFT-1) > 0.002 || math.Abs(tpot/want.TPOT-1) > 0.002 {
					t.Errorf("%s, split %v, %d + %d: TTFT %v and TPOT %v s, in closed form %v and %v", name, split, n.Input, n.Output, ttft, tpot, want.TTFT, want.TPOT)
				}
			}
		}
	}
}

// TestClosedForm: where the closed form holds, clients that have been at it for long with lengths that differ, TPOT is within
// 1% of it, throughput within 3%, and TTFT, of which it is an approximation, within 6%.
func TestClosedForm(t *testing.T) {
	for _, name := range []string{"vllm", "sglang", "trtllm"} {
		for _, clients := range []int{2, 8, 32, 64, 128} {
			d := deployment(t, "Llama-3.1-8B", "H200", name, dense(1, 1))
			n, err := workload.Lengths{Input: 1024, Output: 1024}.Spread("uniform:0.5")
			if err != nil {
				t.Fatal(err)
			}
			want, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: clients})
			if err != nil {
				t.Fatal(err)
			}
			long := simulate.Length{Mean: 1024, Kind: "uniform", By: 0.5}
			r := loop(t, &d, clients, max(60, 4000/clients), long, long)
			tpot, rate := r.TPOT.Mean(), float64(r.Requests)/r.Duration()
			t.Logf("%s, %d clients: TPOT %.3f ms (%+.1f%%), TTFT %.1f ms (%+.1f%%), %.3f requests/s (%+.1f%%)", name, clients, 1e3*tpot, 100*(tpot/want.TPOT-1), 1e3*r.TTFT.Mean(), 100*(r.TTFT.Mean()/want.TTFT-1), rate, 100*(rate/want.Requests-1))
			for _, c := range []struct {
				name           string
				got, want, off float64
			}{
				{"TPOT", tpot, want.TPOT, 0.01}, {"requests/s", rate, want.Requests, 0.03},
				{"a whole request", r.E2E.Mean(), want.Latency, 0.03}, {"TTFT", r.TTFT.Mean(), want.TTFT, 0.06},
			} {
				if !(math.Abs(c.got/c.want-1) <= c.off) {
					t.Errorf("%s, %d clients: %s %v, in closed form %v", name, clients, c.name, c.got, c.want)
				}
			}
		}
	}
}

// TestRanksThatWait: ranks of an expert model wait for the prompts of each other, in the closed form as here. Without that
// its TPOT was half as long.
func TestRanksThatWait(t *testing.T) {
	ranks := dense(1, 8)
	ranks.Experts = plan.ExpertLayout{EP: 8, TP: 1, DP: 1}
	for _, name := range []string{"vllm", "sglang", "trtllm"} {
		for _, clients := range []int{32, 128} {
			d := deployment(t, "DeepSeek-V3", "H200", name, ranks)
			n, err := workload.Lengths{Input: 1024, Output: 256}.Spread("uniform:0.5")
			if err != nil {
				t.Fatal(err)
			}
			want, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: clients})
			if err != nil {
				t.Fatal(err)
			}
			r := loop(t, &d, clients, 20, simulate.Length{Mean: 1024, Kind: "uniform", By: 0.5}, simulate.Length{Mean: 256, Kind: "uniform", By: 0.5})
			off := r.TPOT.Mean()/want.TPOT - 1
			t.Logf("%s, %d clients: TPOT %.2f ms (%+.1f%%), TTFT %.0f ms (%+.1f%%)", name, clients, 1e3*r.TPOT.Mean(), 100*off, 1e3*r.TTFT.Mean(), 100*(r.TTFT.Mean()/want.TTFT-1))
			if math.Abs(off) > 0.05 {
				t.Errorf("%s, %d clients: TPOT %v, in closed form %v", name, clients, r.TPOT.Mean(), want.TPOT)
			}
		}
	}
}
