package model

// Params is the total and active parameters, with embedding and output projection. As in published
// sizes, the draft module, biases, learned positions and mixing of residual streams are left out.
func (m *Model) Params() (total, active float64) {
	for _, n := range m.ModuleParams() {
		total += n
	}
	if !m.IsMoE() {
		return total, total
	}
	e := &m.Experts
	idle := float64(m.ExpertLayers(m.FeedForwardLayers(m.Layers)-m.FirstDense)) * float64(e.Routed-e.TopK) * m.expertParams()
	return total, total - idle
}

// ModuleParams is the parameters of each module; norms count with the ends, whose format they have.
func (m *Model) ModuleParams() (out [ModuleCount]float64) {
	h := float64(m.Hidden)
	blocks := m.FeedForwardLayers(m.Layers) // feed-forward blocks
	norms := float64(m.Layers + blocks)
	if m.PostNorms {
		norms *= 2
	}
	out[EndModule] = m.EmbeddingParams() + h + h*norms // with the final and all other norms
	if !m.Tied {
		out[EndModule] += m.EmbeddingParams()
	}
	for kind, layers := range m.AttentionLayers(m.Layers) {
		a := m.AttentionOf(kind)
		out[AttentionModule] += float64(layers) * a.params(h)
	}
	layers := m.ExpertLayers(blocks - m.FirstDense)
	out[FeedForwardModule] = float64(blocks-layers) * m.matrices() * h * float64(m.FeedForward)
	if !m.IsMoE() {
		return out
	}
	e := &m.Experts
	if e.Hidden > 0 {
		out[ExpertModule] += float64(layers) * 2 * h * float64(e.Hidden)
	}
	out[ExpertModule] += float64(layers) * float64(e.Routed) * m.expertParams()
	sharedWidth := e.Width
	if e.SharedWidth > 0 {
		sharedWidth = e.SharedWidth
	}
	out[SharedModule] = float64(layers) * float64(e.Shared) * m.matrices() * h * float64(sharedWidth)
	scores := float64(e.Routed) // of the router
	if e.SharedGate {
		scores++
	}
	out[EndModule] += float64(layers) * h * scores
	return out
}

// AttentionShares is the shares of value and output projections among the weights of attention.
// Latent and linear attention have no value projection of their own.
func (m *Model) AttentionShares() (values, outputs float64) {
	h, all := float64(m.Hidden), 0.0
	for kind, layers := range m.AttentionLayers(m.Layers) {
		a, n := m.AttentionOf(kind), float64(layers)
		all += n * a.params(h)
		outputs += n * a.outputParams(float64(a.Heads*a.ValueSize()), h)
		if a.Kind != Latent && !a.IsLinear() && !a.SharedKV {
			values += n * h * float64(a.KVHeads*a.ValueSize())
		}
	}
	return values / all, outputs / all
}

// DownShare is the share of the second matrix in a feed-forward block.
func (m *Model) DownShare() float64 { return 1 / m.matrices() }

// expertParams of one routed expert.
func (m *Model) expertParams() float64 {
	inner := float64(m.Hidden)
	if h := m.Experts.Hidden; h > 0 {
		inner = float64(h)
	}
	return m.matrices() * inner * float64(m.Experts.Width)
}

// Published is the bytes of the weights in their published formats, without a draft module.
func (m *Model) Published() float64 {
	var total float64
	for module, n := range m.ModuleParams() {
		total += n * m.Formats.Of(Module(module)).Bytes
	}
	return total
}

// EmbeddingParams is the parameters of the input embedding, and of an untied output projection.
func (m *Model) EmbeddingParams() float64 { return float64(m.Vocab) * float64(m.Hidden) }

// matrices of a feed-forward block.
func (m *Model) matrices() float64 {
	if m.MLP == Plain {
		return 2
	}
	return 3
}

// params of the attention of one layer, for tokens of width h.
func (a *Attention) params(h float64) float64 {
	heads, kv, dim, value := float64(a.Heads), float64(a.KVHeads), float64(a.HeadDim), float64(a.ValueSize())
	var n float64
	switch a.Kind {
	case Latent:
		rank, nope, rope := float64(a.KVRank), float64(a.NopeDim), float64(a.RopeDim)
		n = a.queryParams(h, heads*(nope+rope)) + h*(rank+rope) + rank + rank*heads*(nope+value) + a.outputParams(heads*value, h)
	case GatedDelta:
		mixed := 2*kv*dim + heads*value
		n = h*mixed + lowRank(h, heads*value, a.GateRank) + float64(a.Conv)*mixed + heads*value*h
		if n += h * heads; a.DecayRank > 0 { // strength and decay
			n += lowRank(h, heads*dim, a.DecayRank)
		} else {
			n += h * heads
		}
	case Mamba: // gate, x, B and C, steps; filters; decay, skip and bias of the step; norm; output
		mixed := 2*kv*dim + heads*value
		n = h*(heads*value+mixed+heads) + float64(a.Conv)*mixed + 3*heads + heads*value + heads*value*h
	case Lightning:
		n = h*(heads*dim+kv*(dim+value)+heads*value) + heads*value*h // queries, keys and values, gate, output
	case ShortConv:
		n = h*3*heads*dim + float64(a.Conv)*heads*dim + heads*dim*h // two gates and the convolved input, the filters, output
	default:
		n = a.queryParams(h, heads*dim) + h*kv*float64(a.cachedPerHead()) + a.outputParams(heads*value, h)
		switch {
		case a.WideNorm:
			n += (heads + kv) * dim
		case a.QKNorm:
			n += 2 * dim
		}
	}
	if a.Gated && !a.IsLinear() { // linear attention always has a gate
		n += h * heads * value
	}
	return n + a.indexParams(h) + a.compressParams(h)
}

// queryParams of the projection to queries of out elements.
func (a *Attention) queryParams(h, out float64) float64 {
	if rank := float64(a.QueryRank); rank > 0 {
		return h*rank + rank + rank*out
	}
	return h * out
}

// lowRank is the parameters of a projection, direct or through a rank.
func lowRank(in, out float64, rank int) float64 {
	if rank == 0 {
		return in * out
	}
	return float64(rank) * (in + out)
}

// outputParams of the projection from the heads back to the residual stream.
func (a *Attention) outputParams(in, h float64) float64 {
	if a.OutputRank == 0 {
		return in * h
	}
	groups := float64(a.OutputGroups)
	rank := float64(a.OutputRank)
	return in*rank + groups*rank*h
}

// indexParams of the queries, the key and the head weights of an indexer.
func (a *Attention) indexParams(h float64) float64 {
	heads, dim := float64(a.IndexHeads), float64(a.IndexDim)
	from := h
	if a.QueryRank > 0 {
		from = float64(a.QueryRank)
	}
	return from*heads*dim + h*dim + h*heads
}

// compressParams of the content and weight projections that merge entries of neighbouring tokens.
// Where an indexer picks among merged entries, these overlap, and both have a second half.
func (a *Attention) compressParams(h float64) float64 {
	if a.Compress <= 1 {
		return 0
	}
	halves := 1.0
	if a.IndexHeads > 0 {
		halves = 2
	}
	n := 2 * halves * h * float64(a.HeadDim)
	if a.IndexHeads > 0 {
		n += (2*halves - 1) * h * float64(a.IndexDim) // of the indexer, in place of its key
	}
	return n
}
