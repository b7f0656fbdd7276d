package estimate

import (
	"math"

	"throughline/cost"
	"throughline/op"
)

// Confidence is how far a result can be trusted.
type Confidence struct {
	Level cost.Level
	// Band is the expected error of the time as a share: those of its operators, by their share of the step, and what is
	// different elsewhere. Errors of different kernels may cancel; that they do not is the cautious reading.
	Band float64
}

// elsewhere is how far whole passes on another GPU of the kind, with other element-wise kernels, are from predictions by the
// kernels of one: the mean errors of dense models (docs/validation.md, measure/H200 by the built-in H200), as shares.
var elsewhere = [op.PhaseCount]float64{op.Prefill: 0.12, op.Decode: 0.06}

// most is the share of the time that must reach a level for the whole to have it. The rest is in the band.
const most = 0.75

// confidence is how far the time of the operators can be trusted.
func (d *Detail) confidence(pricer *cost.Pricer, phase op.Phase) Confidence {
	var total, wrong float64
	var at [cost.LevelCount]float64 // time by level
	for kind := range d.Parts {
		part := &d.Parts[kind]
		for i := range part.Ops {
			o := &part.Ops[i]
			t := part.Times * o.Repeat * o.Exposed
			share, level := pricer.ErrorOf(&o.Op)
			total += t
			wrong += t * share
			at[level] += t
		}
	}
	var c Confidence
	if total > 0 {
		c.Band = math.Hypot(wrong/total, elsewhere[phase])
		switch {
		case at[cost.Measured] >= most*total:
			c.Level = cost.Measured
		case at[cost.Measured]+at[cost.Fitted] >= most*total:
			c.Level = cost.Fitted
		}
	}
	return c
}
