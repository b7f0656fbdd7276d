package explain

import (
	"throughline/estimate"
	"throughline/op"
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
}

// Timeline is when everything of the step runs, in the order in which it ends.
func (x *Explanation) Timeline() []Moment {
	c := x.subject
	var parts [schedule.PartCount][]Operator
	for kind, part := range partsOfTimeline {
		for i := range c.parts[kind].Ops {
			o := &c.parts[kind].Ops[i]
			parts[part] = append(parts[part], c.operator(partName(estimate.PartKind(kind), o), o, c.parts[kind].Times))
		}
	}
	spans := c.evaluator.Timeline(&c.now.Plan)
	out := make([]Moment, len(spans))
	for i, s := range spans {
		m := Moment{
			Lane: s.Lane.String(), Start: s.Start * 1e6, End: s.End * 1e6, Exposed: s.Exposed * 1e6,
			Batch: s.Batch, Stage: s.Stage, Layer: s.Layer, Micro: s.Micro,
		}
		if ops := parts[s.Part]; s.Op < len(ops) {
			o := &ops[s.Op]
			m.Name, m.Part, m.OfPeak, m.OfBandwidth = o.Name, o.Part, o.OfPeak, o.OfBandwidth
		} else {
			m.Name, m.Part = besidesNames[s.Part], "pipeline"
		}
		out[i] = m
	}
	return out
}

// besidesNames are what is no operator.
var besidesNames = [schedule.PartCount]string{
	schedule.HandOnPart: "stage transfer", schedule.SecondPart: "second tier", schedule.WaitPart: "waiting for the last stage",
	schedule.MovingPart: "moving experts", schedule.CachePart: "KV cache handover",
}

// partName is the part of the model that an operator belongs to.
func partName(kind estimate.PartKind, o *estimate.Operator) string {
	switch {
	case kind == estimate.DraftPart:
		return "draft"
	case kind == estimate.EndsPart:
		return "ends"
	case o.Kind.Info().Block == op.MLPBlock:
		return "mlp"
	}
	return "attention"
}
