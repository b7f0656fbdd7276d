package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/serving"
	"throughline/workload"
)

// TestSchedulingEffects: what a server is told of its steps changes mean TTFT and TPOT as much in closed form as in the simulation of
// clients that have been at it for long: in the range in which the closed form holds without it, and for waits of up to a tenth of the
// steps of a request. Without the prompts that a step holds after a wait, TTFT with wait-steps grew by a tenth too little; without
// the steps that balanced ranks save, TPOT fell by nothing in place of up to a sixth.
func TestSchedulingEffects(t *testing.T) {
	const offTTFT, offTPOT, longestWait = 0.08, 0.02, 0.1
	loads := 8
	if long.Mode() {
		loads = 60
	}
	for name, c := range map[string]struct {
		engine string
		ranks  []int // data-parallel ones of an expert model; none: one of a dense model
		low    int
		high   int
		told   func(*deploy.ServerOptions) *int
	}{
		"step-tokens":   {"vllm", nil, 512, 4096, func(t *deploy.ServerOptions) *int { return &t.StepTokens }},
		"poll-steps":    {"sglang", nil, 2, 40, func(t *deploy.ServerOptions) *int { return &t.PollSteps }},
		"wait-steps":    {"trtllm", nil, 2, 60, func(t *deploy.ServerOptions) *int { return &t.WaitSteps }},
		"balance-steps": {"trtllm", []int{2, 4, 8}, 4, 80, func(t *deploy.ServerOptions) *int { return &t.BalanceSteps }},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(11, 12))
			between := func(low, high int) int { // evenly by their logarithms
				return int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), random.Float64())))
			}
			for tried := 0; tried < loads; {
				ranks, steps := 0, between(c.low, c.high)
				if len(c.ranks) > 0 {
					ranks = c.ranks[random.IntN(len(c.ranks))]
				}
				k := fieldCase{engine: c.engine, ranks: ranks, load: requests(max(1, ranks)*between(4, 40), between(200, 3000), between(200, 1200)),
					set: func(d *deploy.Deployment) { *c.told(&d.ServerOptions) = steps }}
				if name != "step-tokens" && float64(steps) > longestWait*float64(k.load.Lengths.Output) {
					continue
				}
				without, with := k.deployed(t, false), k.deployed(t, true)
				if closedAt(t, &without, &k.load).Prefilling > 0.25 || closedAt(t, &with, &k.load).Prefilling > 0.25 {
					continue
				}
				tried++
				what := fmt.Sprintf("%d for %d clients of %d + %d tokens on %d ranks", steps, k.load.Clients, k.load.Lengths.Input, k.load.Lengths.Output, max(1, ranks))
				a, b := settled(t, &without, &k.load), settled(t, &with, &k.load)
				p, q := closedAt(t, &without, &k.load), closedAt(t, &with, &k.load)
				for _, f := range []struct {
					name                   string
					closed, simulated, off float64
				}{{"TTFT", q.TTFT / p.TTFT, b.ttft / a.ttft, offTTFT}, {"TPOT", q.TPOT / p.TPOT, b.tpot / a.tpot, offTPOT}} {
					if math.Abs(f.closed/f.simulated-1) > f.off {
						t.Errorf("%s: %s becomes %.3f times as long in closed form, %.3f in the simulation", what, f.name, f.closed, f.simulated)
					}
				}
			}
		})
	}
}

// spreadLengths is how requests of a load differ: evenly, by half of the longest.
const spreadLengths = 0.5

// closedAt is the closed form of clients whose lengths differ.
func closedAt(t *testing.T, d *deploy.Deployment, l *workload.Load) serving.Prediction {
	t.Helper()
	lengths, err := l.Lengths.Spread(fmt.Sprintf("uniform:%g", spreadLengths))
	if err != nil {
		t.Fatal(err)
	}
	p, err := serving.Predict(d, workload.Load{Lengths: lengths, Clients: l.Clients})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// settled is the simulation of the same.
func settled(t *testing.T, d *deploy.Deployment, l *workload.Load) seen {
	t.Helper()
	spread := func(most int) workload.Length { return workload.Length{Mean: most, Kind: "uniform", By: spreadLengths} }
	return steady(t, d, l.Clients, max(40, 1500/l.Clients), spread(l.Lengths.Input), spread(l.Lengths.Output), closedAt(t, d, l).TPOT)
}

// TestBalanceInStep: ranks of equal requests that start at once hold back prompts until each has one, of 60 clients on 8 ranks as of 7
// on 2: TTFT grows by an eighth in closed form, which goes from step to step there, as in the simulation.
func TestBalanceInStep(t *testing.T) {
	for ranks, load := range map[int]workload.Load{8: requests(60, 1000, 1000), 2: requests(7, 500, 200)} {
		load.Requests = 5
		figures := func(steps int) (closed, simulated float64) {
			c := fieldCase{engine: "trtllm", ranks: ranks, load: load, set: func(d *deploy.Deployment) { d.ServerOptions.BalanceSteps = steps }}
			d := c.deployed(t, true)
			want, err := serving.Predict(&d, load)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := atOnce(t, &d, &load)
			return want.TTFT, got.ttft
		}
		closed, simulated := figures(0)
		closedWith, simulatedWith := figures(50)
		if a, b := closedWith/closed, simulatedWith/simulated; b < 1.05 || math.Abs(a/b-1) > 0.05 {
			t.Errorf("%d ranks: TTFT becomes %.3f times as long in closed form, %.3f in the simulation", ranks, a, b)
		}
	}
}
