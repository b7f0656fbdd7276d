package cost

import "throughline/op"

// plainErrors are the errors of a roofline at 0.8 of the peaks, as shares: the means over measured kernels of one H200
// (docs/calibration.md). Communication has been measured within a node only, where the network formula is off by 0.8 for
// the mix of sizes in the tables; large messages do better, so half of it stands for what deployments send.
var plainErrors = [op.ClassCount]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4}

// ErrorOf is how far off the time of an operator may be, as a share, and whether a calibrated kernel gave it.
func (p *Pricer) ErrorOf(o *op.Op) (share float64, fitted bool) {
	if p.kernels == nil {
		return plainErrors[o.Class], false
	}
	if o.Class == op.Comm {
		if k := p.kernels; k.allReduce != nil && int(o.Span) <= k.allReduceSpan && o.Kind.Traffic() == op.TensorTraffic {
			return k.error("collective", plainErrors[op.Comm]), true
		}
		return plainErrors[op.Comm], false
	}
	if _, ok := p.kernels.seconds(o); !ok {
		return plainErrors[o.Class], false
	}
	return p.kernels.error(p.kernels.kind(o), plainErrors[o.Class]), true
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
		if t.phase == op.Prefill {
			return "prefill"
		}
		return "decode"
	case op.Scores, op.Values:
		return "latent_decode"
	}
	if o.Class == op.Linear {
		return "gemm"
	}
	return "elementwise"
}

// error is the error of a kind of kernel, or another where the set does not tell.
func (t *timers) error(kind string, otherwise float64) float64 {
	if e, ok := t.errors[kind]; ok {
		return e
	}
	return otherwise
}
