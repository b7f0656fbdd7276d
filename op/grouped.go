package op

// groupedAttention is attention whose query heads share key/value heads in groups: one head each in multi-head, all of
// them in multi-query attention.
func (s *stage) groupedAttention() {
	a := &s.model.Attention
	tp := s.plan.Attention.TP
	heads := float64(a.Heads / tp)
	dim := float64(a.HeadDim)
	q := heads * dim                          // width of the queries
	kv := float64(a.KVHeadsPerRank(tp)) * dim // width of the keys, and of the values

	s.norm(InputNorm, s.normTokens*s.hidden, s.hidden)
	s.gather(AttentionGather, s.tokens*s.hidden)
	s.linear(QKV, s.tokens, s.hidden, q+2*kv)
	if a.QKNorm {
		s.norm(QueryHeadNorm, s.tokens*q, dim)
		s.norm(KeyHeadNorm, s.tokens*kv, dim)
	}
	s.ring(2 * kv)
	s.attend(s.fusedUnit, attention{
		heads: heads, keyDim: dim, valueDim: dim,
		keyCache:   s.sequences * kv * s.context * s.c,
		valueCache: s.sequences * kv * s.context * s.c,
	})
	s.outputGate(q)
	s.linear(OutputProjection, s.tokens, q, s.hidden)
	s.finishAttention()
}

// finishAttention adds up the results of the tensor-parallel ranks and the residual.
func (s *stage) finishAttention() {
	s.allReduce(AttentionAllReduce, s.tokens*s.hidden)
	s.scatter(AttentionScatter, s.tokens*s.hidden)
	s.binary(AttentionResidual, s.normTokens*s.hidden)
}

// outputGate multiplies the attention output of the given width by a sigmoid of the input, in models that have it.
func (s *stage) outputGate(width float64) {
	if !s.model.Attention.Gated {
		return
	}
	s.linear(AttentionGate, s.tokens, s.hidden, width)
	s.unary(AttentionGateSigmoid, s.tokens*width, sigmoidFlops)
	s.binary(AttentionGateMultiply, s.tokens*width)
}

// attention is the part between the projections: queries against keys, softmax, probabilities against values.
type attention struct {
	heads            float64
	keyDim, valueDim float64 // elements of one head
	keyCache         float64 // bytes of keys and values read from the cache
	valueCache       float64
	keyActivations   float64 // bytes of keys and values read as activations, where they were just expanded
	valueActivations float64
}

// attend emits the attention either fused, its scores never leaving the chip, or as two products with the scores
// written and read between them.
func (s *stage) attend(unit Unit, t attention) {
	scores := s.tokens * t.heads * s.context
	queries := s.tokens * t.heads * t.keyDim * s.a
	result := s.tokens * t.heads * t.valueDim * s.a
	if s.flash {
		o := s.add(FusedAttention, unit)
		o.Flops = 2 * scores * (t.keyDim + t.valueDim)
		o.Activations = queries + result + t.keyActivations + t.valueActivations
		o.Cache = t.keyCache + t.valueCache
		o.Output = result
		o.M, o.N, o.K = s.tokens, s.context, t.keyDim
		s.softmax(scores)
		return
	}
	o := s.add(Scores, unit)
	o.Flops = 2 * scores * t.keyDim
	o.Activations = queries + scores*s.a + t.keyActivations
	o.Cache = t.keyCache
	o.Output = scores * s.a
	o.M, o.N, o.K = s.tokens, s.context, t.keyDim
	s.softmax(scores)
	o = s.add(Values, unit)
	o.Flops = 2 * scores * t.valueDim
	o.Activations = scores*s.a + result + t.valueActivations
	o.Cache = t.valueCache
	o.Output = result
	o.M, o.N, o.K = s.tokens, t.valueDim, s.context
}
