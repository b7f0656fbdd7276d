// Package model describes the shape of a large language model: its dimensions, its kind of attention, its dense and
// expert layers. It knows nothing of hardware or of how the model is deployed.
package model

import "math"

// Model is the shape of one model.
type Model struct {
	Name        string
	Hidden      int // width of the residual stream
	Layers      int
	Attention   Attention // of all layers but those in Mixed
	Mixed       []MixedAttention
	FeedForward int // width of a dense MLP layer; 0 when every layer is an expert layer
	MLP         MLPKind
	Experts     Experts // Routed is 0 in a dense model
	FirstDense  int     // leading layers of an expert model that are dense
	DraftLayers int     // layers of a module for multi-token prediction
	// DraftLengths is the mean tokens of a decode step with 1, 2, … drafts, where they were measured.
	DraftLengths []float64
	Vocab        int     // 0: not known
	Positions    int     // tokens of a request, input and output together, that it takes at most; 0: not known
	Tied         bool    // the output projection is the input embedding
	Formats      Formats // that it is published in
	// Streams is the residual streams that hyper-connections mix around every block; 0 or 1: there is one, and blocks add to it.
	Streams int
	// WideRouter: the router multiplies in 32 bits, where an engine follows the model in that.
	WideRouter bool
}

// Hyper reports whether hyper-connections take the place of norms and residuals around blocks.
func (m *Model) Hyper() bool { return m.Streams > 1 }

// MixParams is the parameters of one hyper-connection: from all streams to what the block reads of each, what each gets of its result,
// and what each gets of the others.
func (m *Model) MixParams() float64 {
	if !m.Hyper() {
		return 0
	}
	n := float64(m.Streams)
	return n * (2 + n) * n * float64(m.Hidden)
}

// MaxMixed is how many kinds of attention a model may have besides the main one.
const MaxMixed = 3

// MixedAttention is layers whose attention differs from that of the others.
type MixedAttention struct {
	Attention Attention
	Layers    int
}

// MLPKind tells the two usual feed-forward blocks apart.
type MLPKind uint8

const (
	Gated MLPKind = iota // down(silu(gate(x)) · up(x)): three matrices
	Plain                // down(gelu(up(x))): two matrices
)

// AttentionKind names a family of attention.
type AttentionKind uint8

const (
	MultiHead  AttentionKind = iota // every head has keys and values of its own
	MultiQuery                      // one key/value head for all
	GroupQuery                      // several query heads share a key/value head
	Latent                          // MLA: keys and values are expanded from one cached latent vector
	GatedDelta                      // linear attention with a gated delta rule: a state per sequence, no cache
	Lightning                       // linear attention with a decay per head: a state per sequence, no cache
	ShortConv                       // a gated convolution over the last few tokens: these are its state, no cache
)

// Attention is the shape of the attention block.
type Attention struct {
	Kind    AttentionKind
	Heads   int // query heads; in linear attention, value heads
	KVHeads int // not used by Latent; in linear attention, key heads
	HeadDim int // of a query and key; not used by Latent
	QKNorm  bool
	// WideNorm: the norms of queries and keys are over all heads together.
	WideNorm bool
	Gated    bool // a sigmoid gate on the attention output
	Window   int  // a query sees this many tokens at most; 0: all

	// ValueDim is the elements of a value head. 0 where it equals HeadDim.
	ValueDim int
	// SharedKV: one cached vector per token and key/value head serves as key and as value.
	SharedKV bool

	QueryRank int // queries are projected through this rank; 0: directly

	// Latent attention.
	KVRank  int
	NopeDim int // part of a query/key head without position
	RopeDim int // part with rotary position, shared by all heads

	// Sparse attention: an indexer with heads of its own picks the tokens a query sees. Without heads, the layer sees what
	// the indexer of an earlier layer picked.
	IndexHeads, IndexDim, IndexTopK int

	// Compress is how many tokens share one cached entry; 0 or 1: each has its own.
	Compress int
	// OutputRank: the output projection goes through this rank in OutputGroups groups of heads; 0: directly.
	OutputRank, OutputGroups int
	Conv                     int // width of the short convolution in front of linear attention
}

// IsLinear reports whether the attention keeps a state instead of a cache.
func (a *Attention) IsLinear() bool {
	return a.Kind == GatedDelta || a.Kind == Lightning || a.Kind == ShortConv
}

// ValueSize is the elements of a value head.
func (a *Attention) ValueSize() int {
	if a.ValueDim > 0 {
		return a.ValueDim
	}
	return a.HeadDim
}

