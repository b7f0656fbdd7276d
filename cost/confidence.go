package cost

import (
	"throughline/hardware/kernel"
	"throughline/op"
)

// plainErrors are the errors of a roofline at 0.8 of the peaks, as shares: the means over measured kernels of one H200
// (docs/calibration.md). Communication has been measured within a node only, where the network formula is off by 0.8 for
// the mix of sizes in the tables; large messages do better, so half of it stands for what deployments send.
var plainErrors = [op.ClassCount]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4}

// transferErrors are the errors of kernels that were measured on another chip of the kind, as shares: about the means
// between A100, H100 and B200 (docs/calibration.md, "Kernels carried over"). Element-wise kernels were measured on the
// H200 only; theirs is taken to be that of attention.
var transferErrors = [op.ClassCount]float64{op.Linear: 0.25, op.BMM: 0.4, op.Vector: 0.4, op.Comm: 0.4}

// Level says what a time rests on.
type Level uint8

const (
	Estimated Level = iota // peaks at a usual efficiency, or kernels measured on another chip
	Fitted                 // models of kernels measured on the chip, beyond what was measured
	Measured               // the same, within what was measured
	LevelCount
)

func (l Level) String() string { return [...]string{"estimated", "fitted", "measured"}[l] }

// ErrorOf is how far off the time of an operator may be, as a share, and what it rests on.
func (p *Pricer) ErrorOf(o *op.Op) (share float64, level Level) {
	k := &p.kernels
	if k.set == nil {
		return plainErrors[o.Class], Estimated
	}
	timing, b, shape := p.kernelOf(o)
	if timing == nil {
		return plainErrors[o.Class], Estimated
	}
	share, ok := k.set.Errors[b.Section+"."+b.Key]
	if !ok {
		share = plainErrors[o.Class]
	}
	switch {
	case !p.chipMeasured() || k.set.MeasuredOn(b.Section, b.Key) != k.set.System:
		return max(share, transferErrors[o.Class]), Estimated
	case b.Narrowed || timing.Beyond(shape):
		return share, Fitted
	}
	return share, Measured
}

// chipMeasured reports whether the kernels were measured on this chip. It is asked for every operator, and found out once.
func (p *Pricer) chipMeasured() bool {
	if p.own == nil {
		own := p.system.Has(p.kernels.set)
		p.own = &own
	}
	return *p.own
}

// kernelOf is the kernel that gives the time of an operator, nil where none does, and the shape that the operator has there.
// Communication between nodes rests on a formula where it was measured within a node only.
func (p *Pricer) kernelOf(o *op.Op) (kernel.Timing, *kernel.Binding, *kernel.Shape) {
	k := &p.kernels
	if o.Class == op.Comm {
		nodes, _ := p.net.Nodes(o.Members())
		t, b := k.sending(o, nodes)
		if t != nil && nodes > 1 && b.Nodes <= 1 {
			return nil, nil, nil
		}
		return t, b, &k.message
	}
	for _, u := range o.Kernels {
		if t, b := k.bound[o.Module%modulePlaces].For(u); t != nil {
			return t, b, &o.Shape
		}
	}
	return nil, nil, nil
}
