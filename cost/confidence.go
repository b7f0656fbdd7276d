package cost

import "throughline/op"

// plainErrors are the errors of a roofline at 0.8 of the peaks, as shares: the means over measured kernels of one H200
// (docs/calibration.md). Communication has been measured within a node only, where the network formula is off by 0.8 for
// the mix of sizes in the tables; large messages do better, so half of it stands for what deployments send.
var plainErrors = [op.ClassCount]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4}

// transferErrors are the errors of kernels that were measured on another chip of the kind, as shares.
var transferErrors = [op.ClassCount]float64{op.Linear: 0.2, op.BMM: 0.3, op.Vector: 0.4, op.Comm: 0.4}

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
	t := p.kernels
	if t == nil {
		return plainErrors[o.Class], Estimated
	}
	ok := false
	if o.Class == op.Comm {
		_, ok = t.collective(o)
	} else {
		_, ok = t.seconds(o)
	}
	if !ok {
		return plainErrors[o.Class], Estimated
	}
	kind, numberType := t.kind(o)
	share, ok = t.set.Errors[kind]
	if !ok {
		share = plainErrors[o.Class]
	}
	if t.set.MeasuredOn(kind, numberType) != t.system {
		return max(share, transferErrors[o.Class]), Estimated
	}
	return share, Fitted
}

// kind is the kind of kernel that an operator runs and its number type, as a set names them.
func (t *timers) kind(o *op.Op) (kind, numberType string) {
	switch o.Kind {
	case op.ExpertGateUp, op.ExpertUp, op.ExpertDown:
		if t.inBlock {
			return "experts", t.expertType
		}
		return "grouped_gemm", t.matrixType
	case op.AbsorbQuery, op.AbsorbValue:
		if t.absorb != nil {
			return "absorb", t.absorbType
		}
		return "grouped_gemm", t.matrixType
	case op.ShortConvolution:
		if t.convolution != nil && t.phase == op.Decode {
			return "convolution", "decode"
		} else if t.convolution != nil {
			return "convolution", "prefill"
		}
	case op.LinearState:
		if t.phase == op.Decode {
			return "linear_decode", "gated_delta"
		}
		return "linear_prefill", "gated_delta"
	case op.FusedAttention:
		switch {
		case t.phase == op.Decode:
			return "decode", t.cacheType
		case o.Cache == 0 && t.latentPrefill != nil:
			return "latent_prefill", t.attentionType
		}
		return "prefill", t.attentionType
	case op.Scores, op.Values:
		return "latent_decode", t.cacheType
	case op.Dispatch, op.Combine:
		if _, ok := t.exchange(o); ok {
			return "exchange", ""
		}
	}
	switch o.Class {
	case op.Linear:
		return "gemm", t.matrixType
	case op.Comm:
		return "collective", o.Collective.Key()
	}
	return "elementwise", ""
}
