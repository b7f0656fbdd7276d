package estimate

import (
	"math"

	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
)

// HasSteps reports whether efficiencies depend on the size of the work, so that time may jump as the batch grows.
func (e *Evaluator) HasSteps() bool {
	for i := range e.handover {
		if !e.handover[i].Flat() {
			return true
		}
	}
	return e.pricer.HasSteps()
}

// AppendCuts appends the batch sizes up to largest at which the efficiency of some operator may change, unsorted. Every
// quantity that efficiency tables look at is a straight line in the batch, so two lowerings tell where it crosses a
// threshold.
func (e *Evaluator) AppendCuts(cuts []int, p *plan.Plan, largest int) []int {
	q := *p
	q.Batch = plan.Batch{Count: 1, Size: 1}
	var one op.List
	e.lowerer.Stage(&q, e.stepOf(&q), &one)
	message, cache := e.stageMessage(&q), e.cacheMessage(&q)
	q.Batch.Size = 2
	e.lowerer.Stage(&q, e.stepOf(&q), &e.list)

	cross := func(atOne, atTwo, threshold float64) {
		slope := atTwo - atOne
		if slope <= 0 {
			return
		}
		at := 1 + (threshold-atOne)/slope
		if at < 1 || at > float64(largest)+1 {
			return
		}
		// Rounding may put the crossing on either side of a whole number, so both are cut off.
		nearest := math.Round(at)
		if math.Abs(at-nearest) < 1e-6*max(1, at) {
			cuts = append(cuts, int(nearest), int(nearest)+1)
		} else {
			cuts = append(cuts, int(math.Ceil(at)))
		}
	}
	thresholds := func(ones, twos []op.Op) {
		for i := range ones {
			e.pricer.Thresholds(&ones[i], &twos[i], cross)
		}
	}
	thresholds(one.All(), e.list.All())
	if q.Drafts > 0 {
		e.lowerer.Draft(&q, e.step, &e.draft)
		q.Batch.Size = 1
		e.lowerer.Draft(&q, e.step, &one)
		thresholds(one.All(), e.draft.All())
		q.Batch.Size = 2
	}
	for i := range e.handover {
		e.handover[i].Shares(hardware.PointToPoint, 2, e.problem.Handover.span(), func(t hardware.SizeTable, share float64) {
			for _, row := range t {
				cross(share*cache, share*e.cacheMessage(&q), row.AtLeast*1e6)
			}
		})
	}
	e.pricer.TransferThresholds(q.Attention.PP, q.Attention.Replica(), message, e.stageMessage(&q), cross)
	return cuts
}
