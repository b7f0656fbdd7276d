package op

import (
	"throughline/hardware"
	"throughline/model"
)

// denseMLP is the feed-forward block of a dense layer, split over the ranks that share it.
func (s *stage) denseMLP() {
	ranks, replicas := s.across(s.plan.WideDense)
	width, tokens := float64(s.model.FeedForward)/float64(ranks), s.tokens*replicas
	s.blockNorms(s.normTokens)
	if replicas > 1 {
		s.together(MLPGather, hardware.AllGather, tokens*s.hidden, ranks)
	} else {
		s.gather(MLPGather, tokens*s.hidden)
	}
	s.quantiseNormed(QuantiseMLP, tokens*s.hidden)
	if s.model.MLP == model.Gated {
		s.linear(GateUp, tokens, s.hidden, 2*width)
		s.activate(Activation, tokens*width, siluFlops)
		s.binary(GateMultiply, tokens*width)
	} else {
		s.linear(Up, tokens, s.hidden, width)
		s.activate(Activation, tokens*width, geluFlops)
	}
	s.quantiseNormed(QuantiseInner, tokens*width)
	s.linear(Down, tokens, width, s.hidden)
	if replicas > 1 {
		s.together(MLPScatter, hardware.ReduceScatter, tokens*s.hidden, ranks)
	} else {
		s.allReduce(MLPAllReduce, tokens*s.hidden)
		s.scatter(MLPScatter, tokens*s.hidden)
	}
	s.residual(MLPResidual, MLPPostNorm, s.normTokens)
}

// across returns the ranks that share a part of the model and the attention replicas among them.
func (s *stage) across(wide bool) (ranks int, replicas float64) {
	a := s.plan.Attention
	if !wide || a.DP == 1 || !s.plan.Pipelined {
		return a.TP, 1
	}
	return a.DP * a.TP * a.Context(), float64(a.DP)
}

// together gathers n elements from a group's data-parallel ranks, or reduces and scatters them.
func (s *stage) together(k Kind, c hardware.Collective, n float64, group int) {
	o := s.add(k, VectorUnit)
	o.Activations = 2 * n * s.r
	o.Output = n * s.r
	s.send(o, s.joined(c), n*s.q, group, 1)
}
