package simulate

import (
	"slices"
	"testing"

	"throughline/deploy"
	"throughline/workload"
)

// prefills are the lengths of the steps with prompts, of requests of one token each.
func prefills(t *testing.T, o Options, rules deploy.Scheduling, requests ...workload.Request) (out []float64) {
	t.Helper()
	rules.Prefill, rules.Sequences = deploy.First, 8
	o.Pools = []Pool{{Servers: 1, Ranks: 1, Times: constant(1), Policy: Policy{Scheduling: rules, BlockTokens: 16, Blocks: 1000, CutsPrompts: true}}}
	o.Watch = func(s *Step) { out = append(out, s.End-s.Start) }
	for i := range requests {
		requests[i].Output = 1
	}
	if _, err := Run(t.Context(), o, &workload.List{Requests: requests}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCompiling: prompts of 25 and 27 tokens have three tiles of ten, one of 31 has four, and that
// of 24 three again: the first and the third wait for a compiler. A server that has had copies of a
// prompt of 30 has compiled for three, and for 60 tokens of two prompts.
func TestCompiling(t *testing.T) {
	at := []workload.Request{{Input: 25}, {Arrival: 20, Input: 27}, {Arrival: 40, Input: 31}, {Arrival: 60, Input: 24}, {Arrival: 80, Input: 58}}
	o := Options{Compiling: deploy.Compiling{Tile: 10, TileSeconds: 5}}
	rules := deploy.Scheduling{StepTokens: 100}
	if got, want := prefills(t, o, rules, slices.Clone(at)...), []float64{6, 1, 6, 1, 6}; !slices.Equal(got, want) {
		t.Errorf("steps take %v s, want %v", got, want)
	}
	o.Copied = 30
	if got, want := prefills(t, o, rules, slices.Clone(at)...), []float64{1, 1, 6, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("after copies of a prompt steps take %v s, want %v", got, want)
	}
}

// TestFillsSteps: of two prompts of 15 tokens in steps of 20 the second is computed in a step of its
// own, or 5 of its tokens fill the first step, which then waits for a compiler, once.
func TestFillsSteps(t *testing.T) {
	at := []workload.Request{{Input: 15}, {Input: 15}, {Arrival: 100, Input: 15}, {Arrival: 100, Input: 15}, {Arrival: 100, Input: 15}}
	o := Options{Compiling: deploy.Compiling{CutSeconds: 50}}
	rules := deploy.Scheduling{StepTokens: 20}
	if got, want := prefills(t, o, rules, slices.Clone(at)...), []float64{1, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("steps take %v s, want %v", got, want)
	}
	rules.FillsSteps = true
	if got, want := prefills(t, o, rules, slices.Clone(at)...), []float64{51, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("filled steps take %v s, want %v", got, want)
	}
}
