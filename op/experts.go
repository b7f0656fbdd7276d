package op

import (
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
)

// experts is the feed-forward block of an expert layer. The tokens are spread evenly over all processors, each is sent
// to its experts and comes back to be weighted and added up.
func (s *stage) experts() {
	e := &s.model.Experts
	p := s.plan
	tp := float64(p.Experts.TP)
	width := float64(e.Width) / tp
	hidden := s.hidden
	if e.Hidden > 0 {
		hidden = float64(e.Hidden)
	}

	sent := float64(e.TopK + e.Shared) // experts that a token visits and that may lie on another processor
	if p.SharedPerCard {
		sent = float64(e.TopK)
	}
	// The slices of a cut expert work on the tokens of all their processors.
	tokens := s.cardTokens * s.visited() * tp * e.CapacityFactor
	local := s.resident()
	read := local
	if s.assume.TouchedExperts {
		read *= s.visits.TouchedShare(s.cardTokens * float64(p.Experts.EP) * tp)
	}

	s.blockNorms(s.cardTokens)
	s.linear(Router, s.tokens, s.hidden, float64(e.Routed))
	if s.assume.GateElementsPerToken > 0 {
		s.unary(GateWeights, s.cardTokens*s.assume.GateElementsPerToken, 1)
	}
	if e.Hidden > 0 {
		s.linear(ExpertNarrow, s.cardTokens, s.hidden, hidden)
	}
	s.exchange(Dispatch, s.cardTokens*sent*hidden)
	s.slices(SliceGather, hardware.AllGather, tokens*hidden)
	if s.model.MLP == model.Gated {
		s.expertLinear(ExpertGateUp, local, read, tokens, hidden, 2*width)
		s.unary(ExpertActivation, tokens*width, siluFlops)
		s.unary(ExpertGateMultiply, tokens*width, 1)
	} else {
		s.expertLinear(ExpertUp, local, read, tokens, hidden, width)
		s.unary(ExpertActivation, tokens*width, geluFlops)
	}
	s.expertLinear(ExpertDown, local, read, tokens, width, hidden)
	s.slices(SliceScatter, hardware.ReduceScatter, tokens*hidden)
	s.exchange(Combine, s.cardTokens*sent*hidden)
	if e.Hidden > 0 {
		s.linear(ExpertWiden, s.cardTokens, hidden, s.hidden)
	}
	s.unary(ExpertWeighting, tokens*hidden, 1)
	s.binary(MLPResidual, s.cardTokens*s.hidden)
}

// sharedScale is the size of a shared expert in units of a routed one.
func (s *stage) sharedScale() float64 {
	e := &s.model.Experts
	if e.SharedWidth == 0 {
		return 1
	}
	return float64(e.SharedWidth) / float64(e.Width)
}

// visited is the experts that a token visits, on the processor that is to decide: the mean, or what the busiest gets.
func (s *stage) visited() float64 {
	e := &s.model.Experts
	routed := float64(e.TopK)
	if s.assume.Imbalance && s.cardTokens > 0 {
		routed = experts.Busiest(s.cardTokens*routed, s.plan.Experts.EP) / s.cardTokens
	}
	return routed + float64(e.Shared)*s.sharedScale()
}

// resident is the experts on one processor, in units of a routed one.
func (s *stage) resident() float64 {
	local := float64(s.plan.ExpertsPerProc(s.model))
	scale := s.sharedScale()
	if scale == 1 {
		return local
	}
	shared := float64(s.plan.SharedReplicas) / float64(s.plan.Experts.EP)
	if s.plan.SharedPerCard {
		shared = float64(s.model.Experts.Shared)
	}
	return local + shared*(scale-1)
}

// expertLinear multiplies tokens by the matrices of the experts: of all that are resident, some are read.
func (s *stage) expertLinear(k Kind, resident, read, tokens, in, out float64) {
	s.linears(k, read, tokens/read, tokens, in, out)
	s.list.last().Resident = resident * in * out * s.w
}
