package estimate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// stepTime is the time of a step of groups.
func stepTime(e *estimate.Evaluator, p *plan.Plan, groups ...op.Group) float64 {
	var s op.Step
	for _, g := range groups {
		e.Add(&s, g)
	}
	return e.Step(p, &s).Step
}

// drawnGroup is some sequences of a phase. Those that decode have as many new tokens as a plan
// verifies.
func drawnGroup(t *rapid.T, phase op.Phase, drafts int) op.Group {
	g := op.Group{Phase: phase, Sequences: float64(rapid.IntRange(1, 100).Draw(t, "sequences")), New: float64(1 + drafts)}
	if phase == op.Prefill {
		g.New, g.Ends = float64(rapid.IntRange(1, 60).Draw(t, "new")), rapid.Bool().Draw(t, "ends")
	}
	g.Context = g.New + float64(rapid.IntRange(0, 200).Draw(t, "past"))
	return g
}

// drawnMixture is an evaluator with a plan for both phases, on a system where no efficiency depends
// on the size of the work.
func drawnMixture(t *rapid.T) (*estimate.Evaluator, *search.Problem, plan.Plan) {
	p := draw.Problem(t, draw.Phase(t), rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "procs"), false)
	e, err := estimate.NewEvaluator(&p.Problem)
	if err != nil {
		t.Fatal(err)
	}
	pl := draw.Plan(t, p)
	pl.SequenceParallel = pl.SequenceParallel && !p.Assume.Engine // engines do not spread steps that only decode as they do mixtures
	pl.Batch.Count = rapid.IntRange(1, 2).Draw(t, "count")
	return e, p, pl
}

// TestStepsOfAPlan: the sequences of a plan, added group by group, take the time of its step.
func TestStepsOfAPlan(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		var want estimate.Estimate
		e.Evaluate(&pl, &want)
		g := op.Group{Phase: op.Decode, New: float64(1 + pl.Drafts), Context: float64(p.Lengths.DecodeContext())}
		if p.Phase == op.Prefill {
			g = op.Group{Phase: op.Prefill, New: float64(p.Lengths.Uncached()), Context: float64(p.Lengths.Input), Ends: true}
		}
		sequences := float64(pl.Sequences(p.Model.IsMoE()))
		first, rest := g, g
		first.Sequences = float64(rapid.IntRange(0, int(sequences)).Draw(t, "first"))
		rest.Sequences = sequences - first.Sequences
		pl.Batch.Size = rapid.IntRange(1, 9).Draw(t, "other size") // does not matter
		equal(t, "step", stepTime(e, &pl, first, rest), want.StepTime)
	})
}

// TestMixturesShare: a step of prompts and decoding sequences takes at least as long as either
// alone, and at most as long as both one after the other: they share the weights.
func TestMixturesShare(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		e, _, pl := drawnMixture(t)
		decode, prefill := drawnGroup(t, op.Decode, pl.Drafts), drawnGroup(t, op.Prefill, 0)
		a, b := stepTime(e, &pl, decode), stepTime(e, &pl, prefill)
		both := stepTime(e, &pl, decode, prefill)
		notLess(t, "the step of a mixture, from that of its decoding part,", a, both)
		notLess(t, "the step of a mixture, from that of its prompts,", b, both)
		notLess(t, "two steps, from their mixture,", both, a+b)
	})
}

// TestMixturesGrow: more sequences, more new tokens or longer contexts never make a step shorter.
func TestMixturesGrow(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		e, _, pl := drawnMixture(t)
		groups := []op.Group{drawnGroup(t, op.Decode, pl.Drafts), drawnGroup(t, op.Prefill, 0)}
		before := stepTime(e, &pl, groups...)
		g := &groups[rapid.IntRange(0, 1).Draw(t, "group")]
		more := rapid.Float64Range(0, 50).Draw(t, "more")
		switch what := rapid.SampledFrom([]string{"sequences", "tokens", "context", "end"}).Draw(t, "grows"); {
		case what == "sequences":
			g.Sequences += more
		case what == "tokens" && g.Phase == op.Prefill:
			g.New += more // and with them the context: as many were there before
			g.Context += more
		case what == "end":
			g.Ends = true
		default:
			g.Context += more
		}
		notLess(t, "step", before, stepTime(e, &pl, groups...))
	})
}

// TestMixedStepByHand: the model of totals_test.go, one stage. Two sequences decode at a context of
// 12 beside a prompt of 10 tokens: 12 tokens, and 2·12 + 10 entries of keys and values: 88 + 92·12
// + 4·34 = 1328 s a layer.
func TestMixedStepByHand(t *testing.T) {
	for _, phase := range []op.Phase{op.Decode, op.Prefill} {
		e, err := estimate.NewEvaluator(tiny(phase))
		if err != nil {
			t.Fatal(err)
		}
		pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 1}}
		decode := op.Group{Phase: op.Decode, Sequences: 2, New: 1, Context: 12}
		prompt := op.Group{Phase: op.Prefill, Sequences: 1, New: 10, Context: 10, Ends: true}
		same(t, check{"mixed", stepTime(e, &pl, decode, prompt), 4 * 1328},
			check{"half a sequence less", stepTime(e, &pl, op.Group{Phase: op.Decode, Sequences: 1.5, New: 1, Context: 12}, prompt), 4 * (88 + 92*11.5 + 4*28)})
	}
}

// TestCoefficientsOfAttention: in a mixture the memory of each phase has its own efficiency in
// attention.
func TestCoefficientsOfAttention(t *testing.T) {
	p := tiny(op.Decode)
	p.System.Memory.Attention = hardware.PhaseFactor{Decode: 0.5, Prefill: 0.25}
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 1}}
	decode := op.Group{Phase: op.Decode, Sequences: 2, New: 1, Context: 12}
	prompt := op.Group{Phase: op.Prefill, Sequences: 1, New: 10, Context: 10, Ends: true}
	// Attention reads and writes 2·4 bytes of every token besides the cache; softmax nothing.
	same(t, check{"mixed", stepTime(e, &pl, decode, prompt), 4 * (1328 + (8*2+4*24)*(2-1) + (8*10+4*10)*(4-1))})
}

// TestEqualShares: drafts that are accepted alike yield as many tokens as were asked for: 1.5 of one
// draft by a half, 1.75 of two by a half and a quarter; no more than there are, no fewer than one.
func TestEqualShares(t *testing.T) {
	for _, c := range []struct {
		length float64
		drafts int
		share  float64
	}{{1.5, 1, 0.5}, {1.75, 2, 0.5}, {1, 3, 0}, {4, 3, 1}, {9, 2, 1}} {
		shares := estimate.EqualShares(c.length, c.drafts)
		for _, share := range shares {
			if math.Abs(share-c.share) > 1e-12 {
				t.Errorf("%v tokens of %d drafts: %v, want %v", c.length, c.drafts, share, c.share)
			}
		}
		if len(shares) != c.drafts {
			t.Errorf("%d shares of %d drafts", len(shares), c.drafts)
		}
	}
}
