// Package model describes the shape of a large language model: dimensions, attention, dense and
// expert layers. It is independent of hardware and deployment.
package model

import "math"

type Model struct {
	Name        string
	Hidden      int // width of the residual stream
	Layers      int
	Attention   Attention // of all layers except those in Mixed
	Mixed       []MixedAttention
	FeedForward int // width of a dense MLP layer; 0 if all have experts
	MLP         MLPKind
	Experts     Experts // Routed is 0 in a dense model
	FirstDense  int     // leading dense layers of an expert model
	MixerOnly   int     // layers of attention or state without a feed-forward block behind it
	DraftLayers int     // layers of a module for multi-token prediction
	// DraftLengths is the measured mean tokens of a decode step with 1, 2, … drafts, if known.
	DraftLengths []float64
	Vocab        int     // 0: unknown
	Positions    int     // most tokens of input and output together; 0: unknown
	Tied         bool    // the output projection is the input embedding
	Formats      Formats // as published
	// Streams is the residual streams that hyper-connections mix; 0 or 1: a plain one.
	Streams int
	// WideRouter: the router multiplies in 32 bits, where an engine follows the model in that.
	WideRouter bool
	PostNorms  bool // a norm behind each block, too, in front of the residual
	LogitCap   bool // logits are bounded by a tanh
}

// Hyper reports whether hyper-connections replace norms and residuals around blocks.
func (m *Model) Hyper() bool { return m.Streams > 1 }

// MixParams is the parameters of one hyper-connection: from all streams to the block's input from
// each, each one's share of its result, and each one's mix of the others.
func (m *Model) MixParams() float64 {
	if !m.Hyper() {
		return 0
	}
	n := float64(m.Streams)
	return n * (2 + n) * n * float64(m.Hidden)
}

// MaxMixed is how many kinds of attention a model may have besides the main one.
const MaxMixed = 3

// MixedAttention is layers with an attention of their own.
type MixedAttention struct {
	Attention Attention
	Layers    int
}

// MLPKind is one of the two usual feed-forward blocks.
type MLPKind uint8

const (
	Gated MLPKind = iota // down(silu(gate(x)) · up(x)): three matrices
	Plain                // down(gelu(up(x))): two matrices
)

// AttentionKind names a family of attention.
type AttentionKind uint8

const (
	MultiHead  AttentionKind = iota // every head has its own keys and values
	MultiQuery                      // one key/value head for all
	GroupQuery                      // several query heads share a key/value head
	Latent                          // MLA: keys and values are expanded from one cached latent vector
	GatedDelta                      // linear attention with a gated delta rule: a state per sequence, no cache
	Lightning                       // linear attention with a decay per head: a state per sequence, no cache
	ShortConv                       // a gated convolution over the last few tokens, its state; no cache
	Mamba                           // a Mamba-2 state space: B and C as keys and queries, a decay per head; no cache
)

var attentionNames = []string{
	MultiHead: "multi-head", MultiQuery: "multi-query", GroupQuery: "group-query", Latent: "mla",
	GatedDelta: "gated-delta", Lightning: "lightning", ShortConv: "short-conv", Mamba: "mamba2",
}

func (k AttentionKind) Name() string { return attentionNames[k] }

// Attention is the shape of the attention block.
type Attention struct {
	Kind    AttentionKind
	Heads   int // query heads; in linear attention, value heads
	KVHeads int // unused by Latent; in linear attention, key heads
	HeadDim int // of a query and key; unused by Latent
	QKNorm  bool
	// WideNorm: the norms of queries and keys are over all heads together.
	WideNorm bool
	Gated    bool // a sigmoid gate on the attention output
	Window   int  // most tokens that a query sees; 0: all
	ScoreCap bool // scores are bounded by a tanh

	// ValueDim is the elements of a value head; 0: as HeadDim.
	ValueDim int
	// SharedKV: one cached vector per token and key/value head serves as key and as value.
	SharedKV bool

	QueryRank int // of the query projection; 0: direct

	// Latent attention.
	KVRank  int
	NopeDim int // part of a query/key head without position
	RopeDim int // part with rotary position, shared by all heads

	// Sparse attention: an indexer picks the tokens a query sees. Without heads, the layer uses
	// what the indexer of an earlier layer picked.
	IndexHeads, IndexDim, IndexTopK int

	// Compress is how many tokens share one cached entry; 0 or 1: none do.
	Compress int
	// OutputRank of the output projection, in OutputGroups groups of heads; 0: direct.
	OutputRank, OutputGroups int
	Conv                     int // width of the short convolution before linear attention
	// DecayRank of the decay per channel in gated delta attention; 0: one decay per head.
	DecayRank int
	// GateRank of the output gate of linear attention; 0: direct.
	GateRank int
}

