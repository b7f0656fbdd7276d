package cost

import (
	"throughline/hardware"
	"throughline/kernel"
	"throughline/op"
	"throughline/plan"
)

// timers are the calibrated models of the kernels that a deployment runs, at the peaks of its system. A nil one is not
// calibrated; its operators keep the roofline.
type timers struct {
	gemm    [unitPlaces]*kernel.GemmTimer
	grouped *kernel.GroupedGemmTimer
	fused   *kernel.GroupedGemmTimer // a whole expert block in one kernel
	decode  *kernel.DecodeTimer
	latent  *kernel.DecodeTimer
	prefill *kernel.PrefillTimer
	norm    *kernel.CurveTimer
	gate    *kernel.CurveTimer

	allReduce     *kernel.CollectiveTimer
	allReduceSpan int // processors of the network that it was measured on

	errors                  map[string]float64
	phase                   op.Phase
	sustained               float64 // times grow by this in a prefill
	cacheBytes, weightBytes float64
	weightsOverActivations  float64 // bytes of an element
}

// newTimers prepares the kernels of a system that has calibrated ones.
func newTimers(s *hardware.System, prec *plan.Precision, flopsPerTFlop, bytesPerGB float64, phase op.Phase) *timers {
	set := s.Kernels
	if set == nil {
		return nil
	}
	bandwidth := s.Memory.GBps * bytesPerGB
	rate := func(numberType string) float64 { return s.Matrix[numberType].TFlops * flopsPerTFlop }
	t := &timers{phase: phase, cacheBytes: prec.Cache, weightBytes: prec.Weight, weightsOverActivations: prec.Weight / prec.Activation,
		sustained: 1, errors: set.Errors}
	if phase == op.Prefill && set.Sustained > 0 {
		t.sustained = 1 / set.Sustained
	}
	// The loader has checked the models, and rates and bandwidths are positive: preparing them cannot fail.
	if m := typed(set.Gemm, prec.MatrixType); m != nil {
		t.gemm[op.MatrixUnit], _ = m.At(rate(prec.MatrixType), bandwidth)
	}
	if m := typed(set.GroupedGemm, prec.MatrixType); m != nil {
		t.grouped, _ = m.At(rate(prec.MatrixType), bandwidth)
	}
	if m := typed(set.Experts, prec.MatrixType); m != nil {
		t.fused, _ = m.At(rate(prec.MatrixType), bandwidth)
	}
	if m := set.Collective["all_reduce"]; m != nil {
		t.allReduce, _ = m.At(s.Networks[0].Bandwidth * bytesPerGB)
		t.allReduceSpan = s.Networks[0].Size
	}
	cacheType := map[float64]string{1: "float8", 2: "bfloat16"}[prec.Cache]
	if m := typed(set.Decode, cacheType); m != nil {
		t.decode, _ = m.At(rate(prec.AttentionType), bandwidth)
	}
	if m := typed(set.LatentDecode, cacheType); m != nil {
		t.latent, _ = m.At(rate(prec.AttentionType), bandwidth)
	}
	if m := typed(set.Prefill, prec.AttentionType); m != nil {
		t.prefill, _ = m.At(rate(prec.AttentionType), bandwidth)
	}
	if m := set.Elementwise["add_rmsnorm"]; m != nil {
		t.norm, _ = m.At(bandwidth)
	}
	if m := set.Elementwise["silu_mul"]; m != nil {
		t.gate, _ = m.At(bandwidth)
	}
	return t
}

// typed finds the model for a number type. The two 16-bit types run alike.
func typed[M any](models map[string]*M, numberType string) *M {
	if m := models[numberType]; m != nil {
		return m
	}
	return models[map[string]string{"float16": "bfloat16", "bfloat16": "float16"}[numberType]]
}

