package deploy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"throughline/deploy"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// TestTogether: the batches in flight of a pipeline wait for each other where steps with prompts
// are among them.
func TestTogether(t *testing.T) {
	dense, experts := &model.Model{}, &model.Model{Experts: model.Experts{Routed: 8, TopK: 2}}
	pipe := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 4, PP: 3, TP: 1}, Pipelined: true}}
	spread := pipe
	spread.Experts = plan.ExpertSplit{EP: 2, TP: 1, DP: 2}
	for _, c := range []struct {
		what   string
		model  *model.Model
		role   deploy.Role
		plan   plan.Plan
		chunks bool
		input  int
		want   int
	}{
		{"replicas of a pipeline", dense, deploy.Both, pipe, false, 100, 3},
		{"two replicas around each copy of the experts", experts, deploy.Both, spread, false, 100, 2 * 3},
		{"prefill alone", dense, deploy.Prefill, pipe, false, 100, 1},
		{"decode alone", experts, deploy.Decode, spread, false, 100, 2},
		{"prompts of one step, where chunks follow one another", dense, deploy.Both, pipe, true, 100, 3},
		{"prompts of several", dense, deploy.Both, pipe, true, 101, 1},
	} {
		d := deploy.Deployment{Model: c.model}
		d.Engine.Scheduling = deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 100, PipelinesChunks: c.chunks}
		if got := d.Together(&deploy.Pool{Role: c.role, Plan: c.plan, Count: 2}, workload.Lengths{Input: c.input, Output: 9}); got != c.want {
			t.Errorf("%s: %d ranks wait for each other, want %d", c.what, got, c.want)
		}
	}
}

// TestUnder: clients share the batches in flight of all pipelines evenly. Five of two pipelines
// leave at most three of four stages with work.
func TestUnder(t *testing.T) {
	pool := deploy.Pool{Count: 1, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 4, TP: 1}, Pipelined: true}}}
	for clients, want := range map[int]int{1: 1, 2: 1, 3: 2, 5: 3, 6: 3, 7: 4, 8: 4, 100: 4} {
		if p := pool.Under(clients); p.Underway() != want || p.InFlight() != 4 {
			t.Errorf("%d clients: %d batches under way of %d, want %d of 4", clients, p.Underway(), p.InFlight(), want)
		}
	}
	pool.Plan.Pipelined = false
	if p := pool.Under(1); p != pool.Plan {
		t.Errorf("one batch passes through all stages anyway: %+v", p)
	}
}

// TestRing: batches that go round the stages of a pipeline, some steps of which are longer, take
// nearly as long as if all were as long as the longest of a round, and far longer than each would
// by itself.
func TestRing(t *testing.T) {
	for _, c := range []struct {
		stages int
		within float64 // of a round of the longest, as they were found
	}{{2, 0.005}, {4, 0.07}, {8, 0.12}} {
		for _, share := range []float64{0.02, 0.1, 0.3} {
			const short, long, rounds = 1.0, 10.0, 20000
			draw := rand.New(rand.NewPCG(1, 2))
			free, done := make([]float64, c.stages), make([]float64, c.stages)
			var together float64
			for range rounds {
				longest := short
				for batch := range done {
					time := short
					if draw.Float64() < share {
						time, longest = long, long
					}
					for stage := range free { // it comes from the stage before, and waits for the batch before it
						done[batch] = max(done[batch], free[stage]) + time
						free[stage] = done[batch]
					}
				}
				together += float64(c.stages) * longest
			}
			ring := done[c.stages-1]
			if off := math.Abs(together/ring - 1); off > c.within {
				t.Errorf("%d stages, %v of the steps long: %v together, %v round the ring", c.stages, share, together, ring)
			}
			apart := rounds * float64(c.stages) * (short + share*(long-short))
			if ring < 1.1*apart {
				t.Errorf("%d stages, %v of the steps long: %v round the ring, no more than %v apart", c.stages, share, ring, apart)
			}
		}
	}
}
