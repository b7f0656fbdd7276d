package point

import (
	"fmt"

	"throughline/cost"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/op"
)

// Energy is what a deployment draws while its clients are served, all its processors together
// unless said.
type Energy struct {
	Watts  float64 // of a processor, on average
	Idle   float64 // share of the time in which a processor waits for the host or for work
	Output float64 // joules of an output token, what its prompt and rests take included
	Input  float64 // joules of a prompt token in its step alone
	Origin string  // of the power of the systems: the least certain
}

// Spent is time and energy of a step on one processor under a power limit in watts, 0 for that of
// the system; false where the power of the system is not known, or the step was not examined.
func (r *Result) Spent(limit float64) (cost.Spent, bool) {
	p := r.Problem.System.Power
	if p == nil || len(r.Operators) == 0 {
		return cost.Spent{}, false
	}
	if limit == 0 {
		limit = p.Limit
	}
	works := estimate.Works(&r.Plan, r.Operators)
	efforts := make([]cost.Effort, len(works))
	for i := range works {
		efforts[i] = works[i].Effort(p)
	}
	return cost.Under(p, efforts, limit), true
}

// Energy of an answer under a power limit, 0 for that of each system. The error says why there is
// none.
func (a *Answer) Energy(limit float64) (*Energy, error) {
	if a.Seen == nil || len(a.Phases) < int(op.PhaseCount) {
		return nil, fmt.Errorf("nobody is served")
	}
	out := &Energy{}
	d := &a.Deployment
	idle := map[*hardware.System]float64{} // processors of a system that wait, on average
	for i := range d.Pools {
		idle[d.Pools[i].System] += float64(d.Pools[i].Procs())
	}
	total := 0.0
	for i := range a.Phases {
		r := &a.Phases[i]
		sys := r.Problem.System
		spent, ok := r.Spent(limit)
		if !ok {
			return nil, fmt.Errorf("%s has no block `power`: its watts are not known", sys.Name)
		}
		pool := d.Of(r.Phase)
		busy := min(1, a.Seen.Requests/(float64(pool.Count)*r.Estimate.Requests)) * float64(pool.Procs())
		idle[sys] -= busy
		total += busy * spent.Watts()
		if r.Phase == op.Prefill {
			out.Input = float64(r.Procs) * spent.Watts() / r.Estimate.Throughput
		}
		out.Origin = max(out.Origin, sys.Power.Origin) // by chance the alphabet goes from known to estimated
	}
	for sys, n := range idle {
		total += max(0, n) * sys.Power.On
		out.Idle += max(0, n) / float64(d.Procs())
	}
	out.Watts = total / float64(d.Procs())
	out.Output = total / (a.Seen.Requests * float64(a.Load.Lengths.Output))
	return out, nil
}
