package estimate

import (
	"cmp"

	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Contents is all that a step consists of. Every view of a step is made from it.
type Contents struct {
	Estimate
	*Detail
	// Items add up to the step: operators in their order, then what it transfers and waits for.
	Items []Item
	// Spans are when each execution of an item runs, in the order in which they end.
	Spans []schedule.Span

	at map[place]int // of the items
}

// Item is an operator, a transfer or a wait.
type Item struct {
	Name  string
	Block string // attention, mlp, draft, ends, pipeline, host, memory
	Part  schedule.Part
	Op    *Operator // nil: a transfer or a wait
	Times float64   // that a step executes it, one after another
	Adds  float64   // seconds of the step that one execution takes
	Lane  schedule.Lane
	// Start of the first execution and End of the last, in seconds from the start of the step.
	Start, End float64
}

// Time is the seconds of the step that all executions take.
func (i *Item) Time() float64 { return i.Times * i.Adds }

// Waits reports whether the step neither computes nor communicates meanwhile.
func (i *Item) Waits() bool { return i.Op == nil && i.Part != schedule.HandOnPart }

// place is where an item lies in a step: its part, and the index of an operator in that.
type place struct {
	part  schedule.Part
	index int
}

// beside is something that a step may consist of besides operators.
type beside struct {
	part        schedule.Part
	name, block string
	running     string // its name while it may run hidden; empty: the same
	adds        func(e *Estimate) float64
	share       func(s *Shares) *float64 // that counts it
}

// besides are all of them.
var besides = [...]beside{
	{schedule.HandOnPart, "stage transfer", "pipeline", "", func(e *Estimate) float64 { return e.TransferTime }, (*Shares).communication},
	{schedule.MovingPart, "moving experts", "mlp", "", func(e *Estimate) float64 { return e.MovingTime }, (*Shares).waiting},
	{schedule.RanksPart, "waiting for the slowest rank", "mlp", "", func(e *Estimate) float64 { return e.RanksTime }, (*Shares).waiting},
	{schedule.LaunchPart, "waiting for launches", "host", "", func(e *Estimate) float64 { return e.LaunchTime }, (*Shares).waiting},
	{schedule.WaitPart, "waiting for the last stage", "pipeline", "", func(e *Estimate) float64 { return e.WaitTime }, (*Shares).waiting},
	{schedule.SecondPart, "waiting for the second tier", "memory", "second tier", func(e *Estimate) float64 { return e.OffloadTime }, (*Shares).offload},
	// What remains of it when the step is over is no part of the step.
	{schedule.CachePart, "KV cache handover", "pipeline", "", func(*Estimate) float64 { return 0 }, (*Shares).communication},
}

// ContentsOf is Contents for a single plan of a problem.
func ContentsOf(p *Problem, of *plan.Plan) (*Contents, error) {
	e, err := NewEvaluator(p)
	if err != nil {
		return nil, err
	}
	return e.Contents(of), nil
}

// Contents is what a step consists of under a plan.
func (e *Evaluator) Contents(p *plan.Plan) *Contents {
	c := &Contents{at: map[place]int{}}
	var r schedule.Recorder
	e.evaluate(p, &c.Estimate, &r)
	c.Detail = e.detail(p, &c.Estimate)
	parts := e.parts(p)
	for kind := range parts {
		part := &parts[kind]
		for i := range part.Ops {
			o := &part.Ops[i]
			c.add(i, Item{Name: o.Kind.String(), Block: blockOf(PartKind(kind), o), Part: PartKind(kind), Op: o, Times: part.Times * o.Repeat, Adds: o.Exposed})
		}
	}
	for i := range besides {
		b := &besides[i]
		if t := b.adds(&c.Estimate); t > 0 {
			c.add(0, Item{Name: b.name, Block: b.block, Part: b.part, Times: 1, Adds: t})
		}
	}
	c.Spans = r.Spans
	placed := make([]bool, len(c.Items))
	for i := range c.Spans {
		s := &c.Spans[i]
		at, ok := c.at[place{s.Part, s.Op}]
		if !ok {
			continue
		}
		item := &c.Items[at]
		if !placed[at] {
			item.Lane, item.Start, placed[at] = s.Lane, s.Start, true
		}
		item.Start, item.End = min(item.Start, s.Start), max(item.End, s.End)
	}
	return c
}

func (c *Contents) add(index int, i Item) {
	c.at[place{i.Part, index}] = len(c.Items)
	c.Items = append(c.Items, i)
}

// Running is the item that a span is an execution of; one that adds nothing to the step need not be among the items.
func (c *Contents) Running(s *schedule.Span) Item {
	for i := range besides {
		if b := &besides[i]; b.part == s.Part {
			return Item{Name: cmp.Or(b.running, b.name), Block: b.block, Part: b.part}
		}
	}
	return c.Items[c.at[place{s.Part, s.Op}]]
}

// blockOf names the part of the step that an operator belongs to.
func blockOf(kind PartKind, o *Operator) string {
	switch {
	case kind == DraftPart:
		return "draft"
	case kind == EndsPart:
		return "ends"
	case o.Kind.Info().Block == op.MLPBlock:
		return "mlp"
	}
	return "attention"
}

func (s *Shares) communication() *float64 { return &s.Communication }
func (s *Shares) waiting() *float64       { return &s.Waiting }
func (s *Shares) offload() *float64       { return &s.Offload }
