package op

import (
	"math"

	"throughline/hardware"
	"throughline/hardware/kernel"
)

// groupedAttention is attention whose query heads share key/value heads: multi-head to multi-query.
func (s *stage) groupedAttention() {
	a := s.attn
	tp := s.plan.Attention.TP
	heads := float64(a.Heads / tp)
	dim := float64(a.HeadDim)
	q := heads * dim // width of the queries
	value := float64(a.ValueSize())
	kvHeads := float64(a.KVHeadsPerRank(tp))
	k, v := kvHeads*dim, kvHeads*value // widths of keys and values
	if a.SharedKV {
		v = 0 // the keys are the values
	}

	s.connectNorm(InputNorm, &hyperAttention, s.normTokens)
	s.gather(AttentionGather, s.tokens*s.hidden)
	s.quantiseNormed(QuantiseInput, s.tokens*s.hidden)
	if r := float64(a.QueryRank); r > 0 && s.joinsDown() {
		s.linear(QueryLatentDown, s.tokens, s.hidden, r+k+v)
		s.norm(QueryDownNorm, s.tokens*(r+k), r+k)
		s.quantiseNormed(QuantiseQuery, s.tokens*r)
		s.linear(QueryUp, s.tokens, r, q)
	} else if r > 0 {
		s.linear(QueryDown, s.tokens, s.hidden, r)
		s.norm(QueryDownNorm, s.tokens*r, r)
		s.quantiseNormed(QuantiseQuery, s.tokens*r)
		s.linear(QueryUp, s.tokens, r, q)
		s.linear(QKV, s.tokens, s.hidden, k+v)
	} else {
		s.linear(QKV, s.tokens, s.hidden, q+k+v)
	}
	if !(s.joinsDown() && a.SharedKV) { // fused with the rotary kernel otherwise
		s.headNorms(q, k, dim)
	}
	s.rotate(q, k, k+v)
	if a.Compress > 1 {
		s.compress(&compressing, dim)
	}
	s.growCache(k + v)
	s.ring(k + v)
	s.index()
	for i := range s.parts[:s.n] {
		p := &s.parts[i]
		s.attend(s.fusedUnit, p, &attention{
			heads: heads, kvHeads: kvHeads, keyDim: dim, valueDim: value,
			keyCache: p.read * k * s.c, valueCache: p.read * v * s.c,
		})
	}
	s.outputGate(heads * value)
	if a.SharedKV && s.assume.SmallKernels {
		s.unary(HeadsRotate, s.tokens*heads*value, 3)
	}
	s.output(heads * value)
	s.finishAttention()
}

// headNorms normalise queries and keys, each head or all heads together. In the latter case
// tensor-parallel ranks all-reduce two sums of squares per token, in 32 bits and one message
// (MiniMaxM2RMSNormTP of SGLang, python/sglang/srt/models/minimax_m2.py).
func (s *stage) headNorms(q, k, dim float64) {
	switch a := s.attn; {
	case a.WideNorm:
		if tp := s.plan.Attention.TP; tp > 1 {
			o := s.add(QKNormAllReduce, VectorUnit)
			o.Output = s.tokens * 2 * 4
			o.Activations = 2 * o.Output
			s.send(o, hardware.AllReduce, o.Output, tp, 1)
		}
		s.norm(QueryHeadNorm, s.tokens*q, q)
		s.norm(KeyHeadNorm, s.tokens*k, k)
	case a.QKNorm:
		s.norm(QueryHeadNorm, s.tokens*q, dim)
		s.norm(KeyHeadNorm, s.tokens*k, dim)
	}
}

// output projects the heads to the residual stream, directly or through a low rank per group of
// heads. A tensor-parallel rank with a part of a group contributes its share to the all-reduce.
func (s *stage) output(width float64) {
	s.quantise(QuantiseHeads, s.tokens*width)
	if s.attn.OutputRank == 0 {
		s.linear(OutputProjection, s.tokens, width, s.hidden)
		return
	}
	groups := max(1, float64(s.attn.OutputGroups)/float64(s.plan.Attention.TP))
	rank := float64(s.attn.OutputRank)
	s.linears(OutputDown, groups, s.tokens, s.tokens*groups, width/groups, rank)
	s.linear(OutputProjection, s.tokens, groups*rank, s.hidden)
}

