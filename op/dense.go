package op

import "throughline/model"

// denseMLP is the feed-forward block of a dense layer, its width split over the tensor-parallel ranks.
func (s *stage) denseMLP() {
	width := float64(s.model.FeedForward / s.plan.Attention.TP)
	s.blockNorms(s.normTokens)
	s.gather(MLPGather, s.tokens*s.hidden)
	s.quantiseNormed(QuantiseMLP, s.tokens*s.hidden)
	if s.model.MLP == model.Gated {
		s.linear(GateUp, s.tokens, s.hidden, 2*width)
		s.activate(Activation, s.tokens*width, siluFlops)
		s.binary(GateMultiply, s.tokens*width)
	} else {
		s.linear(Up, s.tokens, s.hidden, width)
		s.activate(Activation, s.tokens*width, geluFlops)
	}
	s.quantiseNormed(QuantiseInner, s.tokens*width)
	s.linear(Down, s.tokens, width, s.hidden)
	s.allReduce(MLPAllReduce, s.tokens*s.hidden)
	s.scatter(MLPScatter, s.tokens*s.hidden)
	s.binary(MLPResidual, s.normTokens*s.hidden)
}
