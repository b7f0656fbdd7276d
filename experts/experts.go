// Package experts is the statistics of routing: how many experts the tokens of a step visit, and how much more than its
// share the busiest processor gets.
package experts

import "math"

// Visits is the routing of one model: every token visits TopK of Routed experts, each as likely as the others.
type Visits struct {
	Routed, TopK float64
	logMiss      float64 // log of the probability that a token passes an expert by
}

// NewVisits prepares the statistics of a model.
func NewVisits(routed, topK int) Visits {
	r, k := float64(routed), float64(topK)
	return Visits{r, k, math.Log1p(-k / r)}
}

// TouchedShare is the expected share of the experts that at least one of the tokens visits: 1 − (1 − k/n)^tokens.
func (v *Visits) TouchedShare(tokens float64) float64 {
	if v.TopK == v.Routed {
		return 1
	}
	return -math.Expm1(tokens * v.logMiss)
}

// Busiest is the expected load of the busiest of several ranks that share visits at random, each getting mean on
// average: the mean, and the expected largest deviation of as many normal variables of variance mean, √(2·mean·ln ranks).
func Busiest(mean float64, ranks int) float64 {
	if ranks < 2 {
		return mean
	}
	return mean + math.Sqrt(2*mean*math.Log(float64(ranks)))
}
