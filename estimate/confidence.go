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

// trust adds up how far the times of operators can be trusted.
type trust struct {
	total, wrong float64
	at           [cost.LevelCount]float64 // time by level
}

// add adds an operator whose time may be off by a share.
func (t *trust) add(time, share float64, level cost.Level) {
	t.total += time
	t.wrong += time * share
	t.at[level] += time
}

// confidence is that of the whole.
func (t *trust) confidence(phase op.Phase) (c Confidence) {
	if t.total == 0 {
		return c
	}
	c.Band = math.Hypot(t.wrong/t.total, elsewhere[phase])
	switch {
	case t.at[cost.Measured] >= most*t.total:
		c.Level = cost.Measured
	case t.at[cost.Measured]+t.at[cost.Fitted] >= most*t.total:
		c.Level = cost.Fitted
	}
	return c
}
