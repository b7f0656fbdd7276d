package estimate_test

import (
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/cost"
	"throughline/estimate"
	"throughline/experts"
	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/golden"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// TestSums: all that is said about steps of models of every family in several layouts, behind
// engines of drawn behaviour, on a chip with measured kernels, and of small models on drawn chips.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for at := range 3 * len(draw.Families) {
		i, round := at%len(draw.Families), at/len(draw.Families)
		m, set := builtin.Model(t, draw.Families[i])
		for k := range draw.Layouts {
			n := i + k + 3*round
			p := estimate.Problem{
				Model: m, Settings: set, System: builtin.Kept(t), Assume: &assume.Physical, Phase: op.Phase(n % 2),
				Lengths: workload.Lengths{Input: 3000, Output: 700}, Acceptance: []float64{0.8, 0.5},
				Precision: plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"},
			}
			if n%3 == 0 {
				p.Offload = estimate.Offload{Weights: 0.3, Cache: 0.2}
			}
			if n%4 == 0 && m.IsMoE() {
				p.Visited = &experts.Popularity{Spread: 0.5, Blocks: 0.3}
			}
			if p.Phase == op.Prefill {
				p.Lengths.Cached = 500
				p.Handover = &estimate.Handover{System: p.System, Span: 16}
			}
			if n%5 == 0 {
				p.System.PowerLimit = 450
			}
			if n%7 == 0 {
				p.Eager = &op.Eager{Launch: 4e-6}
			}
			pl := draw.Laid(k, m.IsMoE())
			draw.Behave(&pl.Behaviour, uint64(at), uint64(k))
			pl.Under = round
			pl.PieceSeconds, pl.Launch, pl.PromptLaunch = 1e-9*pl.PieceSeconds, 1e-9*pl.Launch, 1e-9*pl.PromptLaunch
			pl.Batch = plan.Batch{Count: 1 + n%2, Size: 6}
			if m.IsMoE() && k != 0 && k != 2 {
				pl.Overlap = plan.Overlap(n % int(plan.OverlapCount))
			}
			addStep(t, sums, "measured ", &p, &pl)
		}
	}
	drawn := rapid.Custom(func(t *rapid.T) *drawnCase {
		p, pl := drawnPlan(t, rapid.Bool().Draw(t, "steps"))
		return &drawnCase{&p.Problem, pl}
	})
	for i := range 150 {
		c := drawn.Example(i)
		addStep(t, sums, "drawn ", c.problem, &c.plan)
	}
	sums.Check(t, "testdata/sums.tsv")
}

type drawnCase struct {
	problem *estimate.Problem
	plan    plan.Plan
}

// addStep adds all that is said about a plan.
func addStep(t *testing.T, sums golden.Sums, of string, p *estimate.Problem, pl *plan.Plan) {
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	c := e.Contents(pl)
	c.Plan = plan.Plan{}
	sums.Fields(of+"step", c.Estimate)
	sums.Fields(of+"detail", c.Detail)
	sums.Fields(of+"power", c.Drawn)
	sums.Fields(of+"works", c.Works)
	for i := range c.Spans {
		sums.Fields(of+"spans", c.Spans[i])
		sums.Add(of+"spans", c.Running(&c.Spans[i]).Name, 1)
	}
	for i := range c.Operators {
		addOperator(sums, of+"operators", &c.Operators[i])
	}
	sums.Fields(of+"summary", estimate.Sum(c.Operators))
	name, seconds := c.Shares.Bound()
	sums.Add(of+"bound", name, seconds)
	for r := range cost.BoundCount {
		sums.Add(of+"bound", "by resource", float64(1+r)*c.Stage.BoundBy(r))
	}
	for class := range op.Comm {
		sums.Add(of+"bound", "by class", float64(1+class)*c.Stage.ClassTime(class))
	}
	sums.Add(of+"bound", "communication", c.Stage.Exposed())
	sums.Add(of+"step", "depth", float64(c.Depth()))
	sums.Fields(of+"memory", e.MemoryOf(pl))
	m := e.MemoryOf(pl)
	sums.Add(of+"memory", "total", m.Total())
	low, high := c.Confidence.Around(c.StepTime)
	sums.Add(of+"band", "low", low)
	sums.Add(of+"band", "high", high)
	for _, at := range e.AppendCuts(nil, pl, 300) {
		sums.Add(of+"cuts", "sizes", float64(at))
	}
	for _, groups := range draw.Steps {
		addMixed(sums, of+"mixed", e, pl, groups)
	}
}

// addOperator adds what is said about an operator.
func addOperator(sums golden.Sums, of string, o *estimate.Operator) {
	flops, bytes := o.Work()
	peak, bandwidth := o.Use()
	for name, v := range map[string]float64{
		"times": o.Times, "exposed": o.Exposed, "time": o.Time, "static": o.Static, "full": o.Full, "share": o.Share, "start": o.Start, "end": o.End,
		"takes": o.Takes(), "executions": o.Executions(), "computed": o.Computed(), "traffic": o.Traffic(), "flops": flops, "bytes": bytes,
		"of peak": peak, "of bandwidth": bandwidth, "utilisation": o.Utilisation(), "dimensions": float64(len(o.Dimensions(func(float64) string { return "1" }))),
	} {
		sums.Add(of, name, v)
	}
	sums.Add(of, "bound by "+o.BoundBy(), 1)
	if o.Waits() {
		sums.Add(of, "waits", 1)
	}
	sums.Fields(of, o.Levels)
}

// addMixed adds what a step of any sequences takes.
func addMixed(sums golden.Sums, of string, e *estimate.Evaluator, pl *plan.Plan, groups []op.Group) {
	var s op.Step
	for _, g := range groups {
		e.Add(&s, g)
	}
	times := e.Step(pl, &s)
	sums.Fields(of, times)
	sums.Fields(of+" power", e.Spent(pl, &s, 2*times.Step))
	sums.Add(of, "at the full clock", e.Full(pl, &s))
	sums.Fields(of+" effort", e.Effort(pl, &s))
	if e.Stacks(pl) {
		l := e.Layered(pl, &s)
		sums.Fields(of+" layered", l)
		sums.Add(of, "by layers", e.Staged(pl, &s, &l))
	}
	mean, byLayer := e.Busiest(pl)
	sums.Add(of, "busiest", mean)
	sums.Fields(of+" busiest", byLayer)
}
