package op

import (
	"throughline/hardware/kernel"
	"throughline/model"
)

// Kernels of linear attention by phase.
var (
	linearState = [PhaseCount]kernel.Uses{Decode: {{Slot: kernel.LinearDecode}}, Prefill: {{Slot: kernel.LinearPrefill}}}
	convolution = [PhaseCount]kernel.Uses{
		Decode:  {{Slot: kernel.ConvolutionDecode}, moving[0]},
		Prefill: {{Slot: kernel.ConvolutionPrefill}, moving[0]},
	}
)

// linearAttention keeps one state matrix per head and sequence instead of a cache. The gated delta
// rule first removes what the state holds for the token's key.
func (s *stage) linearAttention() {
	a := s.attn
	tp := s.plan.Attention.TP
	heads := float64(max(1, a.Heads/tp))
	dim, value := float64(a.HeadDim), float64(a.ValueSize())
	mixed := 2*float64(a.KVHeadsPerRank(tp))*dim + heads*value // queries, keys and values
	gates := heads * value
	if a.Kind == model.GatedDelta {
		gates += 2 * heads // decay and strength of every head
	}

	s.norm(InputNorm, s.normTokens*s.hidden, s.hidden)
	s.gather(AttentionGather, s.tokens*s.hidden)
	s.quantiseNormed(QuantiseInput, s.tokens*s.hidden)
	s.linear(LinearInput, s.tokens, s.hidden, mixed+gates)
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; a.Conv > 1 {
			s.unary(ShortConvolution, p.tokens*mixed, 2*float64(a.Conv)).Kernels = convolution[p.phase]
		}
	}
	if a.Kind == model.GatedDelta {
		s.deltaGates(heads)
	}
	s.handOn((s.step[Decode].Sequences + s.step[Prefill].Sequences) * a.State(tp))
	for i := range s.parts[:s.n] {
		p := &s.parts[i]
		o := s.attending(LinearState, AttentionMatrixUnit, p)
		o.Kernels = linearState[p.phase]
		o.Count, o.Heads, o.KVHeads, o.Gated = p.sequences, int32(heads), int32(a.KVHeadsPerRank(tp)), a.Kind == model.GatedDelta
		o.Flops = p.tokens * heads * kernel.StateFlops(o.Gated, p.phase == Prefill, dim, value)
		o.Activations = p.tokens * (mixed + heads*value) * s.r
		o.Cache = 2 * p.sequences * a.State(tp) // read and written
		o.Output = p.tokens * heads * value * s.r
		o.M, o.N, o.K = p.tokens, value, dim
	}
	s.norm(LinearNorm, s.tokens*heads*value, value)
	s.binary(AttentionGateMultiply, s.tokens*heads*value)
	s.output(heads * value)
	s.finishAttention()
}

// shortConvolution replaces attention by a gated convolution over a few neighbouring tokens.
func (s *stage) shortConvolution() {
	a := s.attn
	tp := s.plan.Attention.TP
	width := float64(max(1, a.Heads/tp)) * float64(a.HeadDim)

	s.norm(InputNorm, s.normTokens*s.hidden, s.hidden)
	s.gather(AttentionGather, s.tokens*s.hidden)
	s.quantiseNormed(QuantiseInput, s.tokens*s.hidden)
	s.linear(LinearInput, s.tokens, s.hidden, 3*width)
	s.binary(AttentionGateMultiply, s.tokens*width)
	s.handOn((s.step[Decode].Sequences + s.step[Prefill].Sequences) * a.State(tp))
	for i := range s.parts[:s.n] {
		p := &s.parts[i]
		s.unary(ShortConvolution, p.tokens*width, 2*float64(a.Conv)).Kernels = convolution[p.phase]
	}
	s.binary(AttentionGateMultiply, s.tokens*width)
	s.output(width)
	s.finishAttention()
}
