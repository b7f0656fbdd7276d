package op

import (
	"cmp"

	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/plan"
)

// What stands between the products of a layer, as serving engines fuse it. None of it is there without the assumption
// that small kernels take part.

// groupScale is the bytes of scales for an element that is quantised in groups of 128.
const groupScale = 4. / 128

// quantise makes n elements as narrow as the product behind reads them. What fuses it with a kernel for experts says so.
func (s *stage) quantise(k Kind, n float64) *Op {
	if !s.quantises {
		return nil
	}
	return s.quantiser(k, n)
}

// quantiser is the kernel that does so.
func (s *stage) quantiser(k Kind, n float64) *Op {
	o := s.add(k, VectorUnit)
	o.Flops = 2 * n // the largest of a group, and the division by it
	o.Activations = n * (s.r + s.a + groupScale)
	o.Output = n * s.a
	o.Moved = o.Activations
	return o
}

// quantiseNormed is the same of what a norm or an activation has just written: engines may have it write narrow numbers.
func (s *stage) quantiseNormed(k Kind, n float64) {
	if s.quantises && !s.plan.FusedQuantise {
		s.quantiser(k, n)
	}
}

// rotate gives queries and keys their rotary positions, q and k elements per token, and writes keys and values, kv together,
// to the cache.
func (s *stage) rotate(q, k, kv float64) {
	if !s.assume.SmallKernels || s.eager != nil && s.eager.of(Rotary, s.model.MLP == model.Gated).Kernels == 0 {
		return // positions are learned, and part of the embedding; the cache grows by itself
	}
	o := s.add(Rotary, VectorUnit)
	if s.phase == Decode && s.attn.Kind == model.Latent && s.absorbs(Decode) && !s.sparseApart() {
		o.Kernels = rotatingLatent
	}
	o.Flops = 3 * s.tokens * (q + k)
	o.Activations = s.tokens * (2*q + kv) * s.r
	o.Cache = s.tokens * kv * s.c
	o.Output = s.tokens * q * s.r
	o.Moved = o.Activations + o.Cache
}

// sparseApart reports whether sparse latent attention has small kernels of its own that are fused elsewhere.
func (s *stage) sparseApart() bool {
	return s.plan.SparseApart && s.assume.SmallKernels && s.attn.Kind == model.Latent && s.attn.IndexTopK > 0
}

// narrowIndex gives the queries and the key of an indexer their positions, makes both narrow and writes the key to its cache: three kernels at
// least, unless they are fused. vLLM has these and a norm of the key (vllm/model_executor/models/deepseek_v2.py, Indexer, and
// csrc/cache_kernels.cu, indexer_k_quant_and_cache); SGLang had more, and has one for the queries and one for the key since
// github.com/sgl-project/sglang/pull/27705.
func (s *stage) narrowIndex(heads, dim float64) {
	if !s.assume.SmallKernels || !s.assume.NarrowIndex {
		return
	}
	queries, keys := s.tokens*heads*dim, s.tokens*dim
	if !s.fusesIndex() && s.attn.Compress <= 1 {
		o := s.unary(IndexRotary, queries+keys, 3)
		if queries > 0 && s.latentIndex() {
			o.Repeat *= float64(max(1, s.plan.IndexKernels))
		}
	}
	if queries > 0 {
		o := s.add(IndexQuantise, VectorUnit)
		o.Flops = 2 * queries
		o.Output = queries * (1 + groupScale)
		o.Activations = queries*s.r + o.Output
		o.Moved = o.Activations
	}
	if s.attn.Compress > 1 { // the compressor has written the key; what was picked is looked up in the tables of blocks
		s.unary(IndexPlaces, s.tokens*float64(s.attn.IndexTopK), 1)
		return
	}
	o := s.add(IndexWrite, VectorUnit)
	o.Flops = 2 * keys
	o.Activations = keys * s.r
	o.Cache = keys * (1 + groupScale)
	o.Moved = o.Activations + o.Cache
}

// fusesIndex reports whether one kernel does all between the products of an indexer and the scores of its queries, and the key and the
// weights of the heads are one product of 16 bits.
func (s *stage) fusesIndex() bool {
	return s.plan.IndexFused && s.latentIndex() && s.assume.SmallKernels && s.assume.NarrowIndex
}

// latentIndex reports whether an indexer picks for latent attention, whose kernels engines say: those of DeepSeek-V3.2 and GLM-5. Indexers of
// compressed caches have kernels of their own.
func (s *stage) latentIndex() bool { return s.attn.Kind == model.Latent }

// choose picks the next token of each that is wanted.
func (s *stage) choose(wanted float64) {
	o := s.unary(Sampling, wanted*s.vocab(), softmaxFlops)
	if s.assume.SmallKernels {
		o.Kernels = sampling
		o.Rows, o.Moved = wanted, wanted*s.vocab()*s.r
	}
}

// route scores the experts for every token. In 32 bits, which no matrix unit multiplies in, tokens are made wide first: GateLinear in
// vllm/model_executor/layers/fused_moe/router/gate_linear.py of 0.25.1 (752a3a5), F.linear of weights in float32.
func (s *stage) route(experts float64) {
	if !s.plan.WideRouter || !s.model.WideRouter || !s.assume.SmallKernels {
		s.linear(Router, s.tokens, s.hidden, experts)
		return
	}
	const wide = 4
	s.unary(RouterWiden, s.tokens*s.hidden, 1).Moved = s.tokens * s.hidden * (s.r + wide)
	s.linear(Router, s.tokens, s.hidden, experts)
	o := s.list.last()
	o.Unit, o.Kernels = WideUnit, kernel.Uses{}
	o.Weights = s.hidden * experts * wide
	o.Resident = o.Weights
	o.Activations = s.tokens * (s.hidden + experts) * wide
}

