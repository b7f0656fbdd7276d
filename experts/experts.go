// Package experts is the statistics of routing: how many experts the tokens of a step visit, and
// how much more than its share the busiest processor gets.
package experts

import "math"

// Routing is how tokens visit experts: each token some of them, all equally likely. It caches
// results, since plan after plan needs the same.
type Routing struct {
	visits
	known   [places]visits
	largest [places]largest
}

// places is how many numbers of experts, and of ranks, are cached.
const places = 128

// visits is the statistics of visits to a number of experts.
type visits struct {
	experts, visited int
	logMiss          float64 // log of the probability that a token does not visit an expert
	scatter          float64 // variance of the load of a processor over its mean
}

// largest is the expected largest of as many standard normal variables as ranks.
type largest struct {
	ranks int
	value float64
}

// Set sets the number of experts and how many of them a token visits.
func (r *Routing) Set(experts, visited int) {
	known := &r.known[uint(experts)%places]
	if known.experts != experts || known.visited != visited {
		*known = visits{experts, visited, math.Log1p(-float64(visited) / float64(experts)), scatterOf(experts, visited)}
	}
	r.visits = *known
}

// scatterOf is the variance of the load of a processor over its mean: less than for independent
// visits, since those of a token are to different experts.
func scatterOf(experts, visited int) float64 {
	if experts <= visited {
		return 0
	}
	return float64(experts-visited) / float64(experts-1)
}

// TouchedShare is the expected share of experts that some token visits: 1 − (1 − k/n)^tokens.
func (r *Routing) TouchedShare(tokens float64) float64 {
	if r.visited == r.experts {
		return 1
	}
	return -math.Expm1(tokens * r.logMiss)
}

// Busiest is the expected load of the busiest of several ranks, given the mean of their visits.
// Chance spreads loads like as many normal variables, less their own mean, of variance mean;
// somewhat less, since the visits of a token are to different experts.
func (r *Routing) Busiest(mean float64, ranks int) float64 {
	if ranks < 2 {
		return mean
	}
	return mean + r.Largest(ranks)*math.Sqrt(mean*r.scatter)
}

// MostTouched is the expected number of touched experts on the rank with the most of them, given
// the mean and the experts held per rank. Chance spreads them like as many binomial variables.
func (r *Routing) MostTouched(mean, held float64, ranks int) float64 {
	if ranks < 2 || mean >= held {
		return mean
	}
	return min(held, mean+r.Largest(ranks)*math.Sqrt(mean*(1-mean/held)))
}

// Largest is the expected largest of as many standard normal variables as ranks.
func (r *Routing) Largest(ranks int) float64 {
	l := &r.largest[uint(ranks)%places]
	if l.ranks != ranks {
		*l = largest{ranks, largestOf(float64(ranks))}
	}
	return l.value
}

// largestOf is the expected largest of n standard normal variables, by Blom's approximation: the
// quantile at (n − 3/8)/(n + 1/4).
func largestOf(n float64) float64 {
	p := (n - 0.375) / (n + 0.25)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}
