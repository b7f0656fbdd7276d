package cost

import "throughline/op"

// Computation fills in how long operators keep their units busy, and leaves communication alone. It is the inner loop of
// every search.
func (p *Pricer) Computation(ops []op.Op, out []Busy) {
	out = out[:len(ops)]
	if p.stepped || p.sum || p.kernels.bound != nil {
		for i := range ops {
			if o := &ops[i]; o.Class != op.Comm {
				compute, memory := p.steppedSides(o)
				out[i].Time, _ = p.time(o, compute, memory)
			}
		}
		return
	}
	// A plain roofline: no calls.
	for i := range ops {
		compute, memory := p.sides(&ops[i])
		if compute < memory {
			compute = memory
		}
		out[i].Time = compute
	}
}
