package op

import "throughline/hardware/kernel"

// latentAttention is multi-head latent attention (MLA): a token caches one latent vector and one
// rotary key, from which the keys and values of all heads follow.
func (s *stage) latentAttention() {
	a := s.attn
	heads := float64(a.Heads / s.plan.Attention.TP)
	rope, nope, value := float64(a.RopeDim), float64(a.NopeDim), float64(a.ValueDim)
	rank := float64(a.KVRank)

	if !s.allLatent() {
		s.norm(InputNorm, s.normTokens*s.hidden, s.hidden)
	}
	s.latents(heads*(nope+rope), rank+rope)
	s.norm(LatentNorm, s.tokens*rank, rank)
	s.unary(LatentSplit, s.tokens*(rank+rope), 1)
	if !s.assume.SmallKernels {
		s.unary(KeyRotate, s.tokens*rope, 1)
	}
	s.rotate(heads*rope, rope, rank+rope)
	if s.unfused() || s.sparseApart() { // set_mla_kv_buffer_triton of python/sglang/srt/mem_cache/memory_pool.py
		s.unary(CacheWrite, s.tokens*(rank+rope), 1)
	}
	s.growCache(rank + rope)
	s.ring(rank + rope)
	s.index()
	s.absorbed(heads, nope, rope, value, rank)
	s.expanded(heads, nope, rope, value, rank)
	s.outputGate(heads * value)
	s.output(heads * value)
	s.finishAttention()
}

// latents makes the queries of all heads and the latent vectors with rotary keys.
func (s *stage) latents(queries, latent float64) {
	r, joined := float64(s.attn.QueryRank), s.attn.QueryRank > 0 && s.joinsDown()
	scattered := s.scatteredLatents()
	tokens := s.tokens
	if scattered {
		tokens = s.normTokens
	} else {
		s.gather(AttentionGather, tokens*s.hidden)
	}
	s.quantiseNormed(QuantiseInput, tokens*s.hidden)
	switch {
	case joined:
		s.linear(QueryLatentDown, tokens, s.hidden, r+latent)
	case r > 0:
		s.linear(QueryDown, tokens, s.hidden, r)
	}
	if scattered {
		s.gather(AttentionGather, s.tokens*(r+latent))
	}
	if r > 0 {
		s.norm(QueryDownNorm, s.tokens*r, r)
		s.quantiseNormed(QuantiseQuery, s.tokens*r)
		s.linear(QueryUp, s.tokens, r, queries)
	} else {
		s.linear(QueryUp, s.tokens, s.hidden, queries)
	}
	if !joined {
		s.linear(LatentDown, s.tokens, s.hidden, latent)
	}
}

// joinsDown reports whether one product makes the narrow queries and latents, as in serving
// engines: fused_qkv_a_proj_with_mqa in python/sglang/srt/models/deepseek_v2.py, fused_qkv_a_proj
// in vllm/model_executor/models/deepseek_v2.py, kv_a_proj_with_mqa in
// tensorrt_llm/_torch/models/modeling_deepseekv3.py, which includes q_a_proj.
func (s *stage) joinsDown() bool { return s.assume.Engine && s.eager == nil }

// scatteredLatents reports whether each tensor-parallel rank makes the latents of its share of the
// tokens, which are gathered instead of the several times wider input:
// python/sglang/srt/layers/communicator.py, AttnTpContext (--enable-attn-tp-input-scattered). vLLM
// gathers behind the norm.
func (s *stage) scatteredLatents() bool {
	return s.sequenceParallel() && s.plan.LateGather && s.joinsDown() && s.attn.QueryRank > 0
}

// absorbs reports whether attention works on the latent cache itself. With an indexer every query
// has its own entries, which cannot be expanded together.
func (s *stage) absorbs(phase Phase) bool {
	return s.absorb[phase] || s.attn.IndexTopK > 0 && s.absorb[Decode]
}

// attendsLatent reports whether the sequences of a part do so: all of their phase, or short prompts
// as steps of decode.
func (s *stage) attendsLatent(p *part) bool {
	return s.absorbs(p.phase) || s.absorb[Decode] && p.tokens <= float64(s.plan.AbsorbedPrompt)*p.sequences
}

