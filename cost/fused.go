package cost

import (
	"throughline/hardware/kernel"
	"throughline/op"
)

// Use is the calibrated kernel that an operator runs in and its role; false where there is none.
func (p *Pricer) Use(o *op.Op) (kernel.Use, bool) {
	if p.kernels.set == nil {
		return kernel.Use{}, false
	}
	for _, u := range o.Kernels {
		if t, _ := p.kernels.timing(o.Module%modulePlaces, u); t != nil {
			return u, true
		}
	}
	return kernel.Use{}, false
}
