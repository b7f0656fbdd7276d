// Package explain says why a deployment takes its time: operator by operator, what its memory
// holds, which hardware numbers matter and how much, which limit comes next, and which hardware
// would reach a goal.
//
// Every figure comes from evaluating the same deployment with another batch or on a changed system.
package explain

import (
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/point"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// Explanation explains one phase of a point.
type Explanation struct {
	Operators   Operators `json:"operators"`
	Memory      Memory    `json:"memory_gib"`
	Exchange    *Exchange `json:"exchange,omitempty"` // between experts
	Sensitivity []Effect  `json:"sensitivity"`
	Limits      []Limit   `json:"next_limits"`
	Seek        *Answer   `json:"seek,omitempty"`

	subject *subject
}

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

// Glance is an explanation without what takes many more evaluations: sensitivities and limits.
func Glance(a *point.Answer, phase int) (*Explanation, error) {
	c, err := newSubject(a, phase)
	if err != nil {
		return nil, err
	}
	return &Explanation{subject: c, Operators: c.Operators, Memory: c.memory(), Exchange: c.exchange()}, nil
}

// subject is the explained phase with evaluators for comparisons.
type subject struct {
	*point.Result
	answer    *point.Answer
	evaluator *estimate.Evaluator // of other batches
	elsewhere *estimate.Evaluator // of the same problem on changed systems
	closed    *serving.Prediction // of the answer; nil: not needed yet
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

func (c *subject) withBatch(batch int) plan.Plan {
	p := c.Estimate.Plan
	p.Batch.Size = batch
	return p
}

func (c *subject) evaluate(batch int, out *estimate.Estimate) {
	if batch == c.Plan.Batch.Size {
		*out = c.Estimate
		return
	}
	p := c.withBatch(batch)
	c.evaluator.Evaluate(&p, out)
}

// mostSequences is the largest batch considered.
const mostSequences = 1 << 30

// usable returns the usable bytes of a processor that holds m besides the cache.
func (c *subject) usable(sys *hardware.System, m *estimate.Memory) float64 {
	pool := *c.answer.Deployment.Of(c.Phase)
	pool.System = sys
	return c.answer.Deployment.Usable(&pool, m)
}

// largestFitting returns the largest batch that fits in memory, or 0.
func (c *subject) largestFitting(sys *hardware.System) int {
	fits := func(batch int) bool {
		p := c.withBatch(batch)
		m := c.evaluator.MemoryOf(&p)
		return m.Total() <= c.usable(sys, &m)
	}
	return lastWith(1, mostSequences, fits)
}

// lastWith returns the last number in low..high for which holds is true, or low-1; holds is true up
// to some number and false beyond.
func lastWith(low, high int, holds func(int) bool) int {
	// Results are small compared with the range, so bracket them first.
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