// seconds is the time of an operator as its kernel takes it; false where no kernel of its kind is calibrated.
//
// Engines fuse what the operators list one by one: residuals with the norm behind them, the gate with its
// multiplication, softmax and the two products of attention. The fused kernel is charged to the first of them, the
// others add their bytes or nothing, but no latency of their own.
func (t *timers) seconds(o *op.Op) (float64, bool) {
	switch o.Kind {
	case op.Softmax, op.GateMultiply, op.ExpertGateMultiply:
		return 0, t.gate != nil || o.Kind == op.ExpertGateMultiply && t.grouped == nil && t.fused != nil
	case op.Activation, op.ExpertActivation:
		if o.Kind == op.ExpertActivation && t.grouped == nil && t.fused != nil {
			return 0, true
		}
		if t.gate == nil {
			return 0, false
		}
		return t.gate.Seconds(1, 1.5*o.Bytes()), true // two inputs and one output, of which the operator counts two
	case op.ExpertGateUp, op.ExpertUp, op.ExpertDown, op.AbsorbQuery, op.AbsorbValue:
		matrices := o.Weights / (o.N * o.K * t.weightBytes)
		if t.grouped == nil {
			return t.block(o, matrices)
		}
		return t.sustained * t.grouped.Seconds(matrices, o.M, o.N, o.K), true
	case op.FusedAttention:
		return t.attention(o)
	case op.Scores:
		if t.latent == nil || t.phase != op.Decode || o.Cache == 0 {
			return 0, false
		}
		heads := o.Flops / (2 * o.M * o.N * o.K)
		return t.latent.Seconds(o.M, o.N, kernel.Heads{Query: heads, KV: 1, Key: o.K, Value: o.K - 64}, o.K*t.cacheBytes), true
	case op.Values:
		return 0, t.latent != nil && t.phase == op.Decode
	}
	switch {
	case o.Class == op.Linear && o.Unit == op.MatrixUnit && t.gemm[op.MatrixUnit] != nil:
		return t.sustained * t.gemm[op.MatrixUnit].Seconds(o.M, o.N, o.K), true
	case o.Class == op.Vector && t.norm != nil:
		if o.Weights == 0 || o.Output == 0 {
			return t.norm.Beside(o.Bytes()), true // not a norm, but fused with one
		}
		rows := o.Output / o.Weights * t.weightsOverActivations // the weights are as wide as a row
		return t.norm.Seconds(rows, o.Bytes()/rows), true
	}
	return 0, false
}

// block is an expert block in one kernel: the products up stand for all of it.
func (t *timers) block(o *op.Op, matrices float64) (float64, bool) {
	inner := o.N
	switch {
	case t.fused == nil || o.Kind == op.AbsorbQuery || o.Kind == op.AbsorbValue:
		return 0, false
	case o.Kind == op.ExpertDown:
		return 0, true
	case o.Kind == op.ExpertGateUp:
		inner /= 2
	}
	return t.sustained * t.fused.Block(matrices, o.M, o.K, o.N, inner), true
}

// attention is fused attention of grouped heads with keys and values of one width.
func (t *timers) attention(o *op.Op) (float64, bool) {
	heads := o.Flops / (4 * o.M * o.N * o.K)
	if t.phase == op.Decode {
		if t.decode == nil {
			return 0, false
		}
		tokenBytes := 2 * o.K * t.cacheBytes
		kv := o.Cache / (o.M * o.N * tokenBytes)
		return t.decode.Seconds(o.M, o.N, kernel.Heads{Query: heads, KV: kv, Key: o.K, Value: o.K}, tokenBytes), true
	}
	if t.prefill == nil || o.Sequences == 0 {
		return 0, false
	}
	// A token sees what came before the new ones, and half of those.
	batch := float64(o.Sequences)
	tokens := o.M / batch
	past := max(0, o.N-(tokens+1)/2)
	kv := o.Cache / (batch * (tokens + past) * 2 * o.K * t.cacheBytes)
	return t.sustained * t.prefill.Seconds(batch, tokens, past, kernel.Heads{Query: heads, KV: kv, Key: o.K, Value: o.K}), true
}
