package op

import (
	"throughline/hardware"
	"throughline/model"
)

// experts is the feed-forward block of an expert layer. The tokens are spread evenly over all processors, each is sent
// to its experts and comes back to be weighted and added up.
func (s *stage) experts() {
	e := &s.model.Experts
	tp := float64(s.plan.Experts.TP)
	width := float64(e.Width) / tp
	local := float64(s.plan.ExpertsPerProc(s.model))

	visits := float64(e.TopK + e.Shared) // experts that a token visits
	sent := visits                       // of them, those that may lie on another processor
	if s.plan.SharedPerCard {
		sent = float64(e.TopK)
	}
	// The slices of a cut expert work on the tokens of all their processors.
	tokens := s.cardTokens * visits * tp * e.CapacityFactor

	s.blockNorms(s.cardTokens)
	s.linear(Router, s.tokens, s.hidden, float64(e.Routed))
	s.unary(GateWeights, s.cardTokens*s.gateElements, 1)
	s.exchange(Dispatch, s.cardTokens*sent*s.hidden)
	s.slices(SliceGather, hardware.AllGather, tokens*s.hidden)
	if s.model.MLP == model.Gated {
		s.linears(ExpertGateUp, local, tokens/local, tokens, s.hidden, 2*width)
		s.unary(ExpertActivation, tokens*width, siluFlops)
		s.unary(ExpertGateMultiply, tokens*width, 1)
	} else {
		s.linears(ExpertUp, local, tokens/local, tokens, s.hidden, width)
		s.unary(ExpertActivation, tokens*width, geluFlops)
	}
	s.linears(ExpertDown, local, tokens/local, tokens, width, s.hidden)
	s.slices(SliceScatter, hardware.ReduceScatter, tokens*s.hidden)
	s.exchange(Combine, s.cardTokens*sent*s.hidden)
	s.unary(ExpertWeighting, tokens*s.hidden, 1)
	s.binary(MLPResidual, s.cardTokens*s.hidden)
}
