package op

import "throughline/model"

// chunk is the tokens that linear attention treats together in a prefill, as its published kernels do.
const chunk = 64

// linearAttention keeps, instead of a cache, one state matrix per head and sequence, which every token reads and
// changes. The gated delta rule first takes out of the state what it holds for the key of the token.
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
	s.linear(LinearInput, s.tokens, s.hidden, mixed+gates)
	if a.Conv > 1 {
		s.unary(ShortConvolution, s.tokens*mixed, 2*float64(a.Conv))
	}
	s.handOn(s.sequences * a.State(tp))
	o := s.add(LinearState, AttentionMatrixUnit)
	o.Sequences, o.Heads, o.KVHeads = int32(s.sequences), int32(heads), int32(a.KVHeadsPerRank(tp))
	o.Flops = s.tokens * heads * StateFlops(a.Kind == model.GatedDelta, s.phase, dim, value)
	o.Activations = s.tokens * (mixed + heads*value) * s.a
	o.Cache = 2 * s.sequences * a.State(tp) // read and written
	o.Output = s.tokens * heads * value * s.a
	o.M, o.N, o.K = s.tokens, value, dim
	s.norm(LinearNorm, s.tokens*heads*value, value)
	s.binary(AttentionGateMultiply, s.tokens*heads*value)
	s.output(heads * value)
	s.finishAttention()
}

// StateFlops is the operations of linear attention per token and head.
func StateFlops(gatedDelta bool, phase Phase, key, value float64) float64 {
	perState := 4.0            // per element of the state: two for the update, two for the reading
	inChunk := 2*key + 2*value // per pair of tokens of a chunk: their score, and its part of the result
	if gatedDelta {
		perState += 2              // to take out what the state holds
		inChunk += 4*key + 2*value // keys against keys, and what that takes out of keys and of values
	}
	if phase == Prefill {
		// Within a chunk tokens attend to each other as in ordinary attention; the state is read and changed once per chunk,
		// which takes as many operations as token by token.
		return perState*key*value + chunk*inChunk
	}
	return perState * key * value
}
