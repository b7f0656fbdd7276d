// Package model describes the shape of a large language model: its dimensions, its kind of attention, its dense and
// expert layers. It knows nothing of hardware or of how the model is deployed.
package model

// Model is the shape of one model.
type Model struct {
	Name        string
	Hidden      int // width of the residual stream
	Layers      int
	Attention   Attention
	FeedForward int // width of a dense MLP layer; 0 when every layer is an expert layer
	MLP         MLPKind
	Experts     Experts // Routed is 0 in a dense model
	DraftLayers int     // layers of a module for multi-token prediction
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
)

// Attention is the shape of the attention block.
type Attention struct {
	Kind    AttentionKind
	Heads   int
	KVHeads int // not used by Latent
	HeadDim int // not used by Latent
	QKNorm  bool
	Gated   bool // a sigmoid gate on the attention output

	// The rest belongs to Latent attention.
	QueryRank int // 0: queries are projected directly
	KVRank    int
	NopeDim   int // part of a query/key head without position
	RopeDim   int // part with rotary position, shared by all heads
	ValueDim  int
}

// KVHeadsPerRank is the number of key/value heads one of tp ranks holds: a share of them, or one replicated head when
// there are more ranks than heads.
func (a *Attention) KVHeadsPerRank(tp int) int {
	return max(1, a.KVHeads/tp)
}

// CacheElements is the number of cached elements per token and layer on one of tp ranks. The latent vector of MLA
// serves all heads, so every rank keeps it whole.
func (a *Attention) CacheElements(tp int) int {
	if a.Kind == Latent {
		return a.KVRank + a.RopeDim
	}
	return 2 * a.KVHeadsPerRank(tp) * a.HeadDim
}

// Experts is the shape of the expert layers.
type Experts struct {
	Routed         int     // experts that the router chooses from
	TopK           int     // routed experts a token visits
	Shared         int     // shared experts that every token visits besides
	Width          int     // intermediate width of one expert
	CapacityFactor float64 // multiplies the tokens of an expert
	Interval       int     // every Interval-th layer is an expert layer; the others are dense
}

// IsMoE reports whether the model has expert layers.
func (m *Model) IsMoE() bool { return m.Experts.Routed > 0 }

// ExpertLayers is how many of n layers are expert layers, rounded up so that a pipeline stage is never too light.
func (m *Model) ExpertLayers(n int) int {
	if !m.IsMoE() {
		return 0
	}
	return (n + m.Experts.Interval - 1) / m.Experts.Interval
}
