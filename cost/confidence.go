package cost

import (
	"throughline/kernel"
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
	t := p.kernels
	if t == nil {
		return plainErrors[o.Class], Estimated
	}
	m := t.modelOf(o)
	before := m.outside()
	ok := false
	if o.Class == op.Comm {
		_, ok = t.collective(o)
	} else {
		_, ok = t.seconds(o)
	}
	if !ok {
		return plainErrors[o.Class], Estimated
	}
	share, ok = t.set.Errors[m.kind+"."+m.key]
	if !ok {
		share = plainErrors[o.Class]
	}
	switch {
	case !t.own || t.set.MeasuredOn(m.kind, m.key) != t.set.System:
		return max(share, transferErrors[o.Class]), Estimated
	case m.outside() > before, t.narrowed && o.Class == op.Linear:
		return share, Fitted
	}
	return share, Measured
}

// model is a calibrated model: its kind and key, as a set names them, and its timers.
type model struct {
	kind, key string
	timers    []interface{ Outside() int }
}

// outside counts how often the model was asked about what lies beyond its range.
func (m *model) outside() (n int) {
	for _, t := range m.timers {
		n += t.Outside()
	}
	return n
}

// modelOf is the model that gives the time of an operator, if any does.
func (t *timers) modelOf(o *op.Op) model {
	of := func(kind, key string, timers ...interface{ Outside() int }) model { return model{kind, key, timers} }
	use := o.Kernels[0]
	if !t.has(use.Slot) {
		use = o.Kernels[1]
	}
	switch use.Slot {
	case kernel.Gemm:
		return of("gemm", t.matrixType, t.gemm)
	case kernel.GroupedGemm:
		return of("grouped_gemm", t.groupedType, t.grouped)
	case kernel.Experts:
		return of("experts", t.expertType, t.fused)
	case kernel.Absorb:
		return of("absorb", t.absorbType, t.absorb)
	case kernel.Decode:
		return of("decode", t.cacheType, t.decode)
	case kernel.LatentDecode:
		return of("latent_decode", t.cacheType, t.latent)
	case kernel.Prefill:
		return of("prefill", t.attentionType, t.prefill)
	case kernel.LatentPrefill:
		return of("latent_prefill", t.attentionType, t.latentPrefill)
	case kernel.LinearDecode, kernel.LinearPrefill:
		return of("linear_"+t.phaseKey, "gated_delta", t.linear)
	case kernel.ConvolutionDecode, kernel.ConvolutionPrefill:
		return of("convolution", t.phaseKey, t.convolution)
	case kernel.SiluMul:
		return of("elementwise", "silu_mul", t.gate)
	}
	if o.Class != op.Comm {
		return of("elementwise", "add_rmsnorm", t.norm)
	}
	if _, ok := t.exchange(o); ok {
		return of("exchange", o.Kind.String()+t.exchangeMode, t.dispatch, t.combine)
	}
	m := of("collective", o.Collective.Key())
	for _, c := range t.collectives[o.Collective] {
		m.timers = append(m.timers, c)
	}
	return m
}
