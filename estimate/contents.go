package estimate

import (
	"cmp"

	"throughline/collective"
	"throughline/cost"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Contents is everything in a step. Every view of a step is made from it.
type Contents struct {
	Estimate
	*Detail
	// Operators add up to the step: in their order, then what it transfers and waits for.
	Operators []Operator
	// Drawn is time and energy of the step on one processor; nil: not known.
	Drawn *cost.Spent
	// Works are what the operators do, and the wait of a processor for other stages.
	Works []cost.Work
	// Spans are the executions of operators, in the order in which they end.
	Spans []schedule.Span

	at map[place]int // of the operators
}

// place is an operator's part of a step, and its index there.
type place struct {
	part  schedule.Part
	index int
}

// beside is something that a step may contain besides operators.
type beside struct {
	part        schedule.Part
	name, block string
	running     string // its name while it may run hidden; empty: the same
	adds        func(e *Estimate) float64
	share       func(s *Shares) *float64 // that counts it
}

var besides = [...]beside{
	{schedule.HandOnPart, "stage transfer", "pipeline", "", func(e *Estimate) float64 { return e.TransferTime }, (*Shares).communication},
	{schedule.MovingPart, "moving experts", "mlp", "", func(e *Estimate) float64 { return e.MovingTime }, (*Shares).waiting},
	{schedule.RanksPart, "waiting for the slowest rank", "mlp", "", func(e *Estimate) float64 { return e.RanksTime }, (*Shares).waiting},
	{schedule.LaunchPart, "waiting for launches", "host", "", func(e *Estimate) float64 { return e.LaunchTime }, (*Shares).waiting},
	{schedule.WaitPart, "waiting for the last stage", "pipeline", "", func(e *Estimate) float64 { return e.WaitTime }, (*Shares).waiting},
	{schedule.SecondPart, "waiting for the second tier", "memory", "second tier", func(e *Estimate) float64 { return e.OffloadTime }, (*Shares).offload},
	// What remains of it after the step is not part of the step.
	{schedule.CachePart, "KV cache handover", "pipeline", "", func(*Estimate) float64 { return 0 }, (*Shares).communication},
}

func (e *Evaluator) Contents(p *plan.Plan) *Contents {
	c := &Contents{at: map[place]int{}}
	var r schedule.Recorder
	e.evaluate(p, &c.Estimate, &r)
	c.Detail, c.Spans = e.detail(p, &c.Estimate), r.Spans
	c.Operators = e.operators(p, &c.Estimate)
	index := map[schedule.Part]int{}
	for i := range c.Operators {
		part := c.Operators[i].Part
		c.at[place{part, index[part]}] = i
		index[part]++
	}
	placed := make([]bool, len(c.Operators))
	for i := range c.Spans {
		s := &c.Spans[i]
		at, ok := c.at[place{s.Part, s.Op}]
		if !ok {
			continue
		}
		o := &c.Operators[at]
		if !placed[at] {
			o.Lane, o.Start, placed[at] = s.Lane, s.Start, true
		}
		o.Start, o.End = min(o.Start, s.Start), max(o.End, s.End)
	}
	e.draw(c)
	return c
}

// Operators are those of Contents, without their spans.
func (e *Evaluator) Operators(p *plan.Plan) []Operator {
	var out Estimate
	e.Evaluate(p, &out)
	return e.operators(p, &out)
}

// operators are those of the step that was evaluated last.
func (e *Evaluator) operators(p *plan.Plan, est *Estimate) (out []Operator) {
	pricer := e.pricer
	net := collective.NewNet(e.system, e.problem.Assume.BytesPerGB)
	ends := [PartCount]int{}
	e.each(p, func(o *Operator) {
		out, ends[o.Part] = append(out, *o), len(out)+1
		o = &out[len(out)-1]
		o.Name, o.Block, o.Peak = o.Kind.String(), blockOf(o), e.peakOf(&o.Op)
		o.Static = min(o.Exposed, o.Time, pricer.Static(&o.Op))
		o.Full = o.Exposed
		if o.Class != op.Comm && o.Time > 0 {
			o.Full *= pricer.Full(&o.Op) / o.Time
		}
	})
	from := 0
	for _, end := range ends {
		if end > from {
			fuse(out[from:end], pricer)
			from = end
		}
	}
	for i := range besides {
		b := &besides[i]
		t := b.adds(est)
		if t <= 0 {
			continue
		}
		var o Operator
		if b.part == schedule.HandOnPart {
			o = transfer(e.stages(p))
		}
		o.Name, o.Block, o.Part, o.Batches, o.Repeat, o.Times, o.Exposed, o.Time = b.name, b.block, b.part, 1, 1, 1, t, t
		out = append(out, o)
	}
	for i := range out {
		o := &out[i]
		o.Share = o.Takes() / est.StepTime
		if o.Class == op.Comm && o.Group > 1 {
			o.Levels = net.Levels(o.Collective, o.Members())
		}
	}
	return out
}

// Running is the operator of a span, even if it adds nothing to the step.
func (c *Contents) Running(s *schedule.Span) *Operator {
	for i := range besides {
		if b := &besides[i]; b.part == s.Part {
			return &Operator{Name: cmp.Or(b.running, b.name), Block: b.block, Part: b.part}
		}
	}
	return &c.Operators[c.at[place{s.Part, s.Op}]]
}

// Depth is the layers of a stage that run.
func (c *Contents) Depth() (n int) {
	for i := range c.Spans {
		n = max(n, c.Spans[i].Layer+1)
	}
	return n
}

func blockOf(o *Operator) string {
	switch {
	case o.Part == DraftPart:
		return "draft"
	case o.Part == EndsPart:
		return "ends"
	case o.Kind.Info().Block == op.MLPBlock:
		return "mlp"
	}
	return "attention"
}

func (s *Shares) communication() *float64 { return &s.Communication }
func (s *Shares) waiting() *float64       { return &s.Waiting }
func (s *Shares) offload() *float64       { return &s.Offload }