// index is the indexer of sparse attention: its light heads score the whole context and the best
// entries are attended to. Tensor-parallel ranks do not split these heads.
func (s *stage) index() {
	a := s.attn
	if a.IndexHeads == 0 {
		return // dense attention, or entries that another layer has picked
	}
	heads, dim := float64(a.IndexHeads), float64(a.IndexDim)
	from := s.hidden
	if a.QueryRank > 0 {
		from = float64(a.QueryRank)
	}
	if s.skipsIndex() {
		s.linear(IndexKey, s.tokens, s.hidden, dim)
		s.narrowIndex(0, dim)
		return
	}
	s.linear(IndexQuery, s.tokens, from, heads*dim)
	if a.Compress > 1 {
		s.linear(IndexWeights, s.tokens, s.hidden, heads)
		s.beside(s.list.last())
		s.compress(&compressingIndex, dim)
	} else if s.fusesIndex() {
		s.linear(IndexWeights, s.tokens, s.hidden, dim+heads)
	} else {
		s.linear(IndexKey, s.tokens, s.hidden, dim)
		s.linear(IndexWeights, s.tokens, s.hidden, heads)
	}
	s.narrowIndex(heads, dim)
	for i := range s.parts[:s.n] {
		s.pick(&s.parts[i], heads, dim)
	}
}

// skipsIndex reports whether all prompts attend to everything, so that only index keys are kept.
func (s *stage) skipsIndex() bool {
	if !s.plan.SkipsIndex || !s.latentIndex() {
		return false
	}
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; p.phase == Decode || s.attn.Picks(p.context/p.sequences) {
			return false
		}
	}
	return true
}

// scoreBytes is the size of an index score: heads are added up in 32 bits.
const scoreBytes = 4

// selectPasses is how often scores are read: twice to fill bins, once to search the last one. Times
// of SGLang's modules with a million entries grow by four passes per query, one of which writes.
const selectPasses = 3

// pick scores the contexts with the heads of an indexer and picks the best entries.
func (s *stage) pick(p *part, heads, dim float64) {
	entries := p.context
	if s.attn.Compress > 1 {
		entries /= float64(s.attn.Compress)
	}
	// Heads are added up on the chip: one score per entry reaches memory, in prefill by chunks.
	unit, key, score, reads := AttentionMatrixUnit, dim*s.c, s.r, 1.0
	if s.assume.NarrowIndex {
		unit, key, score, reads = IndexUnit, dim*(1+groupScale), scoreBytes, selectPasses
	}
	o := s.attending(IndexScores, unit, p)
	o.Flops = 2 * p.scored * heads * dim
	o.Activations = p.tokens*heads*dim*s.r + p.scored*score
	o.Cache = entries * key
	o.M, o.N, o.K = p.tokens*heads, p.scored/p.tokens, dim
	if p.phase == Decode || !s.flash {
		o.Output = p.scored * s.r
	} else if queries := p.tokens / p.sequences; s.assume.NarrowIndex && queries > 1 { // a single query is scored as in decode
		o.Count, o.M, o.Rows = s.indexLaunches(queries, entries/p.sequences, p.sequences, heads)
	}
	launches, rows := o.Count, o.M/heads
	picked := p.tokens * float64(s.attn.IndexTopK)
	o = s.add(IndexSelect, VectorUnit)
	if each := p.scored / p.tokens; each > float64(s.attn.IndexTopK) && (s.plan.SparseApart || s.plan.RowPicks > 0) {
		o.Kernels, o.Count, o.M, o.N = kernel.Uses{}, max(1, launches), rows, each
		o.Rows = s.rowBlocks(each)
	}
	o.Flops = p.scored
	o.Activations = p.scored*score*reads + picked*s.r
	o.Output = picked * s.r
	o.Moved = o.Activations
}

// splitBlocks is the blocks that share a row too long for one (multipleBlocksPerRowConfig in
// cpp/tensorrt_llm/kernels/indexerTopK.cu of NVIDIA/TensorRT-LLM).
const splitBlocks = 10

// rowBlocks is how many blocks pick from a row of n entries in steps of any phase; 0: an engine has
// a kernel for rows that decode.
func (s *stage) rowBlocks(n float64) float64 {
	switch {
	case s.plan.RowPicks == 0:
		return 0
	case n > s.plan.RowPicks:
		return splitBlocks
	}
	return 1
}

// indexLaunches returns how often an engine launches the scores of equal prompts, the rows of a
// launch and the most entries a tile sees: those of both prompts that it spans. A launch takes as
// many prompts as its buffer holds, or a part of one (split_indexer_prefill_chunks in
// vllm/v1/attention/backends/mla/indexer.py).
func (s *stage) indexLaunches(queries, entries, prompts, heads float64) (launches, rows, longest float64) {
	room, perLaunch := s.plan.IndexBytes/scoreBytes, prompts
	if room > 0 && queries*entries > room {
		part := max(1, math.Floor(room/entries))
		return roundUp(queries/part) * prompts, part * heads, entries
	}
	if room > 0 {
		perLaunch = min(prompts, math.Floor(math.Sqrt(room/(queries*entries))))
	}
	longest = entries
	if perLaunch > 1 && math.Mod(math.Round(queries*heads), IndexTile) != 0 {
		longest *= 2
	}
	return roundUp(prompts / perLaunch), queries * perLaunch * heads, longest
}

