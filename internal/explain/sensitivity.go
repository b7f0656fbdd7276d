package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/model"
)

// Change is the relative change of a hardware number whose effect is measured.
const Change = 0.10

// Effect is the relative change of each result when a number of the system rises by a tenth.
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

// Any reports whether there is an effect beyond rounding.
func (e *Effect) Any() bool {
	return e.largest() > 1e-12 || e.Batch != e.NewBatch
}

func (e *Effect) largest() float64 {
	return max(math.Abs(e.Step), math.Abs(e.TTFT), math.Abs(e.TPOT), math.Abs(e.Tokens))
}

// sensitivity returns the effects of the numbers that can matter, largest first.
func (c *subject) sensitivity() ([]Effect, error) {
	sys := c.Problem.System
	largest := c.largestFitting(sys)
	now := c.present()
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
		e, err := c.onSystem(changed)
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

// matters reports whether the deployment may depend on a number: a rate, capacity, bandwidth or
// latency, of the number types it computes with.
func (c *subject) matters(p *hardware.Parameter) bool {
	if p.Unit == "" || p.Whole || strings.HasPrefix(p.Name, "mem2.") || p.Of(c.Problem.System) == 0 {
		return false // a tenth of nothing is nothing
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
