package serving

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/workload"

	"pgregory.net/rapid"

	"throughline/internal/test/long"
)

// drawn is a server of drawn speed: prompts take so long for each token and for each step, decode
// steps for each sequence.
type drawn struct{ token, step, sequence float64 }

func (d drawn) Decode(sequences, _ float64) float64 { return d.step + sequences*d.sequence }
func (d drawn) Mixed(p Prompts, sequences, _ float64) float64 {
	return d.step + float64(p.Count*p.Tokens)*d.token + sequences*d.sequence
}

// TestNoMoreThanCapacity: requests come no faster than the ranks compute their prompts, in steps
// that are as full as may be, nor than their caches travel, nor than they decode, whatever the
// engine, the lengths and the clients; one token of output included.
func TestNoMoreThanCapacity(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]deploy.Policy{deploy.First, deploy.Chunks, deploy.Prompts}).Draw(t, "policy")
		together := rapid.IntRange(1, 8).Draw(t, "ranks that wait for each other")
		ranks := together * rapid.IntRange(1, 4).Draw(t, "servers")
		clients := rapid.IntRange(1, 2000).Draw(t, "clients")
		s := drawn{rapid.Float64Range(1e-6, 1e-4).Draw(t, "token"), rapid.Float64Range(1e-3, 3e-2).Draw(t, "step"), rapid.Float64Range(1e-6, 1e-3).Draw(t, "sequence")}
		r := &deploy.Scheduling{
			FrontEnd:    deploy.FrontEnd{FirstSeconds: rapid.Float64Range(0, 0.2).Draw(t, "first")},
			Prefill:     policy,
			StepTokens:  rapid.IntRange(64, 16384).Draw(t, "step tokens"),
			StepsAhead:  rapid.IntRange(0, 1).Draw(t, "ahead"),
			StepSeconds: rapid.Float64Range(0, 2e-3).Draw(t, "host"),
		}
		lengths := workload.Lengths{Input: rapid.IntRange(1, 9000).Draw(t, "input"), Output: rapid.SampledFrom([]int{1, 2, 3, 10, 200, 2000}).Draw(t, "output")}
		if rapid.Bool().Draw(t, "spread") {
			lengths.Squares = 1.2
		}
		c := closed{
			load:  workload.Load{Lengths: lengths, Clients: clients, Requests: rapid.SampledFrom([]float64{0, 10}).Draw(t, "requests of a client")},
			rules: r, decode: s, ranks: float64(ranks), together: float64(together), room: float64(rapid.IntRange(1, 512).Draw(t, "room")), polls: 1, tokens: 1,
		}
		_, full := c.filled(s, math.Inf(1), 0)
		prefills := float64(ranks)
		var p Prediction
		if rapid.Bool().Draw(t, "two pools") {
			prefills = float64(rapid.IntRange(1, 16).Draw(t, "ranks that prefill"))
			link := rapid.Float64Range(0, 0.1).Draw(t, "link")
			p = c.split(&c, s, prefills, max(link/10, link-c.prompts(s, 1, 0)), link) // what is left when the prefill ends
			full = max(full, link)
		} else {
			p = c.aggregated()
		}
		// The first requests of a run find nobody before them: the rate is that of the others.
		rate := float64(clients) / (p.TTFT + float64(lengths.Output-1)*p.TPOT)
		if most := prefills / full; !(rate <= most*(1+1e-6)) {
			t.Fatalf("%v requests/s, and prompts of %v s on %v ranks: at most %v", rate, full, prefills, most)
		}
		if lengths.Output > 1 {
			b := math.Min(c.room, math.Max(1, float64(clients)/float64(ranks)))
			most := float64(ranks) * b / (float64(lengths.Output-1) * c.step(b))
			if !(rate <= most*(1+1e-6)) {
				t.Fatalf("%v requests/s, and decode steps of %v s for %v sequences of %d ranks: at most %v", rate, c.step(b), b, ranks, most)
			}
		}
	})
}
