package estimate

import (
	"throughline/cost"
	"throughline/hardware/kernel"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Detail is where the time of a step goes under a plan, and how far that can be trusted.
type Detail struct {
	Stage Breakdown // one pipeline stage, one step
	// Comm is the communication of all stages, by what it is for: the time of a step, the bytes of a whole request.
	Comm [op.TrafficCount]schedule.Comm
	// Uncovered is the share of the exchanges between experts that the step waits for.
	Uncovered  float64
	Shares     Shares
	Confidence Confidence
}

// PartKind names a part of a step that has operators.
type PartKind = schedule.Part

const (
	StagePart = schedule.LayersPart // the layers of one pipeline stage
	DraftPart = schedule.DraftPart  // the draft module, for one drafted token
	EndsPart  = schedule.EndsPart   // embedding, output projection, sampling
	PartCount = EndsPart + 1
)

// Part is operators that a step executes one after another, a number of times over.
type Part struct {
	Ops   []Operator
	Times float64
}

// Operator is an operator with its price.
type Operator struct {
	op.Op
	cost.Cost
	Exposed float64 // what one execution adds to the step; of exchanges that overlap, on average
	Fused   Fused
}

// Fused is the work of other operators that is done within the time of one: its kernel does theirs as well.
type Fused struct {
	Flops float64 // on the same unit
	Bytes float64
}

// Breakdown is where the time of a stage goes.
type Breakdown struct {
	Block [op.BlockCount]schedule.Totals
}

// Time of the stage.
func (b *Breakdown) Time() float64 {
	return b.Block[op.AttentionBlock].Time() + b.Block[op.MLPBlock].Time()
}

// BoundBy is the time of the operators that a resource bounds.
func (b *Breakdown) BoundBy(r cost.Bound) float64 {
	var t float64
	for i := range b.Block {
		for c := range b.Block[i].Bound {
			t += b.Block[i].Bound[c][r]
		}
	}
	return t
}

// ClassTime is the time of one class of operators.
func (b *Breakdown) ClassTime(c op.Class) float64 {
	var t float64
	for i := range b.Block {
		t += b.Block[i].Bound[c][cost.Compute] + b.Block[i].Bound[c][cost.Memory]
	}
	return t
}

// Exposed is the communication that is not hidden.
func (b *Breakdown) Exposed() float64 {
	return b.Block[op.AttentionBlock].Exposed() + b.Block[op.MLPBlock].Exposed()
}

// DetailOf is Detail for a single plan of a problem.
func DetailOf(p *Problem, of *plan.Plan) (*Detail, error) {
	e, err := NewEvaluator(p)
	if err != nil {
		return nil, err
	}
	return e.Detail(of), nil
}

// Detail says where the time of a step goes under a plan, and how far that can be trusted.
func (e *Evaluator) Detail(p *plan.Plan) *Detail { return e.Detailed(p, new(Estimate)) }

// Detailed is Evaluate and Detail of the same step.
func (e *Evaluator) Detailed(p *plan.Plan, out *Estimate) *Detail {
	e.Evaluate(p, out)
	return e.detail(p, out)
}

// detail is that of the step that was evaluated last.
func (e *Evaluator) detail(p *plan.Plan, whole *Estimate) *Detail {
	d := &Detail{}
	for i := range besides {
		*besides[i].share(&d.Shares) += besides[i].adds(whole)
	}
	pricer := e.pricer(e.problem.Phase)
	uncovered, pace := e.work.Uncovered()
	var t trust
	for kind := range PartCount {
		list, times := e.part(p, kind)
		if list == nil {
			continue
		}
		ops := list.All()
		for i := range ops {
			o := &ops[i]
			c := pricer.Price(o)
			exposed := e.exposed(kind, o, c.Busy, uncovered, pace)
			time := times * o.Repeat * exposed
			d.Shares.add(kind, o, c.Bound, time)
			share, level := pricer.CommonError(o)
			t.add(o, time, share, level)
			if kind == StagePart {
				d.Stage.Block[list.BlockOf(i)].Add(o, &c, p.Overlap.Batches(), exposed)
			}
		}
	}
	d.Comm, d.Uncovered = e.comm(p, &d.Stage), uncovered
	quantity := DecodeStep
	if e.problem.Phase == op.Prefill {
		quantity = PrefillStep
	}
	kernels, level := t.kernels()
	d.Confidence = Known(quantity, level, kernels, Circumstance{Experts: e.problem.Model.IsMoE()})
	if !e.problem.Assume.Compared() {
		d.Confidence.Band = 0
	}
	return d
}

// part is the operators of a part of what was lowered, and how often a step executes them; nil: the step has no such part.
func (e *Evaluator) part(p *plan.Plan, kind PartKind) (list *op.List, times float64) {
	count := float64(p.Batch.Count)
	switch {
	case kind == StagePart:
		filled, _ := p.Filled(e.problem.Model.Layers)
		return &e.stage.list, count * float64(p.Attention.PP) * filled * p.Overlap.Batches()
	case kind == DraftPart && p.Drafts > 0:
		return &e.draft.list, count * float64(p.Drafts)
	case kind == EndsPart && e.problem.Assume.Ends:
		return &e.ends.list, count
	}
	return nil, 0
}

// PartsOf is Parts for a single plan of a problem.
func PartsOf(p *Problem, of *plan.Plan) ([PartCount]Part, error) {
	e, err := NewEvaluator(p)
	if err != nil {
		return [PartCount]Part{}, err
	}
	return e.Parts(of), nil
}

// exposed is what an execution of an operator of a part adds to the step, where computation does not cover a share of the exchanges
// of the layers, and takes pace times as long.
func (e *Evaluator) exposed(kind PartKind, o *op.Op, b cost.Busy, uncovered, pace float64) float64 {
	t := e.rules.Exposed(o, b)
	switch {
	case kind != StagePart:
		return t
	case o.Exchanges():
		return t * uncovered
	}
	return t * pace
}

// Parts are the operators of a step under a plan, with their prices. Of two micro-batches that overlap they are those of one,
// which a step executes twice as often.
func (e *Evaluator) Parts(p *plan.Plan) [PartCount]Part {
	e.Evaluate(p, new(Estimate))
	return e.parts(p)
}

// parts are those of the step that was evaluated last.
func (e *Evaluator) parts(p *plan.Plan) (out [PartCount]Part) {
	pricer := e.pricer(e.problem.Phase)
	uncovered, pace := e.work.Uncovered()
	for kind := range PartCount {
		list, times := e.part(p, kind)
		if list == nil {
			continue
		}
		ops := list.All()
		out[kind] = Part{make([]Operator, len(ops)), times}
		for i := range ops {
			c := pricer.Price(&ops[i])
			out[kind].Ops[i] = Operator{Op: ops[i], Cost: c, Exposed: e.exposed(kind, &ops[i], c.Busy, uncovered, pace)}
		}
		out[kind].fuse(pricer)
	}
	return out
}

// Static is what of the time of one execution of each item no faster unit, memory or network would shorten: launches, floors of
// kernels, hops of messages. Waits have none.
func (e *Evaluator) Static(c *Contents) []float64 {
	unlimited, out := e.unlimited(), make([]float64, len(c.Items))
	for i := range c.Items {
		o := c.Items[i].Op
		if o == nil {
			continue
		}
		// What is left of the work itself does not count.
		if t := unlimited.Price(&o.Op).Time; t >= picosecond {
			out[i] = min(o.Time, t)
		}
	}
	return out
}

// beyond is how much faster everything is on a chip where only what has no rate takes time: a second of work is over within
// a picosecond.
const (
	beyond     = 1e12
	picosecond = 1e-12
)

// unlimited prices operators on the system of the problem with rates beyond any limit: what they still take is static.
func (e *Evaluator) unlimited() *cost.Pricer {
	s := e.system.Clone()
	for t, rate := range s.Matrix {
		rate.TFlops *= beyond
		s.Matrix[t] = rate
	}
	for t, rate := range s.Vector {
		rate.TFlops *= beyond
		s.Vector[t] = rate
	}
	s.Memory.GBps *= beyond
	for i := range s.Networks {
		s.Networks[i].Bandwidth *= beyond
	}
	pricer, err := cost.NewPricer(s, &e.problem.Precision, e.problem.Assume, e.problem.Phase)
	if err != nil {
		panic(err) // the system itself had all rates
	}
	return pricer
}

// fuse adds what operators do within the kernels of others to those that are charged with the time.
func (p *Part) fuse(pricer *cost.Pricer) {
	charged, ahead := map[kernel.Slot]*Operator{}, map[kernel.Slot][]*Operator{}
	for i := range p.Ops {
		o := &p.Ops[i]
		if o.Class == op.Comm {
			continue
		}
		use, calibrated := pricer.Use(&o.Op)
		if !calibrated {
			continue
		}
		switch {
		case use.Role.Included():
			ahead[use.Slot] = append(ahead[use.Slot], o)
		case use.Role.Charged():
			charged[use.Slot].take(o)
			o.give()
		default:
			charged[use.Slot] = o
			for _, before := range ahead[use.Slot] {
				o.take(before)
				before.give()
			}
			delete(ahead, use.Slot)
		}
	}
}

// take adds to an operator what another one does within its kernel; nil: to none.
func (o *Operator) take(other *Operator) {
	if o == nil || o.Repeat != other.Repeat {
		return
	}
	if o.Unit == other.Unit {
		o.Fused.Flops += other.Flops
	}
	if o.Class == op.Vector {
		// What an element-wise kernel hands from one operator to the next stays on the chip; its shape says what it moves.
		o.Fused.Bytes = o.Moved - o.Bytes()
		return
	}
	o.Fused.Bytes += other.Bytes()
}

// give leaves an operator without work: that is done in the kernel of another, and what it takes itself is a launch.
func (o *Operator) give() { o.Fused.Flops, o.Fused.Bytes = -o.Flops, -o.Bytes() }

// comm is the communication of all stages.
func (e *Evaluator) comm(p *plan.Plan, stage *Breakdown) (out [op.TrafficCount]schedule.Comm) {
	filled, _ := p.Filled(e.problem.Model.Layers)
	pp, count := filled*float64(p.Attention.PP), float64(p.Batch.Count)
	steps := 1.0 // that a request takes
	if e.problem.Phase == op.Decode {
		steps = float64(e.problem.Lengths.Output)
		if p.Drafts > 0 {
			steps /= TokensPerStep(e.problem.Acceptance, p.Drafts)
		}
	}
	attention, mlp := &stage.Block[op.AttentionBlock].Comm, &stage.Block[op.MLPBlock].Comm
	for t := range out {
		stages := pp
		// Of the expert traffic the reference tool counts one stage, of the rest all.
		if op.Traffic(t) == op.ExpertTraffic {
			stages = 1
		}
		out[t] = schedule.Comm{
			Exposed: count * pp * (attention[t].Exposed + mlp[t].Exposed),
			Bytes:   count * steps * stages * (attention[t].Bytes + mlp[t].Bytes),
		}
	}
	return out
}

// Shares is where the time of a step goes, in seconds, told in two ways.
type Shares struct {
	// By part of the model; with Communication and Waiting the step.
	Attention, MLP, Drafts, Ends float64
	// Communication is that of all parts, and the transfers between stages.
	Communication float64
	// Waiting is for the slowest stage of a pipeline, the slowest rank, experts that move and the host, Offload for the second memory tier.
	Waiting, Offload float64
	// By what bounds it; with Communication, Waiting and Offload the step.
	Compute, Memory float64
}

// add adds the time of an operator of a part.
func (s *Shares) add(part PartKind, o *op.Op, bound cost.Bound, time float64) {
	switch {
	case o.Class == op.Comm:
		s.Communication += time
		return
	case bound == cost.Compute:
		s.Compute += time
	default:
		s.Memory += time
	}
	switch {
	case part == DraftPart:
		s.Drafts += time
	case part == EndsPart:
		s.Ends += time
	case o.Kind.Info().Block == op.AttentionBlock:
		s.Attention += time
	default:
		s.MLP += time
	}
}

// Bound names what takes the largest share of the step, and that share in seconds.
func (s *Shares) Bound() (name string, seconds float64) {
	name, seconds = "memory", s.Memory
	if s.Compute > seconds {
		name, seconds = "compute", s.Compute
	}
	if s.Communication > seconds {
		name, seconds = "network", s.Communication
	}
	if s.Offload > seconds {
		name, seconds = "second memory tier", s.Offload
	}
	return name, seconds
}