// roundUp rounds up, ignoring the rounding errors of sums of fractions.
func roundUp(x float64) float64 { return math.Ceil(x - 1e-9) }

// IndexTile is the rows, queries times heads, that an indexer scores together on a multiprocessor:
// next_q_block of deep_gemm/include/deep_gemm/scheduler/sm100_mqa_logits.cuh in
// github.com/deepseek-ai/DeepGEMM (54e2261).
const IndexTile = 128

// finishAttention adds up the results of the tensor-parallel ranks and the residual.
func (s *stage) finishAttention() {
	s.allReduce(AttentionAllReduce, s.tokens*s.hidden)
	s.scatter(AttentionScatter, s.tokens*s.hidden)
	s.residual(AttentionResidual, AttentionPostNorm, s.normTokens)
}

// outputGate multiplies the attention output by a sigmoid of the input, in models that have it.
func (s *stage) outputGate(width float64) {
	if !s.attn.Gated {
		return
	}
	s.linear(AttentionGate, s.tokens, s.hidden, width)
	s.unary(AttentionGateSigmoid, s.tokens*width, sigmoidFlops)
	s.binary(AttentionGateMultiply, s.tokens*width)
}

// attention is the part between the projections: query-key products, softmax, products with values.
type attention struct {
	heads, kvHeads   float64
	keyDim, valueDim float64 // elements of one head
	keyCache         float64 // bytes of keys and values read from the cache
	valueCache       float64
	keyActivations   float64 // bytes of keys and values just expanded, read as activations
	valueActivations float64
}

// attentionKernels are those of fused attention. Decode kernels need keys and values in a cache.
func attentionKernels(p *part, t *attention) kernel.Uses {
	cached := t.keyCache > 0
	switch {
	case p.phase == Prefill && cached:
		return kernel.Uses{{Slot: kernel.Prefill}}
	case p.phase == Prefill:
		return kernel.Uses{{Slot: kernel.LatentPrefill}, {Slot: kernel.Prefill}}
	case cached:
		return kernel.Uses{{Slot: kernel.Decode}}
	}
	return kernel.Uses{}
}

// attend emits fused attention, or two products with the scores written and read in between.
func (s *stage) attend(unit Unit, p *part, t *attention) {
	scores := p.pairs * t.heads
	queries := p.tokens * t.heads * t.keyDim * s.r
	result := p.tokens * t.heads * t.valueDim * s.r
	if s.flash {
		if s.plan.WindowApart && s.attn.Window > 0 && p.phase == Decode && t.keyCache > 0 {
			share := t.heads / t.kvHeads
			t.kvHeads, t.keyCache, t.valueCache = t.heads, t.keyCache*share, t.valueCache*share
		}
		kernels := attentionKernels(p, t)
		o := s.attending(FusedAttention, unit, p)
		o.Kernels = kernels
		o.Count, o.Heads, o.KVHeads, o.Value = p.sequences, int32(t.heads), int32(t.kvHeads), int32(t.valueDim)
		o.Flops = 2 * scores * (t.keyDim + t.valueDim)
		o.Activations = queries + result + t.keyActivations + t.valueActivations
		o.Cache = t.keyCache + t.valueCache
		o.Output = result
		o.Moved = o.Cache
		o.M, o.N, o.K = p.tokens, p.seen, t.keyDim
		if tile := float64(s.plan.JoinedTile); tile > 0 && s.amongPrompts(p) && t.keyCache > 0 {
			o.Kernels, o.Rows = kernel.Uses{{Slot: kernel.Prefill}}, tile
			o.Flops *= max(1, tile*p.sequences/p.tokens)
		}
		s.softmax(scores, o.Kernels)
		return
	}
	o := s.attending(Scores, unit, p)
	o.Flops = 2 * scores * t.keyDim
	o.Activations = queries + scores*s.r + t.keyActivations
	o.Cache = t.keyCache
	o.Output = scores * s.r
	o.M, o.N, o.K = p.tokens, p.seen, t.keyDim
	s.softmax(scores, kernel.Uses{})
	o = s.attending(Values, unit, p)
	o.Kernels = within(kernel.Uses{})
	o.Flops = 2 * scores * t.valueDim
	o.Activations = scores*s.r + result + t.valueActivations
	o.Cache = t.valueCache
	o.Output = result
	o.M, o.N, o.K = p.tokens, t.valueDim, p.seen
}
