package cost

import "throughline/op"

// plainErrors are the errors of a roofline at 0.8 of the peaks, as shares: the means over measured kernels of one H200
// (docs/calibration.md). Communication has been measured within a node only, where the network formula is off by 0.8 for
// the mix of sizes in the tables; large messages do better, so half of it stands for what deployments send.
var plainErrors = [op.ClassCount]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4}

// transferErrors are the errors of kernels that were measured on another chip of the kind, as shares.
var transferErrors = [op.ClassCount]float64{op.Linear: 0.2, op.BMM: 0.3, op.Vector: 0.4, op.Comm: 0.4}

// ErrorOf is how far off the time of an operator may be, as a share, and whether a kernel that was calibrated on this
// chip gave it.
func (p *Pricer) ErrorOf(o *op.Op) (share float64, fitted bool) {
	t := p.kernels
	if t == nil {
		return plainErrors[o.Class], false
	}
	ok := false
	if o.Class == op.Comm {
		_, ok = t.collective(o)
	} else {
		_, ok = t.seconds(o)
	}
	if !ok {
		return plainErrors[o.Class], false
	}
	kind := t.kind(o)
	share, ok = t.set.Errors[kind]
	if !ok {
		share = plainErrors[o.Class]
	}
	if t.set.MeasuredOn(kind) != t.system {
		return max(share, transferErrors[o.Class]), false
	}
	return share, true
}

// kind is the kind of kernel that an operator runs, as the errors of a set name it.
func (t *timers) kind(o *op.Op) string {
	switch o.Kind {
	case op.ExpertGateUp, op.ExpertUp, op.ExpertDown, op.AbsorbQuery, op.AbsorbValue:
		if t.grouped == nil {
			return "experts"
		}
		return "grouped_gemm"
	case op.FusedAttention:
		switch {
		case t.phase == op.Decode:
			return "decode"
		case o.Cache == 0 && t.latentPrefill != nil:
			return "latent_prefill"
		}
		return "prefill"
	case op.Scores, op.Values:
		return "latent_decode"
	}
	switch o.Class {
	case op.Linear:
		return "gemm"
	case op.Comm:
		if o.Kind == op.Dispatch || o.Kind == op.Combine {
			if _, ok := t.exchange(o); ok {
				return "exchange"
			}
		}
		return "collective"
	}
	return "elementwise"
}
