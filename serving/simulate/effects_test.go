package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"throughline/deploy"
	"throughline/internal/files"
	"throughline/serving"
	"throughline/workload"
)

// spreadLengths is how requests of a load differ: evenly, by half of the longest.
const spreadLengths = 0.5

// closedAt is the closed form of clients whose lengths differ.
func closedAt(t *testing.T, d *deploy.Deployment, l *workload.Load) serving.Prediction {
	t.Helper()
	lengths, err := l.Lengths.Spread(files.Machine, fmt.Sprintf("uniform:%g", spreadLengths))
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

// TestLooksBehindAQueue: clients that wait for room have been seen, so that it hardly matters how
// rarely a server looks for more.
func TestLooksBehindAQueue(t *testing.T) {
	const clients, running, polls, little = 120, 24, 30, 0.04
	c := toldCases["PollSteps"]
	c.drafts = 2
	k := drawnCase{fieldCase: &c, ranks: 1, load: requests(clients, 1000, 200), amount: polls}
	figures := func(changed bool) (closed, simulated float64) {
		d := k.deployed(t, changed)
		d.Pools[0].Plan.Batch.Size = running
		want, err := serving.Predict(&d, k.load)
		if err != nil {
			t.Fatal(err)
		}
		got := drifted(t, &d, &k.load, want.Latency, rand.New(rand.NewPCG(7, 8)))
		return want.Latency, got.ttft + float64(k.load.Lengths.Output-1)*got.tpot
	}
	closed, simulated := figures(false)
	closedWith, simulatedWith := figures(true)
	for way, change := range map[string]float64{"in closed form": closedWith/closed - 1, "simulated": simulatedWith/simulated - 1} {
		if math.Abs(change) > little {
			t.Errorf("%s a request takes %+.1f%% with %d steps between looks", way, 100*change, polls)
		}
	}
}

// TestPoolsDoNotWait: a prefill server looks for requests behind every prefill and has no decodes
// that prompts could wait beside, and a decode server has heard of its requests before. What
// servers are told of polls and waits changes nothing, in either form.
func TestPoolsDoNotWait(t *testing.T) {
	for _, name := range []string{"PollSteps", "WaitSteps", "BalanceSteps"} {
		c := toldCases[name]
		c.split = true
		ranks := 1
		if len(c.ranks) > 0 {
			ranks = c.ranks[0]
		}
		k := drawnCase{fieldCase: &c, ranks: ranks, load: requests(8*ranks, 600, 400), amount: 40}
		closed, simulated, _ := k.figures(t, false)
		closedWith, simulatedWith, holds := k.figures(t, true)
		if !holds || closedWith != closed || simulatedWith != simulated {
			t.Errorf("%s: %+v becomes %+v in closed form, %+v becomes %+v in the simulation", name, closed, closedWith, simulated, simulatedWith)
		}
	}
}
