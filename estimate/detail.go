package estimate

import (
	"throughline/cost"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// Detail is where the time of a step goes, and how far to trust it.
type Detail struct {
	Stage Breakdown // one pipeline stage, one step
	// Comm is all communication by purpose: the time of a step, the bytes of a request.
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

// Breakdown is where the time of a stage goes.
type Breakdown struct {
	Block [op.BlockCount]schedule.Totals
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

// Detail is where the time of a step goes under a plan, and how far to trust it.
func (e *Evaluator) Detail(p *plan.Plan) *Detail { return e.Totals(p).Detail }

// Totals is Contents without operators and spans.
func (e *Evaluator) Totals(p *plan.Plan) *Contents {
	c := &Contents{}
	e.Evaluate(p, &c.Estimate)
	c.Detail = e.detail(p, &c.Estimate)
	c.Drawn = e.Spent(p, &e.step, c.StepTime)
	return c
}

// detail is that of the step that was evaluated last.
func (e *Evaluator) detail(p *plan.Plan, est *Estimate) *Detail {
	d := &Detail{}
	for i := range besides {
		*besides[i].share(&d.Shares) += besides[i].adds(est)
	}
	pricer := e.pricer
	var t trust
	e.each(p, func(o *Operator) {
		d.Shares.add(o)
		share, level := pricer.CommonError(&o.Op)
		t.add(o, share, level)
		if o.Part == StagePart {
			d.Stage.Block[o.Kind.Info().Block].Add(&o.Op, &o.Cost, o.Batches, o.Exposed)
		}
	})
	d.Comm = e.comm(p, &d.Stage)
	d.Uncovered, _ = e.work.Uncovered()
	quantity := DecodeStep
	if e.problem.Phase == op.Prefill {
		quantity = PrefillStep
	}
	kernels, level := t.kernels()
	d.Confidence = Known(quantity, level, kernels, Causes{Pairs: true, Experts: e.problem.Model.IsMoE()})
	if !e.problem.Assume.Compared() {
		d.Confidence.Band = 0
	}
	return d
}

// part returns the operators of a part, if the step has it, and how often a step executes them.
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

// exposed is what an execution of an operator adds to the step: of the layers' exchanges the
// uncovered share, of their computation pace times its time.
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

// each visits the priced operators of the step evaluated last. Of two overlapping micro-batches
// they are those of one, executed twice as often.
func (e *Evaluator) each(p *plan.Plan, visit func(*Operator)) {
	pricer := e.pricer
	uncovered, pace := e.work.Uncovered()
	var o Operator
	for kind := range PartCount {
		list, times := e.part(p, kind)
		if list == nil {
			continue
		}
		o.Part, o.Batches = kind, 1
		if kind == StagePart {
			o.Batches = p.Overlap.Batches()
		}
		ops := list.All()
		for i := range ops {
			o.Op, o.Cost = ops[i], pricer.Price(&ops[i])
			o.Times, o.Exposed = times*o.Repeat, e.exposed(kind, &ops[i], o.Busy, uncovered, pace)
			visit(&o)
		}
	}
}

// comm is the communication of all stages.
func (e *Evaluator) comm(p *plan.Plan, stage *Breakdown) (out [op.TrafficCount]schedule.Comm) {
	filled, _ := p.Filled(e.problem.Model.Layers)
	pp, count := filled*float64(p.Attention.PP), float64(p.Batch.Count)
	steps := 1.0 // per request
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

// Shares is where the time of a step goes, in seconds, in two ways.
type Shares struct {
	// By part of the model; with Communication and Waiting the step.
	Attention, MLP, Drafts, Ends float64
	// Communication is that of all parts, and the transfers between stages.
	Communication float64
	// Waiting is for stages, ranks, moving experts and the host, Offload for the second tier.
	Waiting, Offload float64
	// By what bounds it; with Communication, Waiting and Offload the step.
	Compute, Memory float64
}

func (s *Shares) add(o *Operator) {
	time := o.Takes()
	switch {
	case o.Class == op.Comm:
		s.Communication += time
		return
	case o.Bound == cost.Compute:
		s.Compute += time
	default:
		s.Memory += time
	}
	switch {
	case o.Part == DraftPart:
		s.Drafts += time
	case o.Part == EndsPart:
		s.Ends += time
	case o.Kind.Info().Block == op.AttentionBlock:
		s.Attention += time
	default:
		s.MLP += time
	}
}

// Bound names the largest share of the step, and its seconds.
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
