package cost

import "throughline/op"

// Products is the part that products with weights have in the time of operators.
func (p *Pricer) Products(ops []op.Op) float64 {
	var t float64
	for i := range ops {
		if o := &ops[i]; o.Class == op.Linear {
			t += o.Repeat * p.unitTime(o)
		}
	}
	return t
}

// Computing is how long operators keep their units busy, one after another and each as often as it repeats. Communication
// is left out. This is the inner loop of every search.
func (p *Pricer) Computing(ops []op.Op) float64 {
	if p.eager != nil {
		return p.computingEagerly(ops)
	}
	var t float64
	if k := &p.kernels; k.set != nil {
		for i := range ops {
			o := &ops[i]
			if o.Class == op.Comm {
				continue
			}
			// Most run in the first of their kernels, as it was measured: calibrated without its call and its questions.
			m := o.Module % modulePlaces
			if first, b := k.bound[m].For(o.Kernels[0]); first != nil && !k.differ {
				t += o.Repeat * first.Seconds(&k.paces[m][b.Peak%peakPlaces], &o.Shape)
			} else {
				t += o.Repeat * p.calibrated(o)
			}
		}
		return t
	}
	if p.stepped || p.sum {
		for i := range ops {
			if o := &ops[i]; o.Class != op.Comm {
				t += o.Repeat * p.unitTime(o)
			}
		}
		return t
	}
	// A plain roofline: no calls.
	for i := range ops {
		o := &ops[i]
		if o.Class == op.Comm {
			continue
		}
		compute, memory := p.sides(o)
		if compute < memory {
			compute = memory
		}
		t += o.Repeat * compute
	}
	return t
}
