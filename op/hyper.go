package op

// hyper names the operators of a hyper-connection in front of a block.
type hyper struct{ post, mix, pre Kind }

var (
	hyperAttention = hyper{AttentionHyperPost, AttentionHyperMix, AttentionHyperPre}
	hyperMLP       = hyper{MLPHyperPost, MLPHyperMix, MLPHyperPre}
)

// fusedStreams is the most tokens whose streams one kernel mixes and multiplies: use_small_fma in
// vllm/model_executor/kernels/mhc/tilelang.py of 0.25.1 (752a3a5).
const fusedStreams = 16

// mixWeight is the bytes of a hyper-connection weight, which has 32 bits.
const mixWeight = 4

// connect is a hyper-connection, which replaces a block's norm and the residual of the previous
// block. Streams are mixed with that block's result (post), a product of all streams yields the
// shares of the next block (mix), whose input is their weighted sum, normalised (pre).
func (s *stage) connect(h *hyper, tokens float64) {
	width := s.hidden // width of a block's input and result
	n := float64(s.model.Streams)
	post, shares := tokens*width*(n+1+n)*s.r, 2*tokens*width*n*(n+1) // streams and result read, streams written
	if tokens > fusedStreams {
		o := s.add(h.post, VectorUnit)
		o.Flops, o.Activations, o.Output, o.Moved = shares, post, tokens*width*n*s.r, post
		post, shares = 0, 0
	}
	o := s.add(h.mix, VectorUnit)
	o.Flops = shares + 2*tokens*s.model.MixParams()
	o.Weights = s.model.MixParams() * mixWeight
	o.Resident = o.Weights
	o.Activations = post + tokens*n*width*s.r
	o.Output = tokens * n * (2 + n) * mixWeight
	o.Moved = o.Weights + o.Activations
	o.M, o.N, o.K, o.Count = tokens, n*(2+n), n*width, 1
	s.norm(h.pre, tokens*width, width)
	o = s.list.last()
	o.Flops += 2 * tokens * n * width
	o.Activations += tokens * (n - 1) * width * s.r // all streams are read
	o.Moved = o.Weights + o.Activations
}

// connectNorm is a norm or a hyper-connection in front of a block.
func (s *stage) connectNorm(k Kind, h *hyper, tokens float64) {
	if s.model.Hyper() {
		s.connect(h, tokens)
		return
	}
	s.norm(k, tokens*s.hidden, s.hidden)
}

// residual adds a block's result, normalised in some models, to the residual stream, unless a
// hyper-connection does so.
func (s *stage) residual(k, postNorm Kind, tokens float64) {
	if s.model.PostNorms {
		s.norm(postNorm, tokens*s.hidden, s.hidden)
	}
	if !s.model.Hyper() {
		s.binary(k, tokens*s.hidden)
	}
}