// IsLinear reports whether the attention keeps a state instead of a cache.
func (a *Attention) IsLinear() bool {
	return a.Kind >= GatedDelta
}

// HeadGates is the numbers per head that a state decays and learns by: decay, one or one per
// channel, and strength in the gated delta rule; the step of a state space.
func (a *Attention) HeadGates() int {
	switch {
	case a.Kind == Mamba:
		return 1
	case a.Kind != GatedDelta:
		return 0
	case a.DecayRank > 0:
		return 1 + a.HeadDim
	}
	return 2
}

// ValueSize is the elements of a value head.
func (a *Attention) ValueSize() int {
	if a.ValueDim > 0 {
		return a.ValueDim
	}
	return a.HeadDim
}

// KVHeadsPerRank is the key/value heads on one of tp ranks: a share, or one replicated head.
func (a *Attention) KVHeadsPerRank(tp int) int {
	return max(1, a.KVHeads/tp)
}

// CacheElements is the cached elements per token and layer on one of tp ranks. Every rank keeps the
// entire latent vector of MLA, which serves all heads, and the keys of an indexer.
func (a *Attention) CacheElements(tp int) int {
	switch {
	case a.IsLinear():
		return 0
	case a.Kind == Latent:
		return a.KVRank + a.RopeDim + a.IndexDim
	}
	return a.KVHeadsPerRank(tp)*a.cachedPerHead() + a.IndexDim
}

// cachedPerHead is the cached elements of one token in one key/value head.
func (a *Attention) cachedPerHead() int {
	if a.SharedKV {
		return a.HeadDim
	}
	return a.HeadDim + a.ValueSize()
}

// Seen is how many cache entries a query at the end of a context attends to.
func (a *Attention) Seen(context float64) float64 { return a.SeenOnAverage(1, context) }

// SeenOnAverage is the mean over the last queries, each attending to itself and those before it.
func (a *Attention) SeenOnAverage(queries, context float64) float64 {
	most := math.Inf(1) // tokens that the indexer lets a query see
	if a.IndexTopK > 0 {
		most = float64(a.IndexTopK * max(1, a.Compress))
	}
	window := float64(a.Window)
	if a.Compress > 1 {
		// Besides the compressed past, the last tokens are seen uncompressed.
		return meanUpTo(queries, context, most)/float64(a.Compress) + meanUpTo(queries, context, window)
	}
	if a.Window > 0 {
		most = min(most, window)
	}
	return meanUpTo(queries, context, most)
}

// meanUpTo is the mean of min(p, most) over the last queries of the positions p = 1..context.
func meanUpTo(queries, context, most float64) float64 {
	first := context - queries // positions in front of the queries
	if most >= context {
		return context - (queries-1)/2
	}
	if most <= first+1 {
		return most
	}
	rising := most - first // queries that see at most this
	return (rising*(first+1+most)/2 + (queries-rising)*most) / queries
}

// Read is how many cache entries the last queries of a context read together, shared ones once.
func (a *Attention) Read(queries, context float64) float64 {
	past := context
	if a.Compress > 1 {
		past /= float64(a.Compress)
	}
	if a.IndexTopK > 0 {
		past = min(past, queries*float64(a.IndexTopK))
	}
	if a.Window == 0 {
		return past
	}
	near := min(context, float64(a.Window)+queries-1)
	if a.Compress > 1 {
		return past + near
	}
	return min(past, near)
}

// Picks reports whether an indexer excludes any of a context.
func (a *Attention) Picks(context float64) bool {
	return a.IndexTopK > 0 && context > float64(a.IndexTopK*max(1, a.Compress))
}

// kept is how many entries a sequence of this many tokens keeps in the cache.
func (a *Attention) kept(tokens float64) float64 {
	switch {
	case a.Compress > 1:
		return tokens/float64(a.Compress) + min(tokens, float64(a.Window))
	case a.Window > 0:
		return min(tokens, float64(a.Window))
	}
	return tokens
}

// stateBytes: the state of linear attention is kept in float32.
const stateBytes = 4

// State is the recurrent bytes per sequence and layer on one of tp ranks. Compressors keep contents
// and weights of tokens in incomplete entries on all ranks; those an indexer picks from overlap.
func (a *Attention) State(tp int) float64 {
	if a.Compress > 1 && a.SharedKV {
		halves := 1
		if a.IndexHeads > 0 {
			halves = 2
		}
		return stateBytes * float64(halves*a.Compress*2*halves*(a.HeadDim+a.IndexDim))
	}
	if !a.IsLinear() {
		return 0
	}
	heads := max(1, a.Heads/tp)
	if a.Kind == ShortConv {
		return stateBytes * float64((a.Conv-1)*heads*a.HeadDim)
	}
	conv := 0
	if a.Conv > 1 {
		conv = (a.Conv - 1) * (2*a.KVHeadsPerRank(tp)*a.HeadDim + heads*a.ValueSize())
	}
	return stateBytes * float64(heads*a.HeadDim*a.ValueSize()+conv)
}

