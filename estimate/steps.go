package estimate

import (
	"math"

	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// HasSteps reports whether efficiencies depend on the size of the work, so that time may jump.
func (e *Evaluator) HasSteps() bool {
	for i := range e.handover {
		if !e.handover[i].Flat() {
			return true
		}
	}
	return e.pricer.HasSteps()
}

// AppendCuts appends the batch sizes up to largest at which an operator's efficiency may change,
// unsorted. Almost every quantity in efficiency tables is linear in the batch, so two lowerings
// tell where it crosses a threshold; where a third shows that it is not, the crossing is bisected.
func (e *Evaluator) AppendCuts(cuts []int, p *plan.Plan, largest int) []int {
	c := cutter{evaluator: e, plan: *p, largest: largest, cuts: cuts}
	pricer := e.pricer
	if pricer.Calibrated() {
		// Calibrated kernels have no steps; where throughput falls with the batch, it does so over
		// a range of sizes, which cuts half a power of two apart probe.
		for b := 2; b <= largest; b *= 2 {
			c.cuts = append(c.cuts, b, b+b/2)
		}
		return c.cuts
	}
	c.operators(e.lowerLayers)
	if p.Drafts > 0 {
		c.operators(e.lowerer.Draft)
	}
	if e.problem.Assume.Ends {
		c.operators(e.lowerer.Ends)
	}
	one, two := c.sized(1), c.sized(2)
	for i := range e.handover {
		e.handover[i].Shares(hardware.PointToPoint, hardware.Members{Group: 2, Span: e.problem.Handover.span()}, func(t hardware.SizeTable, share float64) {
			for _, row := range t {
				c.straight(share*e.cacheMessage(&one), share*e.cacheMessage(&two), row.AtLeast*1e6)
			}
		})
	}
	var steps [2]op.Step
	e.stepOf(&one, &steps[0])
	e.stepOf(&two, &steps[1])
	pricer.Messages(hardware.PointToPoint, e.stages(p), func(threshold float64) {
		c.straight(e.stageMessage(&one, &steps[0]), e.stageMessage(&two, &steps[1]), threshold)
	})
	return c.cuts
}

// cutter collects the batches at which efficiencies change.
type cutter struct {
	evaluator *Evaluator
	plan      plan.Plan
	largest   int
	cuts      []int
}

func (c *cutter) sized(size int) plan.Plan {
	q := c.plan
	q.Batch = plan.Batch{Count: 1, Size: size}
	return q
}

// operators cuts at the thresholds of the operators of a list.
func (c *cutter) operators(lower func(*plan.Plan, *op.Step, *op.List)) {
	e := c.evaluator
	var lists [4]op.List // of batches 1, 2 and 3, and of any
	fill := func(size int, list *op.List) {
		q := c.sized(size)
		e.stepOf(&q, &e.step)
		lower(&q, &e.step, list)
	}
	for i := range 3 {
		fill(i+1, &lists[i])
	}
	ones, twos, threes := lists[0].All(), lists[1].All(), lists[2].All()
	for i := range ones {
		e.pricer.Thresholds(&ones[i], func(quantity cost.Quantity, threshold float64) {
			one, two, three := quantity(&ones[i]), quantity(&twos[i]), quantity(&threes[i])
			if math.Abs(three-2*two+one) <= 1e-9*three {
				c.straight(one, two, threshold)
				return
			}
			c.bisect(threshold, func(size int) float64 {
				fill(size, &lists[3])
				return quantity(&lists[3].All()[i])
			})
		})
	}
}

// straight cuts where a quantity that is linear in the batch reaches a threshold.
func (c *cutter) straight(atOne, atTwo, threshold float64) {
	slope := atTwo - atOne
	if slope <= 0 {
		return
	}
	at := 1 + (threshold-atOne)/slope
	if at < 1 || at > float64(c.largest)+1 {
		return
	}
	// Rounding may put the crossing on either side of an integer, so both are cut off.
	if nearest := math.Round(at); math.Abs(at-nearest) < 1e-6*max(1, at) {
		c.cuts = append(c.cuts, int(nearest), int(nearest)+1)
	} else {
		c.cuts = append(c.cuts, int(math.Ceil(at)))
	}
}

// bisect cuts where a monotonic quantity crosses a threshold.
func (c *cutter) bisect(threshold float64, at func(size int) float64) {
	reached := func(size int) bool { return at(size) >= threshold }
	lo, hi := 1, c.largest
	if reached(lo) == reached(hi) {
		return
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; reached(mid) == reached(lo) {
			lo = mid
		} else {
			hi = mid
		}
	}
	c.cuts = append(c.cuts, hi)
}
