package explain

import (
	"cmp"
	"fmt"
	"slices"

	"throughline/cost"
	"throughline/estimate"
	"throughline/number"
	"throughline/op"
	"throughline/workload"
)

// Limit is an event as the batch grows.
type Limit struct {
	// Batch is the first at which it happens; 0: at none.
	Batch int    `json:"batch"`
	What  string `json:"what"`
	// Reached: it has already happened.
	Reached bool `json:"reached"`
}

// leastShare of the step makes an operator worth mentioning.
const leastShare = 0.05

// limits returns the memory limit, the latency limit and the batches at which large operators
// change their bound, in the order of growing batches.
func (c *subject) limits(limits workload.Limits) []Limit {
	now := c.Estimate.Plan.Batch.Size
	last := c.largestFitting(c.Problem.System)
	var out []Limit
	add := func(batch int, what string) { out = append(out, Limit{batch, what, batch > 0 && batch <= now}) }
	switch {
	case last == 0:
		add(1, "the memory is full: no batch fits")
	case last < mostSequences:
		add(last+1, fmt.Sprintf("the memory is full: batch %d is the last that fits", last))
	}
	for _, l := range []struct {
		name  string
		ms    *float64
		phase op.Phase
	}{{"TTFT", limits.TTFT, op.Prefill}, {"TPOT", limits.TPOT, op.Decode}} {
		if l.ms == nil || !c.serves() && (c.Problem.Assume.Engine || l.phase != c.Phase) {
			continue
		}
		first := c.firstLate(l.phase, *l.ms/1e3, max(now, last))
		what := fmt.Sprintf("%s exceeds %s ms", l.name, number.Plain(*l.ms, 6))
		if first == 0 {
			what = fmt.Sprintf("%s exceeds %s ms at no batch that fits", l.name, number.Plain(*l.ms, 6))
		}
		add(first, what)
	}
	out = append(out, c.turns(now)...)
	slices.SortStableFunc(out, func(a, b Limit) int { return cmp.Compare(order(&a), order(&b)) })
	return out
}

// order puts what never happens last.
func order(l *Limit) int {
	if l.Batch == 0 {
		return mostSequences + 1
	}
	return l.Batch
}

// firstLate returns the first batch up to most whose latency exceeds a limit, or 0. Latency rises
// with the batch, except for drops where an efficiency changes: these split the range into parts.
func (c *subject) firstLate(phase op.Phase, limit float64, most int) int {
	if c.serves() {
		last := lastWith(1, most, func(batch int) bool {
			ttft, tpot := c.sizedClients(batch)
			if phase == op.Prefill {
				return ttft <= limit
			}
			return tpot <= limit
		})
		if last < most {
			return last + 1
		}
		return 0
	}
	p := c.withBatch(1)
	starts := []int{1}
	if c.evaluator.HasSteps() {
		starts = c.evaluator.AppendCuts(starts, &p, most)
		slices.Sort(starts)
		starts = slices.Compact(starts)
	}
	var e estimate.Estimate
	inTime := func(batch int) bool {
		c.evaluate(batch, &e)
		return e.Latency <= limit
	}
	for i, first := range starts {
		end := most
		if i+1 < len(starts) {
			end = starts[i+1] - 1
		}
		if first < 1 || first > end {
			continue
		}
		if last := lastWith(first, end, inTime); last < end {
			return last + 1
		}
	}
	return 0
}

// turns returns the batches at which large memory-bound operators turn compute-bound.
func (c *subject) turns(now int) []Limit {
	known := map[int][]estimate.Operator{now: c.Operators}
	// The number and order of operators do not depend on the batch.
	bound := func(batch, i int) cost.Bound {
		if known[batch] == nil {
			p := c.withBatch(batch)
			known[batch] = c.evaluator.Operators(&p)
		}
		return known[batch][i].Bound
	}
	var out []Limit
	for i := range c.Operators { // those of the stage come first
		o := &c.Operators[i]
		if o.Part != estimate.StagePart || o.Class == op.Comm || o.Class == op.Vector || o.Bound != cost.Memory || o.Share < leastShare {
			continue
		}
		last := lastWith(now, mostTurning, func(batch int) bool {
			return bound(batch, i) == cost.Memory
		})
		if last == mostTurning {
			out = append(out, Limit{What: o.Name + " stays memory-bound at every batch"})
		} else {
			out = append(out, Limit{Batch: last + 1, What: o.Name + " turns compute-bound"})
		}
	}
	return out
}

// mostTurning is the largest batch tried for a turn, far beyond any memory.
const mostTurning = 1 << 24
