package point

import (
	"fmt"

	"throughline/cost"
	"throughline/hardware"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/op"
)

// origins are those of the power of systems, from certain to least certain.
var origins = map[string]int{hardware.MeasuredPower: 0, "fitted": 1, "estimated": 2}

// energy of an answer under a power limit, 0 for that of each system; nil where nobody is served,
// or steps do not say what they draw.
func (a *Answer) energy(limit float64) *result.Energy {
	if a.Seen == nil || len(a.Phases) < int(op.PhaseCount) {
		return nil
	}
	out := &result.Energy{Origin: hardware.MeasuredPower, Limit: limit}
	d := &a.Deployment
	idle := map[*hardware.System]float64{} // processors of a system that wait, on average
	for i := range d.Pools {
		idle[d.Pools[i].System] += float64(d.Pools[i].Procs())
	}
	total := 0.0
	for i := range a.Phases {
		r := &a.Phases[i]
		pool := d.Of(r.Phase)
		if r.Drawn == nil {
			return nil
		}
		busy := min(1, a.Seen.Requests/(float64(pool.Count)*r.Estimate.Requests)) * float64(pool.Procs())
		idle[pool.System] -= busy
		total += busy * r.Drawn.Watts()
		if r.Phase == op.Prefill {
			out.Input = float64(r.Procs) * r.Drawn.Watts() / r.Estimate.Throughput
		}
		if p := pool.System.Power; limit == 0 {
			out.Limit = p.Limit
		}
		if o := pool.System.Power.Origin; origins[o] > origins[out.Origin] {
			out.Origin = o
		}
	}
	for sys, n := range idle {
		total += max(0, n) * sys.Power.On
		out.Idle += max(0, n) / float64(d.Procs())
	}
	out.Watts = total / float64(d.Procs())
	out.Output = total / (a.Seen.Requests * float64(a.Load.Lengths.Output))
	return out
}

// limited answers again on systems whose clocks fall as far as a power limit leads them, step by
// step of the answer without one. The first of several limits is the answer.
func (e *Estimator) limited(p *question.Question, free *Answer, limits []float64) (*Answer, error) {
	var delivered []float64 // clocks
	for i := range free.Phases {
		r := &free.Phases[i]
		if r.Drawn == nil {
			return nil, question.OfSetting("power-limit", fmt.Errorf("%s has no block `power`, so that it is not known how clocks follow", r.Problem.System.Name))
		}
		delivered = append(delivered, r.Drawn.Clock)
	}
	var out []Answer
	for _, limit := range limits {
		a, err := e.under(p, free, delivered, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, *a)
	}
	first := out[0]
	if len(out) > 1 {
		first.Limited = out
	}
	return &first, nil
}

// under is the answer under one limit, where steps run at some clocks without.
func (e *Estimator) under(p *question.Question, free *Answer, delivered []float64, limit float64) (*Answer, error) {
	l := *e.open(p).loaded
	same := l.Prefill == l.Decode
	l.Prefill = l.Prefill.Clone()
	if l.Decode = l.Decode.Clone(); same {
		l.Decode = l.Prefill
	}
	for i := range free.Phases {
		r := &free.Phases[i]
		r.Draw(r.Problem.System.Power, limit)
		compute, memory := cost.Kept(r.Problem.System.Power, r.Drawn.Clock, delivered[i])
		if r.Phase == op.Prefill {
			c := &l.Prefill.Clocked
			c.Compute.Prefill, c.Memory.Prefill = compute, memory
		} else {
			c := &l.Decode.Clocked
			c.Compute.Decode, c.Memory.Decode = compute, memory
		}
	}
	slow := newOpened(&l)
	out, err := e.serve(slow, p)
	if err != nil {
		return nil, err
	}
	if err := slow.steps(out, p, true); err != nil {
		return nil, err
	}
	for i := range out.Phases {
		out.Phases[i].Drawn = free.Phases[i].Drawn
		for j := range out.Phases[i].Operators {
			out.Phases[i].Operators[j].Joules = free.Phases[i].Operators[j].Joules
		}
	}
	out.Energy = out.energy(limit)
	return out, nil
}
