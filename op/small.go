package op

import (
	"cmp"

	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/plan"
)

// Small kernels between the products of a layer, as serving engines fuse them, where assumed.

// groupScale is the bytes of scales per element quantised in groups of 128.
const groupScale = 4. / 128

// quantise narrows n elements for the next product, unless an expert kernel does so itself.
func (s *stage) quantise(k Kind, n float64) *Op {
	if !s.quantises {
		return nil
	}
	return s.quantiser(k, n)
}

// quantiser is the kernel that quantises.
func (s *stage) quantiser(k Kind, n float64) *Op {
	o := s.add(k, VectorUnit)
	o.Flops = 2 * n // maximum of a group, and division by it
	o.Activations = n * (s.r + s.a + groupScale)
	o.Output = n * s.a
	o.Moved = o.Activations
	return o
}

// quantiseNormed quantises behind a norm or an activation, which engines may fuse it with.
func (s *stage) quantiseNormed(k Kind, n float64) {
	if s.quantises && !s.plan.FusedQuantise {
		s.quantiser(k, n)
	}
}

// rotate applies rotary positions to queries and keys and writes keys and values to the cache.
func (s *stage) rotate(q, k, kv float64) {
	if !s.assume.SmallKernels || s.eager != nil && s.eager.of(Rotary, s.model.MLP == model.Gated).Kernels == 0 {
		return // positions are learned and part of the embedding; the cache grows by itself
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

// sparseApart reports whether sparse latent attention runs small kernels that are fused elsewhere.
func (s *stage) sparseApart() bool {
	return s.plan.SparseApart && s.assume.SmallKernels && s.attn.Kind == model.Latent && s.attn.IndexTopK > 0
}

// narrowIndex applies positions to an indexer's queries and key, quantises both and caches the key,
// in three kernels or one. vLLM has these and a norm of the key
// (vllm/model_executor/models/deepseek_v2.py, Indexer, and csrc/cache_kernels.cu,
// indexer_k_quant_and_cache); SGLang had more before github.com/sgl-project/sglang/pull/27705.
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
	if s.attn.Compress > 1 { // the compressor has written the key; picked entries go through block tables
		s.unary(IndexPlaces, s.tokens*float64(s.attn.IndexTopK), 1)
		return
	}
	o := s.add(IndexWrite, VectorUnit)
	o.Flops = 2 * keys
	o.Activations = keys * s.r
	o.Cache = keys * (1 + groupScale)
	o.Moved = o.Activations + o.Cache
}

// placesTile is the picked entries that one block looks up the places of, of place bytes each.
const (
	placesTile = 128
	place      = 4
)

// places turns picked entries into their places in the cache, one 32-bit number for another, in
// Count blocks (triton_convert_req_index_to_global_index in
// vllm/v1/attention/backends/mla/sparse_utils.py).
func (s *stage) places(tokens float64) {
	picked := float64(s.attn.IndexTopK)
	o := s.unary(IndexPlaces, tokens*picked, 1)
	o.Kernels, o.Count = kernel.Uses{}, tokens*roundUp(picked/placesTile)
	o.Activations = 2 * tokens * picked * place
	o.Moved = o.Activations
}

// fusesIndex reports whether one kernel does everything between an indexer's products and its
// scores, with key and head weights made by one 16-bit product.
func (s *stage) fusesIndex() bool {
	return s.plan.IndexFused && s.latentIndex() && s.assume.SmallKernels && s.assume.NarrowIndex
}

// latentIndex reports whether an indexer serves latent attention, as in DeepSeek-V3.2 and GLM-5.
// Indexers of compressed caches have other kernels.
func (s *stage) latentIndex() bool { return s.attn.Kind == model.Latent }

// choose samples the next token of each sequence that needs one.
func (s *stage) choose(wanted float64) {
	o := s.unary(Sampling, wanted*s.vocab(), softmaxFlops)
	if s.assume.SmallKernels {
		o.Kernels = sampling
		o.Rows, o.Moved = wanted, wanted*s.vocab()*s.r
	}
}

// route scores the experts for every token; few tokens may have a kernel of the engine's own (Count
// 0). A router in 32 bits uses no matrix units, and its tokens are widened first: GateLinear in
// vllm/model_executor/layers/fused_moe/router/gate_linear.py of 0.25.1 (752a3a5), F.linear of
// weights in float32.
func (s *stage) route(experts float64) {
	if !s.plan.WideRouter || !s.model.WideRouter || !s.assume.SmallKernels {
		s.linear(Router, s.tokens, s.hidden, experts)
		if s.assume.SmallKernels && s.tokens <= float64(s.plan.FewRouted) {
			o := s.list.last()
			o.Kernels, o.Count = kernel.Uses{}, 0
		}
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

func (s *stage) selectExperts(routed, topK float64) {
	o := s.unary(ExpertSelection, s.tokens*routed, softmaxFlops)
	if s.assume.SmallKernels {
		if o.Kernels = selecting; s.exchanges() {
			o.Kernels = selectingSent
		}
		o.Rows, o.Moved = s.tokens, s.tokens*(routed*s.r+topK*choice)
	}
}

// chooseCopies picks a random copy of every chosen expert, in compiled code: SGLang since
// github.com/sgl-project/sglang/pull/7058 (_biased_grouped_topk_postprocess in
// python/sglang/srt/layers/moe/topk.py), vLLM in eplb_map_to_physical_and_record.
func (s *stage) chooseCopies(topK float64) {
	if !s.assume.SmallKernels || s.plan.Redundant == 0 {
		return
	}
	s.unary(ExpertCopies, s.tokens*topK, 1).Repeat *= float64(cmp.Or(s.plan.CopyKernels, compiledCopies))
}

// compiledCopies is two kernels: random numbers, and what follows from them.
const compiledCopies = 2

// unfused reports whether an exchanging engine runs small kernels that later versions fuse, as in
// forward_deepep and forward_absorb of python/sglang/srt/models/deepseek_v2.py in SGLang 0.4.6.
func (s *stage) unfused() bool {
	return s.assume.SmallKernels && s.plan.Unfused != (plan.Unfused{}) && s.exchanges()
}

// widenIndices widens expert indices for the exchange: topk_idx.to(torch.int64).
func (s *stage) widenIndices(topK float64) {
	if s.unfused() {
		const narrow, wide = 4, 8
		s.unary(ExpertIndices, s.tokens*topK, 1).Moved = s.tokens * topK * (narrow + wide)
	}
}

// transposeScales transposes the scales of the down-projection's input for the whole buffer, used
// or not (get_col_major_tma_aligned_tensor in forward_deepgemm_masked of ep_moe/layer.py).
func (s *stage) transposeScales(width float64) {
	if !s.unfused() || !s.quantises || s.phase != Decode {
		return
	}
	const block, scale = 128, 4 // elements per scale, and its bytes
	rows := s.resident() * max(s.plan.Unfused.ScaleRows, s.cardTokens) * float64(s.plan.Experts.EP)
	o := s.unary(ScaleTranspose, rows*width/block, 1)
	o.Moved = s.plan.Unfused.Transposed * 2 * scale * rows * width / block
}

// sumShared adds the results of separate shared experts to those of the routed ones: x.add_ in
// forward_deepep of python/sglang/srt/models/deepseek_v2.py, shared_output in
// vllm/model_executor/models/deepseek_v2.py.
func (s *stage) sumShared() {
	if s.assume.SmallKernels && s.sharedApart() {
		s.binary(SharedSum, s.sharedTokens()*s.hidden)
	}
}

// choice is the bytes of a chosen expert: its index and its weight.
const choice = 8

// sortRows groups rows by expert: their indices, and copies of tokens where needed.
func (s *stage) sortRows(rows, width, topK float64) {
	if !s.assume.SmallKernels {
		return
	}
	tokens := rows / topK
	o := s.add(ExpertAlign, VectorUnit)
	o.Activations = 12 * rows // each index read twice and written
	o.Rows, o.Moved = tokens, o.Activations
	o = s.add(ExpertPermute, VectorUnit)
	o.Activations = (tokens + rows) * width * s.a
	o.Output = rows * width * s.a
	o.Moved = o.Activations
}

// deltaGates widens a token's decays and strengths from 16 to 32 bits.
func (s *stage) deltaGates(gates float64) {
	if !s.assume.SmallKernels {
		return
	}
	o := s.add(LinearGates, VectorUnit)
	o.Kernels = gating[s.phase]
	o.Flops = 4 * s.tokens * gates
	o.Activations = s.tokens * gates * (s.r + 4)
	o.Output = s.tokens * gates * 4
	o.Moved = o.Activations
}

var (
	// Experts of exchanged tokens are selected before the exchange.
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
	// The low-latency exchange quantises what it sends.
	sentQuantised = kernel.Uses{{Slot: kernel.DispatchLowLatency, Role: kernel.Within}, {Slot: kernel.Quantise}, moving[0]}
)
