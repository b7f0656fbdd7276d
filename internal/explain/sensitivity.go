package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/model"
)

// Change is how much a number of the hardware is changed to see its effect.
const Change = 0.10

// Effect is what it does to raise one number of the system by a tenth. Changes are relative: 0.1 is 10% more.
type Effect struct {
	Parameter string  `json:"parameter"`
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Step      float64 `json:"step"`
	TTFT      float64 `json:"ttft,omitempty"` // seen by clients, as TPOT
	TPOT      float64 `json:"tpot,omitempty"`
	Tokens    float64 `json:"tokens_per_s"`
	// Batch and NewBatch are the largest that fit, before and after.
	Batch    int `json:"largest_batch"`
	NewBatch int `json:"new_largest_batch"`
}

// Any reports whether there is an effect. Rounding is none.
func (e *Effect) Any() bool {
	return e.largest() > 1e-12 || e.Batch != e.NewBatch
}

// largest is the largest of the changes.
func (e *Effect) largest() float64 {
	return max(math.Abs(e.Step), math.Abs(e.TTFT), math.Abs(e.TPOT), math.Abs(e.Tokens))
}

// sensitivity is the effects of the numbers that can matter, the largest first.
func (c *subject) sensitivity() ([]Effect, error) {
	sys := c.Problem.System
	largest := c.largestFitting(sys)
	now := c.now()
	relative := func(after, before float64) float64 {
		if before == 0 {
			return 0
		}
		return after/before - 1
	}
	var out []Effect
	for _, p := range sys.Parameters() {
		if !c.matters(&p) {
			continue
		}
		v := p.Of(sys)
		changed := p.With(sys, (1+Change)*v)
		e, err := c.on(changed)
		if err != nil {
			return nil, err
		}
		effect := Effect{
			Parameter: p.Name, Unit: p.Unit, Value: v, Batch: largest, NewBatch: largest,
			Step: relative(e.step.StepTime, now.step.StepTime), Tokens: relative(e.tokens, now.tokens),
		}
		if c.serves() {
			effect.TTFT, effect.TPOT = relative(e.ttft, now.ttft), relative(e.tpot, now.tpot)
		}
		if changed.Memory.GiB != sys.Memory.GiB {
			effect.NewBatch = c.largestFitting(changed)
		}
		out = append(out, effect)
	}
	slices.SortStableFunc(out, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Step), math.Abs(a.Step)), cmp.Compare(b.largest(), a.largest()), cmp.Compare(b.NewBatch, a.NewBatch))
	})
	return out, nil
}

// matters reports whether a number is one of the hardware that the deployment may use: a rate, a capacity, a bandwidth or
// a latency, of the number types it computes with.
func (c *subject) matters(p *hardware.Parameter) bool {
	if p.Unit == "" || p.Whole || strings.HasPrefix(p.Name, "mem2.") || p.Of(c.Problem.System) == 0 {
		return false // more of nothing is nothing
	}
	engine, rest, _ := strings.Cut(p.Name, ".")
	number, _, _ := strings.Cut(rest, ".")
	types := &c.Problem.Precision
	switch engine {
	case "matrix":
		for m := range model.ModuleCount {
			if number == types.Of(m).Type {
				return true
			}
		}
		return number == types.AttentionType
	case "vector":
		return number == types.VectorType
	}
	return true
}
