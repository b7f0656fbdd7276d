package explain

import (
	"throughline/estimate"
	"throughline/internal/opdetail"
	"throughline/schedule"
)

// Moment is one execution of an operator, or one transfer or waiting, in µs from the start of the step.
type Moment struct {
	Name, Part, Lane    string
	Start, End, Exposed float64
	Batch, Stage, Layer int // the layer counts from 0 in its stage; -1 outside of the layers
	Micro               int // of two micro-batches that overlap
	// Of the peak rate of its unit and of the memory bandwidth, as of the operator.
	OfPeak, OfBandwidth float64

	span *schedule.Span
	op   *estimate.Operator // nil: none
}

// Timeline is when everything of the step runs, in the order in which it ends.
func (x *Explanation) Timeline() []Moment { return x.subject.timeline() }

// timeline is that of charts and traces.
func (c *subject) timeline() []Moment {
	type operator struct {
		told Operator
		op   *estimate.Operator
	}
	operators := map[opdetail.Key]operator{}
	for kind := range c.parts {
		for i := range c.parts[kind].Ops {
			o := &c.parts[kind].Ops[i]
			told := c.operator(estimate.PartKind(kind), o)
			operators[opdetail.SpanOf(estimate.PartKind(kind), i)] = operator{told, o}
		}
	}
	spans := c.evaluator.Timeline(&c.now.Plan)
	out := make([]Moment, len(spans))
	for i := range spans {
		s := &spans[i]
		m := Moment{
			Name: besidesNames[s.Part], Part: "pipeline", Lane: s.Lane.String(), Start: s.Start * 1e6, End: s.End * 1e6, Exposed: s.Exposed * 1e6,
			Batch: s.Batch, Stage: s.Stage, Layer: s.Layer, Micro: s.Micro, span: s,
		}
		if o, ok := operators[opdetail.Key{Part: s.Part, Op: s.Op}]; ok {
			m.Name, m.Part, m.OfPeak, m.OfBandwidth, m.op = o.told.Name, o.told.Part, o.told.OfPeak, o.told.OfBandwidth, o.op
		}
		out[i] = m
	}
	return out
}

// besidesNames are what is no operator.
var besidesNames = [schedule.PartCount]string{
	schedule.HandOnPart: "stage transfer", schedule.SecondPart: "second tier", schedule.WaitPart: "waiting for the last stage",
	schedule.RanksPart: "waiting for the slowest rank", schedule.MovingPart: "moving experts", schedule.CachePart: "KV cache handover",
}
