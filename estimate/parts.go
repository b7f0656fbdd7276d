package estimate

import (
	"throughline/cost"
	"throughline/op"
)

// PartKind names a part of a step.
type PartKind uint8

const (
	StagePart PartKind = iota // the layers of one pipeline stage
	DraftPart                 // the draft module, for one drafted token
	EndsPart                  // embedding, output projection, sampling
	PartCount
)

// Part is operators that a step executes one after another, a number of times over.
type Part struct {
	Ops   []op.Op
	Times float64
}

// Parts are the parts of a step of the plan that was evaluated last.
func (e *Evaluator) Parts(out *Estimate) [PartCount]Part {
	p := &out.Plan
	count := float64(p.Batch.Count)
	parts := [PartCount]Part{StagePart: {e.list.All(), count * float64(p.Attention.PP)}}
	if p.Drafts > 0 {
		parts[DraftPart] = Part{e.draft.All(), count * float64(p.Drafts)}
	}
	if e.problem.Assume.Ends {
		parts[EndsPart] = Part{e.ends.All(), count}
	}
	return parts
}

// Shares is where the time of a step goes, in seconds, told in two ways.
type Shares struct {
	// By part of the model; with Communication and Waiting the step.
	Attention, MLP, Drafts, Ends float64
	// Communication is that of all parts, and the transfers between stages.
	Communication float64
	// Waiting is for the slowest stage of a pipeline, Offload for the second memory tier.
	Waiting, Offload float64
	// By what bounds it; with Communication, Waiting and Offload the step.
	Compute, Memory float64
}

// SharesOf are the shares of the plan that was evaluated last.
func (e *Evaluator) SharesOf(out *Estimate) Shares {
	s := Shares{Communication: out.TransferTime, Waiting: out.WaitTime, Offload: out.OffloadTime}
	for kind, part := range e.Parts(out) {
		for i := range part.Ops {
			o := &part.Ops[i]
			c := e.pricer.Price(o)
			t := part.Times * o.Repeat * c.Time
			switch {
			case o.Class == op.Comm:
				s.Communication += t
				continue
			case c.Bound == cost.Compute:
				s.Compute += t
			default:
				s.Memory += t
			}
			switch {
			case PartKind(kind) == DraftPart:
				s.Drafts += t
			case PartKind(kind) == EndsPart:
				s.Ends += t
			case o.Kind.Info().Block == op.AttentionBlock:
				s.Attention += t
			default:
				s.MLP += t
			}
		}
	}
	return s
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
