package cost

import (
	"math"

	"throughline/hardware/kernel"
	"throughline/hardware/shape"
	"throughline/op"
)

// plainErrors are the errors of a roofline at 0.8 of the peaks, as shares: means over measured
// kernels of one H200 (docs/calibration.md). Within a node the network formula is off by 0.8 over
// the sizes in the tables; half of that stands for the large messages of deployments.
var plainErrors = [op.ClassCount]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4}

// transferErrors are the errors of kernels measured on another chip, as shares: about the means
// between A100, H100 and B200 (docs/calibration.md, "Kernels carried over"). Element-wise kernels
// were measured on the H200 only; they are taken to err like attention.
var transferErrors = [op.ClassCount]float64{op.Linear: 0.25, op.BMM: 0.4, op.Vector: 0.4, op.Comm: 0.4}

// Over products, attention and experts in docs/calibration.md, a model errs 0.87 times as much on
// shapes of its fit as on others (median of 126), and 1.25 times as much on the largest tenth of
// the work, fitted to the rest (upper quartile; the median is 1).
const (
	onShape = 0.87
	beyond  = 1.25
)

// stretched is the error of latent attention priced by the kernel of grouped attention: that of
// Triton on an L40S (docs/calibration.md, "Attention by backend").
const stretched = 0.5

// Level is what a time rests on, weakest first.
type Level uint8

const (
	Estimated    Level = iota // peaks at a usual efficiency, or kernels measured on another chip
	Extrapolated              // models of kernels measured on the chip, beyond the measured shapes
	Fitted                    // the same, between measured shapes
	Measured                  // the same, at a measured shape
	LevelCount
)

func (l Level) String() string {
	return [...]string{"estimated", "extrapolated", "fitted", "measured"}[l]
}

// common is the part of a kernel's mean error that all its shapes share; errors of single shapes
// mostly cancel among the products of a model. Chosen from 0, 0.3, 0.6 and 1, with widths from half
// of the groups of serving runs at a time: up to 0.6 bands suit the other half about as well, at 1
// worse. A roofline, and kernels of another maker's chip, miss all shapes alike.
const common = 0.5

// ErrorOf returns the error of an operator's time, as a share, and what the time rests on.
func (p *Pricer) ErrorOf(o *op.Op) (share float64, level Level) {
	share, _, level = p.doubt(o)
	return share, level
}

// CommonError returns the part of that error that operators in kernels of the kind share.
func (p *Pricer) CommonError(o *op.Op) (share float64, level Level) {
	share, part, level := p.doubt(o)
	return part * share, level
}

// doubt returns the error of an operator's time, the part common to all shapes, and its level.
func (p *Pricer) doubt(o *op.Op) (share, part float64, level Level) {
	k := &p.kernels
	if k.set == nil {
		return plainErrors[o.Class], 1, Estimated
	}
	timing, b, s, role := p.kernelOf(o)
	if timing == nil {
		return plainErrors[o.Class], 1, Estimated
	}
	share, ok := k.set.Errors[b.Section+"."+b.Key]
	if !ok {
		share = plainErrors[o.Class]
	}
	switch {
	case k.slower:
		return max(beyond*share, transferErrors[o.Class]), 1, Estimated
	case !p.chipMeasured() || k.set.MeasuredOn(b.Section, b.Key) != k.set.System:
		return max(beyond*share, transferErrors[o.Class]), common, Estimated
	case b.StandsIn: // for a kernel that was not measured
		return max(beyond*share, transferErrors[o.Class]), common, Estimated
	case b.Stretched:
		return max(beyond*share, stretched), common, Extrapolated
	case b.Narrowed || timing.Beyond(s) || !math.IsInf(k.byLibrary(o, o.Kernels[0]), 1) || k.byBlockKernels(o, o.Kernels[0]) > 0:
		return beyond * share, common, Extrapolated
	case role == kernel.Whole && shape.Measured(k.set, b.Section, b.Key, s):
		return onShape * share, common, Measured
	}
	return share, common, Fitted
}

// chipMeasured reports whether the kernels were measured on this chip, which it caches.
func (p *Pricer) chipMeasured() bool {
	if p.own == nil {
		own := p.system.Has(p.kernels.set)
		p.own = &own
	}
	return *p.own
}

// kernelOf returns the kernel that prices an operator, if any, the shape it has there and its role.
// Communication between nodes rests on a formula where it was measured within a node only.
func (p *Pricer) kernelOf(o *op.Op) (kernel.Timing, *kernel.Binding, *kernel.Shape, kernel.Role) {
	k := &p.kernels
	if o.Class == op.Comm {
		nodes, _ := p.net.Nodes(o.Members())
		t, b := k.sending(p.asTimed(o), nodes)
		if t != nil && nodes > 1 && b.Nodes <= 1 {
			return nil, nil, nil, 0
		}
		return t, b, &k.message, kernel.Whole
	}
	for _, u := range o.Kernels {
		if t, b := k.timing(o.Module%modulePlaces, u); t != nil {
			return t, b, &o.Shape, u.Role
		}
	}
	return nil, nil, nil, 0
}
