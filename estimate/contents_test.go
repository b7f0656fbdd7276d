package estimate_test

import (
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/schedule"
)

// near fails where two numbers differ by more than a billionth of the second.
func near(t *rapid.T, what string, got, want float64) {
	if d := got - want; !(d <= 1e-9*want && d >= -1e-9*want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// TestContents: the operators of a step add up to it and run within it; whatever runs has a name,
// also where it adds nothing.
func TestContents(t *testing.T) {
	seen := map[schedule.Part]int{}
	check := func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		launch := rapid.SampledFrom([]float64{0, 1e-4, 1}).Draw(t, "launch")
		pl.Launch, pl.PromptLaunch, pl.LightLast = launch, launch, rapid.Bool().Draw(t, "light last")
		if rapid.Bool().Draw(t, "second tier") {
			p.System.Memory2 = &hardware.SecondMemory{GiB: 1, GBps: rapid.Float64Range(1e-4, 10).Draw(t, "GBps of it"), Efficiency: hardware.SizeTable{{Efficiency: 1}}}
			p.Offload = estimate.Offload{Weights: rapid.Float64Range(0, 1).Draw(t, "weights"), Cache: rapid.Float64Range(0, 1).Draw(t, "cache")}
		}
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		c := e.Contents(&pl)
		var items, spans, last float64
		for i := range c.Operators {
			item := &c.Operators[i]
			seen[item.Part]++
			items += item.Takes()
			if item.Name == "" || item.Block == "" || !(item.Start >= 0 && item.Start <= item.End && item.End <= c.StepTime*(1+1e-9)) {
				t.Fatalf("%+v in a step of %v s", item, c.StepTime)
			}
		}
		near(t, "operators", items, c.StepTime)
		for i := range c.Spans {
			s := &c.Spans[i]
			if of := c.Running(s); of.Name == "" || of.Block == "" || of.Part != s.Part {
				t.Fatalf("%+v is one of %+v", s, of)
			}
			if s.Part != schedule.CachePart {
				spans, last = spans+s.Exposed, max(last, s.End)
			}
		}
		near(t, "what spans expose", spans, c.StepTime)
		near(t, "the last end", last, c.StepTime)
	}
	missing := func() bool {
		for part := range schedule.CachePart {
			if seen[part] == 0 && part != schedule.RanksPart { // no drawn system has kernels
				return true
			}
		}
		return false
	}
	for range 30 { // what one plan in a hundred has may be missing in the first draws
		if long.Check(t, check); !missing() {
			return
		}
	}
	t.Errorf("not all parts of steps were drawn: %v", seen)
}

// TestTimesOfMixtures: also what a step of prompts and decoding sequences consists of adds up to
// it.
func TestTimesOfMixtures(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		e, p, pl := drawnMixture(t)
		pl.Launch = rapid.SampledFrom([]float64{0, 1e-4, 1}).Draw(t, "launch")
		pl.PromptLaunch = pl.Launch
		var s op.Step
		e.Add(&s, drawnGroup(t, op.Decode, pl.Drafts))
		e.Add(&s, drawnGroup(t, op.Prefill, 0))
		got := e.Step(&pl, &s)
		filled, _ := pl.Filled(p.Model.Layers)
		stages := filled * float64(pl.Batch.Count*pl.Attention.PP) * got.Stage
		near(t, "parts", stages+got.HandOn+got.Draft+got.Ends+got.Wait+got.Ranks+got.Second+got.Moving+got.Launch, got.Step)
	})
}
