package op

import (
	"math"

	"throughline/hardware"
	"throughline/hardware/kernel"
)

// groupedAttention is attention whose query heads share key/value heads in groups: one head each in multi-head, all of
// them in multi-query attention.
func (s *stage) groupedAttention() {
	a := s.attn
	tp := s.plan.Attention.TP
	heads := float64(a.Heads / tp)
	dim := float64(a.HeadDim)
	q := heads * dim // width of the queries
	value := float64(a.ValueSize())
	kvHeads := float64(a.KVHeadsPerRank(tp))
	k, v := kvHeads*dim, kvHeads*value // width of the keys and of the values
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
	if !(s.joinsDown() && a.SharedKV) { // where they are within what gives positions
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

// headNorms normalise queries and keys of the given widths: every head, or all of them together. Of those the tensor-parallel ranks
// have shares, and add up two sums of squares of each token, in 32 bits and one message (MiniMaxM2RMSNormTP of SGLang,
// python/sglang/srt/models/minimax_m2.py).
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

// output projects the heads, of the given width together, back to the residual stream: directly, or through a lower rank
// for each group of heads. The groups are split over the tensor-parallel ranks; a rank with a part of a group has its
// share of the sums that the all-reduce adds up.
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

// index is the indexer of sparse attention: light heads of their own score every entry of the context, and the best are
// attended to. Its heads are not split over the tensor-parallel ranks. A layer without such heads sees what another
// layer picked.
func (s *stage) index() {
	a := s.attn
	if a.IndexHeads == 0 {
		return // all tokens are seen, or those that another layer has picked
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

// skipsIndex reports whether there are only prompts, of which all tokens are attended to that come before: nothing is picked then, but the
// keys are kept for what is generated behind them.
func (s *stage) skipsIndex() bool {
	if !s.plan.IndexSkips || !s.latentIndex() {
		return false
	}
	for i := range s.parts[:s.n] {
		if p := &s.parts[i]; p.phase == Decode || s.attn.Picks(p.context/p.sequences) {
			return false
		}
	}
	return true
}

// scoreBytes is the bytes of a score of an indexer: 32 bits, as its heads are added up in.
const scoreBytes = 4

// selectPasses is how often the scores are read to pick the best: they are sorted into bins, twice, before those of the last bin are
// found. Times of SGLang's modules with a million entries grow by four passes over the scores for each query, one of which
// writes them.
const selectPasses = 3

// pick scores the entries of the contexts by the heads of an indexer, and picks the best.
func (s *stage) pick(p *part, heads, dim float64) {
	entries := p.context
	if s.attn.Compress > 1 {
		entries /= float64(s.attn.Compress)
	}
	// The heads are added up on the chip: one score for every entry reaches memory. In a prefill that happens in chunks of
	// the prompt, whose space does not count.
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
	} else if queries := p.tokens / p.sequences; s.assume.NarrowIndex && queries > 1 { // a single one is scored as those that decode
		o.Count, o.M, o.Rows = s.indexLaunches(queries, entries/p.sequences, p.sequences, heads)
	}
	picked := p.tokens * float64(s.attn.IndexTopK)
	o = s.add(IndexSelect, VectorUnit)
	o.Flops = p.scored
	o.Activations = p.scored*score*reads + picked*s.r
	o.Output = picked * s.r
	o.Moved = o.Activations
}

// indexLaunches is how often an engine launches the scores of so many prompts, each of so many queries that see so many entries, the
// rows of a launch, queries times heads, and the most entries that one of its tiles sees: as many whole prompts as there
// is room for their queries times their entries, or a part of one (split_indexer_prefill_chunks in
// vllm/v1/attention/backends/mla/indexer.py). A tile with the end of one prompt and the start of the next sees the entries of both.
func (s *stage) indexLaunches(queries, entries, prompts, heads float64) (launches, rows, longest float64) {
	room, whole := s.plan.IndexBytes/scoreBytes, prompts
	if room > 0 && queries*entries > room {
		part := max(1, math.Floor(room/entries))
		return roundUp(queries/part) * prompts, part * heads, entries
	}
	if room > 0 {
		whole = min(prompts, math.Floor(math.Sqrt(room/(queries*entries))))
	}
	longest = entries
	if whole > 1 && math.Mod(math.Round(queries*heads), IndexTile) != 0 {
		longest *= 2
	}
	return roundUp(prompts / whole), queries * whole * heads, longest
}

// roundUp is the next whole number, but for what sums of fractions are off by.
func roundUp(x float64) float64 { return math.Ceil(x - 1e-9) }

// IndexTile is the rows, queries times heads, that an indexer scores together, one block after another on each multiprocessor:
// next_q_block of deep_gemm/include/deep_gemm/scheduler/sm100_mqa_logits.cuh in github.com/deepseek-ai/DeepGEMM (54e2261).
const IndexTile = 128

// finishAttention adds up the results of the tensor-parallel ranks and the residual.
func (s *stage) finishAttention() {
	s.allReduce(AttentionAllReduce, s.tokens*s.hidden)
	s.scatter(AttentionScatter, s.tokens*s.hidden)
	s.residual(AttentionResidual, s.normTokens)
}

// outputGate multiplies the attention output of the given width by a sigmoid of the input, in models that have it.
func (s *stage) outputGate(width float64) {
	if !s.attn.Gated {
		return
	}
	s.linear(AttentionGate, s.tokens, s.hidden, width)
	s.unary(AttentionGateSigmoid, s.tokens*width, sigmoidFlops)
	s.binary(AttentionGateMultiply, s.tokens*width)
}

// attention is the part between the projections: queries against keys, softmax, probabilities against values.
type attention struct {
	heads, kvHeads   float64
	keyDim, valueDim float64 // elements of one head
	keyCache         float64 // bytes of keys and values read from the cache
	valueCache       float64
	keyActivations   float64 // bytes of keys and values read as activations, where they were just expanded
	valueActivations float64
}

// attentionKernels are those of fused attention. Keys and values that were expanded from a latent cache are no longer in
// one; in decode no kernel reads them from elsewhere.
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

// attend emits the attention either fused, its scores never leaving the chip, or as two products with the scores
// written and read between them.
func (s *stage) attend(unit Unit, p *part, t *attention) {
	scores := p.pairs * t.heads
	queries := p.tokens * t.heads * t.keyDim * s.r
	result := p.tokens * t.heads * t.valueDim * s.r
	if s.flash {
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
		s.softmax(scores, kernels)
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
