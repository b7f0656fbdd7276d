package cost

import (
	"throughline/hardware/kernel"
	"throughline/op"
)

// Use is the kernel that an operator runs in and its part there; false where it is priced without a calibrated one.
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
