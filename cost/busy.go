package cost

import "throughline/op"

// Products is the time of products with weights among operators.
func (p *Pricer) Products(ops []op.Op) float64 {
	var t float64
	for i := range ops {
		if o := &ops[i]; o.Class == op.Linear {
			t += o.Repeat * p.Time(o)
		}
	}
	return t
}

// Computing is the time of operators but communication. This is the inner loop of every search.
func (p *Pricer) Computing(ops []op.Op) float64 {
	if p.eager != nil || p.longer > 0 {
		return p.computingOneByOne(ops)
	}
	var t float64
	if k := &p.kernels; k.set != nil {
		for i := range ops {
			o := &ops[i]
			if o.Class == op.Comm {
				continue
			}
			// The common case, calibrated inlined: the first kernel is measured and unchanged.
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
	// A plain roofline, inlined.
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
