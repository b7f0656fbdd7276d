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
	gates := s.linearGates(heads, value)

	s.norm(InputNorm, s.normTokens*s.hidden, s.hidden)
	s.gather(AttentionGather, s.tokens*s.hidden)
	s.linearInputs(mixed, gates, heads)
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; a.Conv > 1 {
			s.unary(ShortConvolution, p.tokens*mixed, 2*float64(a.Conv)).Kernels = convolution[p.phase]
		}
	}
	s.widenGates(heads, value)
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
		if s.joinsStates() && s.amongPrompts(p) {
			o.Kernels = linearState[Prefill]
			o.Flops = max(p.tokens, kernel.Chunk*p.sequences) * heads * kernel.StateFlops(o.Gated, true, dim, value)
		}
	}
	s.stateNorm(heads, value)
	s.binary(AttentionGateMultiply, s.tokens*heads*value)
	s.output(heads * value)
	s.finishAttention()
}

// joinsStates reports whether kernels of prompts take the states of sequences that decode.
func (s *stage) joinsStates() bool {
	return s.plan.JoinedStates && s.attn.Kind == model.GatedDelta && s.attn.DecayRank == 0
}

// linearInputs makes queries, keys, values and gates: in one product, or in as many as an engine
// has, of which those of the gates of heads stay in 16 bits.
func (s *stage) linearInputs(mixed, gates, heads float64) {
	a := s.attn
	s.quantiseNormed(QuantiseInput, s.tokens*s.hidden)
	narrow := heads * float64(a.HeadGates())
	if s.plan.LinearInputs < 2 || a.Kind != model.GatedDelta || a.DecayRank > 0 || !s.assume.SmallKernels {
		s.linear(LinearInput, s.tokens, s.hidden, mixed+gates)
		return
	}
	if s.plan.LinearInputs == 2 {
		s.linear(LinearInput, s.tokens, s.hidden, mixed+gates-narrow)
		s.linear(LinearHeadGates, s.tokens, s.hidden, narrow)
		return
	}
	s.linear(LinearInput, s.tokens, s.hidden, mixed)
	s.quantiseNormed(QuantiseInput, s.tokens*s.hidden)
	s.linear(LinearInput, s.tokens, s.hidden, gates-narrow)
	for range a.HeadGates() {
		s.linear(LinearHeadGates, s.tokens, s.hidden, heads)
	}
}

// linearGates is what the input product makes of the gates: per head, per channel of the output, or
// ranks that tensor parallelism does not split and that a second product widens.
func (s *stage) linearGates(heads, value float64) (made float64) {
	a := s.attn
	made = heads * float64(a.HeadGates())
	if a.DecayRank > 0 {
		made = heads + float64(a.DecayRank)
	}
	if a.GateRank > 0 {
		return made + float64(a.GateRank)
	}
	return made + heads*value
}

// widenGates makes the gates that the input product left narrow, in channels and in bits.
func (s *stage) widenGates(heads, value float64) {
	a := s.attn
	if a.DecayRank > 0 {
		s.linear(LinearDecay, s.tokens, float64(a.DecayRank), heads*float64(a.HeadDim))
	}
	if a.GateRank > 0 {
		s.linear(LinearGate, s.tokens, float64(a.GateRank), heads*value)
	}
	if a.Kind == model.GatedDelta {
		s.deltaGates(heads * float64(a.HeadGates()))
	}
}

// stateNorm normalises what a state returns: by head, in a state space by group of heads.
func (s *stage) stateNorm(heads, value float64) {
	if s.attn.Kind != model.Mamba {
		s.norm(LinearNorm, s.tokens*heads*value, value)
		return
	}
	group := heads * value / float64(s.attn.KVHeadsPerRank(s.plan.Attention.TP))
	s.norm(LinearNorm, s.tokens*heads*value, group)
	o := s.list.last()
	o.Weights, o.Resident = heads*value*s.w, heads*value*s.w
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
