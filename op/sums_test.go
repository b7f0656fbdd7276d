package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/experts"
	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/golden"
	"throughline/op"
	"throughline/plan"
)

// TestSums: the operators of models of every family, in several layouts, behind engines of drawn
// behaviour and behind a framework, in steps of decode, of prompts and of both.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for i, name := range draw.Families {
		m, set := builtin.Model(t, name)
		for j, text := range []string{"reference", "physical", "physical", "physical"} {
			as, err := assume.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			prec := precision
			if j == 2 {
				prec = plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 2, Residual: 2, Dispatch: 1.5}
			}
			l := op.NewLowerer(m, set, &prec, as)
			l.InNodes(4)
			if j == 3 {
				l.Eager(eagerly())
			}
			if m.IsMoE() && j == 2 {
				l.Visit(experts.Popularity{Spread: 0.7, Blocks: 0.2})
			}
			for k := range draw.Layouts {
				p := draw.Laid(k, m.IsMoE())
				if j > 0 {
					draw.Behave(&p.Behaviour, uint64(10*i+j), uint64(k))
				}
				for n, groups := range draw.Steps {
					l.Sizes(j == 1 && n == 1)
					addStep(sums, &l, &p, groups)
				}
			}
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// addStep adds all operators of a step.
func addStep(sums golden.Sums, l *op.Lowerer, p *plan.Plan, groups []op.Group) {
	var step op.Step
	for _, g := range groups {
		l.Add(&step, &g)
	}
	sums.Fields("step", step)
	var list op.List
	for _, lower := range []func(*plan.Plan, *op.Step, *op.List){l.Stage, l.Draft, l.Ends} {
		lower(p, &step, &list)
		for _, o := range list.All() {
			sums.Fields(o.Kind.String(), o)
			if o.Kind.OfExperts() {
				sums.Add(o.Kind.String(), "of experts", 1)
			}
		}
		for _, r := range list.AppendRuns(nil) {
			sums.Fields("run", r)
		}
		sums.Add("list", "launched", list.Launched(p.Launches))
		sums.Add("list", "pieces", list.Pieces())
		sums.Add("list", "communicates", float64(len(list.Comms())))
	}
}
