// Package explain says why a deployment takes the time it takes: operator by operator, what its memory holds, which
// numbers of the hardware matter and how much, which limit comes next, and which hardware would reach a goal.
//
// Every answer comes from evaluating the same deployment again, with another batch or on a changed copy of the system.
package explain

import (
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/point"
	"throughline/plan"
	"throughline/workload"
)

// Explanation is all that is said about one phase of a point.
type Explanation struct {
	Operators   Operators `json:"operators"`
	Memory      Memory    `json:"memory_gib"`
	Exchange    *Exchange `json:"exchange,omitempty"` // between experts
	Sensitivity []Effect  `json:"sensitivity"`
	Limits      []Limit   `json:"next_limits"`
	Seek        *Answer   `json:"seek,omitempty"`

	subject *subject
}

// Of explains a phase of an answer of an examiner under latency limits.
func Of(a *point.Answer, phase int, limits workload.Limits) (*Explanation, error) {
	c, err := newSubject(a, phase)
	if err != nil {
		return nil, err
	}
	x := &Explanation{subject: c, Operators: c.Operators, Memory: c.memory(), Exchange: c.exchange(), Limits: c.limits(limits)}
	if x.Sensitivity, err = c.sensitivity(); err != nil {
		return nil, err
	}
	return x, nil
}

// subject is the phase that is explained, with evaluators of what it is compared with.
type subject struct {
	*point.Result
	answer    *point.Answer
	evaluator *estimate.Evaluator // of other batches
	elsewhere *estimate.Evaluator // of the same problem on systems with other numbers
}

func newSubject(a *point.Answer, phase int) (*subject, error) {
	r := &a.Phases[phase]
	c := &subject{Result: r, answer: a}
	var err error
	if c.evaluator, err = estimate.NewEvaluator(&r.Problem); err == nil {
		c.elsewhere, err = estimate.NewEvaluator(&r.Problem)
	}
	return c, err
}

// sized is the plan with another batch.
func (c *subject) sized(batch int) plan.Plan {
	p := c.Estimate.Plan
	p.Batch.Size = batch
	return p
}

// evaluate estimates another batch.
func (c *subject) evaluate(batch int, out *estimate.Estimate) {
	if batch == c.Plan.Batch.Size {
		*out = c.Estimate
		return
	}
	p := c.sized(batch)
	c.evaluator.Evaluate(&p, out)
}

// mostSequences is the largest batch that is considered.
const mostSequences = 1 << 30

// usable is the bytes of a processor of a system that may be full where it holds so much besides the cache.
func (c *subject) usable(sys *hardware.System, m *estimate.Memory) float64 {
	pool := *c.answer.Deployment.Of(c.Phase)
	pool.System = sys
	return c.answer.Deployment.Usable(&pool, m)
}

// largestFitting is the largest batch for which a system has memory, or 0.
func (c *subject) largestFitting(sys *hardware.System) int {
	fits := func(batch int) bool {
		p := c.sized(batch)
		m := c.evaluator.MemoryOf(&p)
		return m.Total() <= c.usable(sys, &m)
	}
	return lastWith(1, mostSequences, fits)
}

// lastWith is the largest number in low..high with a property that holds up to some number and not beyond, or low-1.
func lastWith(low, high int, holds func(int) bool) int {
	// Answers are small next to the range: find their size first.
	step := 1
	last := low - 1
	for last < high && holds(min(last+step, high)) {
		last = min(last+step, high)
		step *= 2
	}
	for beyond := min(last+step, high+1); beyond-last > 1; {
		if mid := last + (beyond-last)/2; holds(mid) {
			last = mid
		} else {
			beyond = mid
		}
	}
	return last
}
