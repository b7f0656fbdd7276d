package estimate_test

import (
	"testing"

	"throughline/op"
	"throughline/plan"
)

// TestStaged: what layers do one by one says how long a step takes in any number of stages, exactly
// where groups of processors lie as well as in a single stage and nothing takes turns, and never
// more than it takes.
func TestStaged(t *testing.T) {
	e, plans := evaluation(t, 3, 2000)
	exact, pipelines := 0, 0
	for i := range plans {
		p := &plans[i]
		p.Overlap = []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}[i%3]
		if p.Experts.EP < 2 {
			p.Overlap = plan.NoOverlap
		}
		if !e.Stacks(p) {
			t.Fatalf("%v does not stack", p)
		}
		var s op.Step
		if i%4 == 0 {
			e.Add(&s, op.Group{Phase: op.Prefill, Sequences: 2, New: 1024, Context: 2048, Ends: true})
		}
		e.Add(&s, op.Group{Phase: op.Decode, Sequences: float64(p.Batch.Size), New: 1, Context: 4096})
		l := e.Layered(p, &s)
		least, is := e.Staged(p, &s, &l), e.Step(p, &s).Step
		if least > is*(1+1e-9) {
			t.Errorf("%v %v, batch %d: at least %v s, but %v", p, p.Overlap, p.Batch.Size, least, is)
		}
		if p.Attention.PP > 1 {
			pipelines++
			if least > is*(1-1e-9) {
				exact++
			}
		}
	}
	if pipelines < 500 || exact < pipelines/2 {
		t.Errorf("%d of %d pipelines are exact", exact, pipelines)
	}
}