// absorbed folds the up-projections of keys and values into queries and outputs, so that one read
// of the latent cache serves all heads, as keys and as values.
func (s *stage) absorbed(heads, nope, rope, value, rank float64) {
	var tokens float64
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; s.attendsLatent(p) {
			tokens += p.tokens
		}
	}
	if tokens == 0 {
		return
	}
	if s.assume.LatentBookkeeping {
		s.unary(LatentUpSplit, heads*(nope+value)*rank, 1) // weights, once per layer, not per token
	}
	s.linears(AbsorbQuery, heads, tokens, tokens*heads, nope, rank)
	o := s.unary(QueryConcat, tokens*heads*(rank+rope), 1)
	if s.sparseApart() {
		o.Kernels = moving
		s.places(tokens)
	}
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; s.attendsLatent(p) {
			s.attendLatent(p, heads, rope, rank)
		}
	}
	s.linears(AbsorbValue, heads, tokens, tokens*heads, rank, value)
	if s.unfused() {
		s.unary(HeadsTranspose, tokens*heads*value, 1).Moved *= s.plan.Unfused.Transposed
	}
}

func (s *stage) attendLatent(p *part, heads, rope, rank float64) {
	// One kernel does all of the attention; it is charged to the scores.
	var kernels kernel.Uses
	if p.phase == Decode {
		kernels = kernel.Uses{{Slot: kernel.LatentDecode}}
	}
	scores := p.pairs * heads
	o := s.attending(Scores, AttentionMatrixUnit, p)
	o.Kernels = kernels
	o.Count, o.Heads, o.KVHeads, o.Value = p.sequences, int32(heads), 1, int32(rank)
	o.Flops = 2 * scores * (rank + rope)
	o.Activations = p.tokens * heads * (rank + rope) * s.r
	o.Cache = p.read * (rank + rope) * s.c
	o.Moved = o.Cache
	o.M, o.N, o.K = p.tokens, p.seen, rank+rope
	if !s.flash {
		o.Activations += scores * s.r
	}
	// Fused attention keeps scores on the chip; the reference tool counts them in decode.
	kept := s.flash && (p.phase == Prefill || !s.assume.LatentBookkeeping)
	if !kept {
		o.Output = scores * s.r
	}
	if s.assume.LatentBookkeeping || !s.flash {
		add := s.binary(ScoreAdd, scores)
		if kept {
			add.Output = 0
		}
	}
	s.softmax(scores, kernels)
	o = s.attending(Values, AttentionMatrixUnit, p)
	o.Kernels = within(kernels)
	o.Flops = 2 * scores * rank
	o.Activations = p.tokens * heads * rank * s.r
	o.Output = p.tokens * heads * rank * s.r
	o.M, o.N, o.K = p.tokens, rank, p.seen
	if !s.flash {
		o.Activations += scores * s.r
	}
}

// expanded expands the keys and values of all heads from the latent cache and attends as usual.
func (s *stage) expanded(heads, nope, rope, value, rank float64) {
	for i := range s.parts[:s.n] {
		p := &s.parts[i]
		if s.attendsLatent(p) {
			continue
		}
		keys := p.read
		s.quantise(QuantiseLatent, keys*rank)
		o := s.attending(LatentUp, MatrixUnit, p)
		o.Flops = 2 * keys * rank * heads * (nope + value)
		o.Weights = rank * heads * (nope + value) * s.formats[o.Module].Weight
		o.Resident = o.Weights
		o.Cache = keys * (rank + rope) * s.c
		o.Activations = keys * heads * (nope + value) * s.r
		o.Output = keys * heads * (nope + value) * s.r
		o.M, o.N, o.K = keys, heads*(nope+value), rank
		o.Count = 1
		s.unary(QueryConcat, p.tokens*heads*(nope+rope), 1)
		s.attend(AttentionMatrixUnit, p, &attention{
			heads: heads, kvHeads: heads, keyDim: nope + rope, valueDim: value,
			keyActivations:   keys * heads * (nope + rope) * s.r,
			valueActivations: keys * heads * value * s.r,
		})
	}
}