// CacheBytes is the cache of a sequence in one layer on one of tp ranks.
func (a *Attention) CacheBytes(tp int, tokens, bytes float64) float64 {
	elements := a.kept(tokens) * float64(a.CacheElements(tp))
	if a.Compress > 1 {
		elements -= min(tokens, float64(a.Window)) * float64(a.IndexDim) // an indexer has no keys of single tokens
	}
	return elements*bytes + a.State(tp)
}

// CacheBytes is the cache of a sequence in all layers on one of tp ranks.
func (m *Model) CacheBytes(tp int, tokens, bytes float64) float64 {
	return m.CacheBytesOf(m.Layers, tp, tokens, bytes)
}

// CacheBytesOf is the same for a number of layers.
func (m *Model) CacheBytesOf(layers, tp int, tokens, bytes float64) float64 {
	if len(m.Mixed) == 0 {
		return float64(layers) * m.Attention.CacheBytes(tp, tokens, bytes)
	}
	var total float64
	for kind, n := range m.AttentionLayers(layers) {
		total += float64(n) * m.AttentionOf(kind).CacheBytes(tp, tokens, bytes)
	}
	return total
}

// CacheGrowth is the cached elements that a token adds to a long sequence on one of tp ranks, in
// all layers; windows and states do not grow.
func (m *Model) CacheGrowth(tp int) float64 {
	var total float64
	for kind, layers := range m.AttentionLayers(m.Layers) {
		a := m.AttentionOf(kind)
		const long = 1e9 // longer than any window
		total += float64(layers) * (a.kept(2*long) - a.kept(long)) / long * float64(a.CacheElements(tp))
	}
	return total
}

// CacheGroups is the block tables of a sequence in a paged cache: one for all that grows; with
// compressed entries, one for the windows of as many layers as a compressed kind has, and one for
// the states of each compression (group_and_unify_kv_cache_specs and
// _get_kv_cache_groups_uniform_groups of vllm/v1/core/kv_cache_utils.py in 0.25.1, 752a3a5).
func (m *Model) CacheGroups() int {
	ratios, most := map[int]bool{}, 0
	for kind, layers := range m.AttentionLayers(m.Layers) {
		if a := m.AttentionOf(kind); a.Compress > 1 {
			ratios[a.Compress] = true
			most = max(most, layers)
		}
	}
	if most == 0 {
		return 1
	}
	return 1 + (m.Layers+most)/(most+1) + len(ratios)
}

// AttentionOf is a kind of attention of the model: 0 is the main one, those of Mixed follow.
func (m *Model) AttentionOf(kind int) *Attention {
	if kind == 0 {
		return &m.Attention
	}
	return &m.Mixed[kind-1].Attention
}

// AttentionLayers yields the kinds of attention among n layers; the rest is the main kind.
func (m *Model) AttentionLayers(n int) func(yield func(kind, layers int) bool) {
	return func(yield func(kind, layers int) bool) {
		rest := n
		for i := range m.Mixed {
			k := min(rest, (m.Mixed[i].Layers*n+m.Layers/2)/m.Layers)
			rest -= k
			if k > 0 && !yield(1+i, k) {
				return
			}
		}
		if rest > 0 {
			yield(0, rest)
		}
	}
}

// Experts is the shape of the expert layers.
type Experts struct {
	Routed         int     // to choose from
	TopK           int     // routed experts per token
	Shared         int     // shared experts that every token also visits
	Width          int     // intermediate width of one expert
	SharedWidth    int     // of a shared expert; 0: as the routed ones
	Hidden         int     // width of tokens projected down for experts; 0: that of the model
	CapacityFactor float64 // multiplies the tokens of an expert
	Groups         int     // of experts, of which a token picks TopGroups first; 0: one
	TopGroups      int
	Interval       int  // every Interval-th layer is an expert layer; the others are dense
	SharedGate     bool // a token weighs the result of the shared experts by a sigmoid of a product
}

func (m *Model) IsMoE() bool { return m.Experts.Routed > 0 }

// FeedForwardLayers of n layers, rounded up so that a pipeline stage is never too light.
func (m *Model) FeedForwardLayers(n int) int {
	if m.MixerOnly == 0 { // nearly all models: avoid the division
		return n
	}
	return n - m.MixerOnly*n/m.Layers
}

// ExpertLayers of n feed-forward blocks, rounded up so that a pipeline stage is never too light.
func (m *Model) ExpertLayers(n int) int {
	switch {
	case !m.IsMoE():
		return 0
	case m.Experts.Interval == 1: // nearly all models: avoid the division
		return n
	}
	return (n + m.Experts.Interval - 1) / m.Experts.Interval
}