// KVHeadsPerRank is the number of key/value heads one of tp ranks holds: a share of them, or one replicated head when
// there are more ranks than heads.
func (a *Attention) KVHeadsPerRank(tp int) int {
	return max(1, a.KVHeads/tp)
}

// CacheElements is the number of cached elements per token and layer on one of tp ranks. The latent vector of MLA
// serves all heads, so every rank keeps it whole; so do the keys of an indexer.
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

// Seen is how many entries of the cache a query at the end of a context attends to.
func (a *Attention) Seen(context float64) float64 { return a.SeenOnAverage(1, context) }

// SeenOnAverage is the mean of what the last queries of a context see, each attending to itself and those before it.
func (a *Attention) SeenOnAverage(queries, context float64) float64 {
	most := math.Inf(1) // tokens that the indexer lets a query see
	if a.IndexTopK > 0 {
		most = float64(a.IndexTopK * max(1, a.Compress))
	}
	window := float64(a.Window)
	if a.Compress > 1 {
		// Besides the compressed past, the last tokens are seen as they are.
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
	rising := most - first // queries that see less than most, or just so much
	return (rising*(first+1+most)/2 + (queries-rising)*most) / queries
}

// Read is how many entries of the cache the last queries of a context need together: an entry that several of them see
// is read once.
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

// Picks reports whether an indexer leaves something of a context out.
func (a *Attention) Picks(context float64) bool {
	return a.IndexTopK > 0 && context > float64(a.IndexTopK*max(1, a.Compress))
}

// kept is how many entries a sequence of so many tokens keeps in the cache.
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

// State is the bytes of the recurrent state of one sequence and layer on one of tp ranks. That of compressors is the contents and
// weights of the tokens whose entry is not complete, which all ranks keep; entries that an indexer picks among overlap.
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

// CacheBytes is what one sequence of so many tokens keeps in one layer on one of tp ranks, at the given bytes per cached
// element.
func (a *Attention) CacheBytes(tp int, tokens, bytes float64) float64 {
	elements := a.kept(tokens) * float64(a.CacheElements(tp))
	if a.Compress > 1 {
		elements -= min(tokens, float64(a.Window)) * float64(a.IndexDim) // an indexer has no keys of single tokens
	}
	return elements*bytes + a.State(tp)
}

// CacheBytes is what one sequence of so many tokens keeps on one of tp ranks, in all layers, at the given bytes per
// cached element.
func (m *Model) CacheBytes(tp int, tokens, bytes float64) float64 {
	return m.CacheBytesOf(m.Layers, tp, tokens, bytes)
}

// CacheBytesOf is what it keeps in so many of the layers.
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

// CacheGrowth is the cached elements that one more token of a long sequence adds on one of tp ranks, in all layers. What
// a window or a state bounds does not grow.
func (m *Model) CacheGrowth(tp int) float64 {
	var total float64
	for kind, layers := range m.AttentionLayers(m.Layers) {
		a := m.AttentionOf(kind)
		const long = 1e9 // longer than any window
		total += float64(layers) * (a.kept(2*long) - a.kept(long)) / long * float64(a.CacheElements(tp))
	}
	return total
}

// CacheGroups is how many tables of blocks a paged cache has of a sequence: one of all that grows with it, and where entries are
// compressed one of the windows of as many layers as there are compressed ones of a kind, and one of the states of each
// compression (group_and_unify_kv_cache_specs and _get_kv_cache_groups_uniform_groups of vllm/v1/core/kv_cache_utils.py in
// 0.25.1, 752a3a5).
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

// AttentionLayers passes on the kinds of attention among n layers, and how many of the n each has: its share, the rest
// going to the main kind.
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
	Routed         int     // experts that the router chooses from
	TopK           int     // routed experts a token visits
	Shared         int     // shared experts that every token visits besides
	Width          int     // intermediate width of one expert
	SharedWidth    int     // of a shared expert; 0: as the routed ones
	Hidden         int     // width of the tokens that experts see, if they are projected down first; 0: that of the model
	CapacityFactor float64 // multiplies the tokens of an expert
	Groups         int     // that the experts are in, of which a token picks TopGroups before it picks experts; 0: one
	TopGroups      int
	Interval       int // every Interval-th layer is an expert layer; the others are dense
}

// IsMoE reports whether the model has expert layers.
func (m *Model) IsMoE() bool { return m.Experts.Routed > 0 }

// ExpertLayers is how many of n layers are expert layers, rounded up so that a pipeline stage is never too light.
func (m *Model) ExpertLayers(n int) int {
	switch {
	case !m.IsMoE():
		return 0
	case m.Experts.Interval == 1: // nearly all models: no division
		return n
	}
	return (n + m.Experts.Interval - 1) / m.Experts.Interval
}
