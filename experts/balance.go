package experts

import (
	"math"
	"sync"
)

// Balance is how unevenly the experts of a model load the ranks that share them.
type Balance struct {
	layers  [][]load // by layer and rank
	scatter float64  // variance that chance gives a visit
	// curve is the busiest rank of the mean layer by how many visits a rank gets, at powers of 16 from 1 on.
	curve [curvePoints]float64
}

// load is the visits of a rank in units of their mean, and the variance of that from step to step.
type load struct{ mean, drift float64 }

const curvePoints = 7

// Sharing is experts on ranks.
type Sharing struct {
	Experts, Visited int // by a token
	Redundant        int // copies besides one of each
	Ranks            int
	// Groups of experts, spread over nodes first; both 1: placement is global.
	Groups, Nodes int
}

// balances are those that have been worked out. They depend on nothing else.
var balances sync.Map

type balanceKey struct {
	popularity Popularity
	sharing    Sharing
}

// BalanceOf is the balance of experts that are visited in a way. What was worked out is kept.
func BalanceOf(p *Popularity, s Sharing) (*Balance, error) {
	key := balanceKey{*p, s}
	if known, ok := balances.Load(key); ok {
		return known.(*Balance), nil
	}
	b, err := NewBalance(p, s)
	if err == nil {
		balances.Store(key, b)
	}
	return b, err
}

// NewBalance works out a balance.
func NewBalance(p *Popularity, s Sharing) (*Balance, error) {
	b := &Balance{}
	variance := math.Expm1(p.Drift * p.Drift)
	err := p.place(s, func(slots []slot) {
		ranks := make([]load, s.Ranks)
		for _, slot := range slots {
			share := slot.load * float64(s.Ranks)
			ranks[slot.rank].mean += share
			ranks[slot.rank].drift += share * share * variance
		}
		b.layers = append(b.layers, ranks)
	})
	if err != nil {
		return nil, err
	}
	b.scatter = scatterOf(s.Experts+s.Redundant, s.Visited)
	for i := range b.curve {
		for layer := range b.layers {
			b.curve[i] += b.Layer(layer, math.Ldexp(b.scatter, -4*i)) / float64(len(b.layers))
		}
	}
	return b, nil
}

// Layer is the expected load of the busiest rank of a layer in units of the mean, where chance gives a rank a variance of so
// much times its load. Of equal ranks it is what Routing.Busiest says, where five eighths of one of as many normal
// variables, nearly, exceed the largest that is expected; here these differ.
func (b *Balance) Layer(layer int, noise float64) float64 {
	ranks := b.layers[layer]
	n := float64(len(ranks))
	if n == 1 {
		return 1
	}
	low, high := 1.0, 1.0
	for i := range ranks {
		low = max(low, ranks[i].mean) // never less than that which gets the most on average
		high = max(high, ranks[i].mean+4*math.Sqrt(ranks[i].drift+noise*ranks[i].mean))
	}
	exceeding := n * 0.625 / (n + 0.25)
	for range 16 {
		if at := (low + high) / 2; above(ranks, noise, at) > exceeding {
			low = at
		} else {
			high = at
		}
	}
	return (low + high) / 2
}

// above is how many of the ranks are expected to have more than a load.
func above(ranks []load, noise, at float64) float64 {
	sum := 0.0
	for i := range ranks {
		r := &ranks[i]
		variance := r.drift + noise*r.mean
		switch d := at - r.mean; {
		case d*d > 20*variance: // beyond four and a half standard deviations there is nothing to count
			if d < 0 {
				sum++
			}
		default:
			sum += math.Erfc(d/math.Sqrt(2*variance)) / 2
		}
	}
	return sum
}

// ByLayer is the expected load of the busiest rank of each layer in units of the mean, which is so many visits.
func (b *Balance) ByLayer(visits float64) []float64 {
	out := make([]float64, len(b.layers))
	for layer := range out {
		out[layer] = b.Layer(layer, b.scatter/max(1, visits))
	}
	return out
}

// Uneven is the load of the busiest rank in units of the mean, of a layer on average, where there are so many visits that
// chance adds nothing.
func (b *Balance) Uneven() float64 { return b.curve[curvePoints-1] }

// Busiest is the expected load of the busiest rank in units of the mean, which is so many visits, of a layer on average.
func (b *Balance) Busiest(visits float64) float64 {
	visits = max(1, visits)
	i := min(math.Ilogb(visits)/4, curvePoints-2)
	// Chance adds in proportion to the root of one over the visits.
	part := min(1, (1-math.Sqrt(math.Ldexp(1, 4*i)/visits))/0.75)
	return b.curve[i] + part*(b.curve[i+1]-b.curve[i])
}
