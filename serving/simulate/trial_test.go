package simulate

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/workload"
)

// oneAtATime is a server that takes prompts one after another, each for as long: with Poisson
// arrivals and one token of output, an M/D/1 queue.
func oneAtATime(seconds, rate float64) *Trial {
	const input = 100
	return &Trial{
		Options: Options{Pools: []Pool{{Role: deploy.Both, Servers: 1, Ranks: 1, Times: linear{step: seconds},
			Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Prompts, StepTokens: input, Sequences: 1000}, Blocks: 1 << 20, BlockTokens: 16}}}},
		Rate: rate, Requests: LeastRequests, Runs: Replications,
		Source: func(rate float64, seed uint64, requests int) (workload.Source, error) {
			t := workload.Traffic{Requests: requests, Rate: rate, Input: workload.Length{Mean: input}, Output: workload.Length{Mean: 1}, Seed: seed}
			return t.Source(), nil
		},
	}
}

// waitWithin is the share of the requests of an M/D/1 queue that wait no longer than so many
// service times (Erlang 1909, as in Tijms, A First Course in Stochastic Models, 9.6.2). Its terms
// alternate, so that it is good for short waits alone.
func waitWithin(load, t float64) float64 {
	sum, factorial := 0.0, 1.0
	for k := 0; float64(k) <= t; k++ {
		if k > 0 {
			factorial *= float64(k)
		}
		x := load * (float64(k) - t)
		sum += math.Pow(x, float64(k)) / factorial * math.Exp(-x)
	}
	return (1 - load) * sum
}

// waitQuantile is the wait, in service times, that a share of the requests do not exceed.
func waitQuantile(load, share float64) float64 {
	low, high := 0.0, 30.0
	for high-low > 1e-9 {
		if mid := (low + high) / 2; waitWithin(load, mid) < share {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// TestOneServerQueue: the mean, the percentiles and the rate that a limit allows are those of an
// M/D/1 queue, whose mean wait is load/(2(1 − load)) service times.
func TestOneServerQueue(t *testing.T) {
	const s = 0.1
	for _, load := range []float64{0.5, 0.8} {
		trial := oneAtATime(s, load/s)
		trial.Requests = 4 * LeastRequests
		trial.TTFT = workload.Limit{Share: 0.99, Seconds: 100}
		got, err := trial.Decide(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		mean, p99 := s*(1+load/(2*(1-load))), s*(1+waitQuantile(load, 0.99))
		if math.Abs(got.TTFT.Mean/mean-1) > 0.03 {
			t.Errorf("load %g: mean TTFT %.4f s, want %.4f", load, got.TTFT.Mean, mean)
		}
		if p99 < got.TTFT.P99Low || p99 > got.TTFT.P99High || got.TTFT.P99High > 1.25*got.TTFT.P99Low {
			t.Errorf("load %g: p99 TTFT %.4f s, from %.4f to %.4f, want %.4f", load, got.TTFT.P99, got.TTFT.P99Low, got.TTFT.P99High, p99)
		}
		if math.Abs(got.Concurrency/(mean*load/s)-1) > 0.03 || math.Abs(got.Utilisation/load-1) > 0.03 || !got.Holds {
			t.Errorf("load %g: %+v", load, got)
		}
		// The rate at which the p99 of before is the limit is that of before.
		trial.TTFT.Seconds = p99
		rate, first, err := trial.Reach(context.Background())
		if err != nil || math.Abs(rate/(load/s)-1) > 0.05 || first != BreaksTTFT {
			t.Errorf("load %g: reaches %g requests/s, then %s (%v), want %g", load, rate, first, err, load/s)
		}
	}
}

// TestDecision: a limit well above the percentile holds, one on it or below does not; beyond
// capacity nothing does.
func TestDecision(t *testing.T) {
	const s, load = 0.1, 0.8
	p99 := s * (1 + waitQuantile(load, 0.99))
	for _, c := range []struct {
		rate, limit float64
		want        bool
	}{{load / s, 1.4 * p99, true}, {load / s, p99, false}, {load / s, 0.8 * p99, false}, {1.05 / s, 100, false}, {2 / s, 100, false}} {
		trial := oneAtATime(s, c.rate)
		trial.TTFT = workload.Limit{Share: 0.99, Seconds: c.limit}
		got, err := trial.Decide(context.Background())
		if err != nil || got.Holds != c.want {
			t.Errorf("%+v: holds %v (%v), %+v", c, got.Holds, err, got)
		}
	}
}

// TestIntervalsHoldTheTruth: nine times in ten at least, of 95% intervals.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const s, load, times = 0.1, 0.7, 40
	p99 := s * (1 + waitQuantile(load, 0.99))
	held := 0
	for i := range times {
		trial := oneAtATime(s, load/s)
		trial.Requests, trial.Seed = glanceRequests, uint64(1000*i)
		trial.TTFT = workload.Limit{Share: 0.99, Seconds: 100}
		got, err := trial.Decide(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got.TTFT.P99Low <= p99 && p99 <= got.TTFT.P99High {
			held++
		}
	}
	if held < times*9/10 {
		t.Errorf("%d of %d intervals hold the 99th percentile", held, times)
	}
}

// TestLooserLimitsHold: what holds a limit holds a looser one at a lower rate, and the same
// question has the same answer.
func TestLooserLimitsHold(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1, 12).Draw(t, "rate")
		limit := workload.Limit{Share: rapid.SampledFrom([]float64{0, 0.5, 0.95, 0.99}).Draw(t, "share"), Seconds: rapid.Float64Range(0.05, 1).Draw(t, "limit")}
		decide := func(rate, times float64) *Capacity {
			trial := oneAtATime(0.1, rate)
			trial.Requests, trial.Runs = glanceRequests, 0
			trial.TTFT = limit
			trial.TTFT.Seconds *= times
			got, err := trial.Decide(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		one := decide(rate, 1)
		if again := decide(rate, 1); *again != *one {
			t.Fatalf("%+v, then %+v", one, again)
		}
		if one.Holds && !(decide(rate, 1.5).Holds && decide(0.8*rate, 1).Holds) {
			t.Fatal("a looser limit or a lower rate does not hold")
		}
	})
}