// select picks the experts of every token.
func (s *stage) selectExperts(routed, topK float64) {
	o := s.unary(ExpertSelection, s.tokens*routed, softmaxFlops)
	if s.assume.SmallKernels {
		if o.Kernels = selecting; s.exchanges() {
			o.Kernels = selectingSent
		}
		o.Rows, o.Moved = s.tokens, s.tokens*(routed*s.r+topK*choice)
	}
}

// chooseCopies picks one of the copies of every expert that was chosen, at random. Engines have that compiled: SGLang since
// github.com/sgl-project/sglang/pull/7058 (_biased_grouped_topk_postprocess in python/sglang/srt/layers/moe/topk.py), vLLM in
// eplb_map_to_physical_and_record.
func (s *stage) chooseCopies(topK float64) {
	if !s.assume.SmallKernels || s.plan.Redundant == 0 {
		return
	}
	s.unary(ExpertCopies, s.tokens*topK, 1).Repeat *= float64(cmp.Or(s.plan.CopyKernels, compiledCopies))
}

// compiledCopies is the random numbers, and what follows from them.
const compiledCopies = 2

// unfused reports whether an engine that exchanges tokens runs small kernels besides, most of which later versions do without:
// forward_deepep and forward_absorb of python/sglang/srt/models/deepseek_v2.py in SGLang 0.4.6.
func (s *stage) unfused() bool {
	return s.assume.SmallKernels && s.plan.Unfused != (plan.Unfused{}) && s.exchanges()
}

// widenIndices makes the numbers of the experts that tokens go to as wide as the exchange wants them: topk_idx.to(torch.int64).
func (s *stage) widenIndices(topK float64) {
	if s.unfused() {
		const narrow, wide = 4, 8
		s.unary(ExpertIndices, s.tokens*topK, 1).Moved = s.tokens * topK * (narrow + wide)
	}
}

// transposeScales turns the scales of what goes down around, of all tokens that there is room for: of so many of each rank for each expert, whether
// they came or not (get_col_major_tma_aligned_tensor in forward_deepgemm_masked of ep_moe/layer.py).
func (s *stage) transposeScales(width float64) {
	if !s.unfused() || !s.quantises || s.phase != Decode {
		return
	}
	const block, scale = 128, 4 // elements of a scale, and its bytes
	rows := s.resident() * max(s.plan.Unfused.ScaleRows, s.cardTokens) * float64(s.plan.Experts.EP)
	o := s.unary(ScaleTranspose, rows*width/block, 1)
	o.Moved = s.plan.Unfused.Transposed * 2 * scale * rows * width / block
}

// sumShared adds what shared experts of their own made to what the others did: x.add_ in forward_deepep of
// python/sglang/srt/models/deepseek_v2.py, shared_output in vllm/model_executor/models/deepseek_v2.py.
func (s *stage) sumShared() {
	if s.assume.SmallKernels && s.sharedApart() {
		s.binary(SharedSum, s.sharedTokens()*s.hidden)
	}
}

// choice is the bytes of an expert that was chosen: its number and its weight.
const choice = 8

// sortRows brings the rows that experts see together: by their numbers, and by copies of tokens of the given width where
// they do not lie so already.
func (s *stage) sortRows(rows, width, topK float64) {
	if !s.assume.SmallKernels {
		return
	}
	tokens := rows / topK
	o := s.add(ExpertAlign, VectorUnit)
	o.Activations = 12 * rows // each number read twice and written
	o.Rows, o.Moved = tokens, o.Activations
	o = s.add(ExpertPermute, VectorUnit)
	o.Activations = (tokens + rows) * width * s.a
	o.Output = rows * width * s.a
	o.Moved = o.Activations
}

// deltaGates is the decay and the strength of every head, of 16 bits, made 32 wide.
func (s *stage) deltaGates(heads float64) {
	if !s.assume.SmallKernels {
		return
	}
	o := s.add(LinearGates, VectorUnit)
	o.Kernels = gating[s.phase]
	o.Flops = 8 * s.tokens * heads
	o.Activations = s.tokens * heads * (2*s.r + 8)
	o.Output = s.tokens * heads * 8
	o.Moved = o.Activations
}

// Kernels of the small operators. Blocks of experts contain what belongs to them.
var (
	// Tokens that an exchange sends are chosen for before it.
	selecting     = kernel.Uses{{Slot: kernel.Experts, Role: kernel.Routed}, {Slot: kernel.TopK}, moving[0]}
	selectingSent = kernel.Uses{{Slot: kernel.TopK}, moving[0]}
	gating        = [PhaseCount]kernel.Uses{
		Decode:  {{Slot: kernel.LinearDecode, Role: kernel.GatesMade}, {Slot: kernel.DeltaGates}, moving[0]},
		Prefill: {{Slot: kernel.LinearPrefill, Role: kernel.GatesMade}, {Slot: kernel.DeltaGates}, moving[0]},
	}
	sampling       = kernel.Uses{{Slot: kernel.ArgMax}, moving[0]}
	rotating       = kernel.Uses{{Slot: kernel.RopeCache}, moving[0]}
	rotatingLatent = kernel.Uses{{Slot: kernel.LatentDecode, Role: kernel.Rotated}, {Slot: kernel.RopeCache}, moving[0]}
	quantisingSent = kernel.Uses{{Slot: kernel.Quantise}, moving[0]}
	// The exchange for low latency quantises what it sends.
	sentQuantised = kernel.Uses{{Slot: kernel.DispatchLowLatency, Role: kernel.Within}, {Slot: kernel.Quantise}, moving[0]}
)
