package explain

import (
	"throughline/estimate"
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
	out := make([]Moment, len(c.step.Spans))
	for i := range c.step.Spans {
		s := &c.step.Spans[i]
		item := c.step.Running(s)
		out[i] = Moment{
			Name: item.Name, Part: item.Block, Lane: s.Lane.String(), Start: s.Start * 1e6, End: s.End * 1e6, Exposed: s.Exposed * 1e6,
			Batch: s.Batch, Stage: s.Stage, Layer: s.Layer, Micro: s.Micro, span: s, op: item.Op,
		}
		out[i].OfPeak, out[i].OfBandwidth = c.use(item.Op)
	}
	return out
}
