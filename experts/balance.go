package experts

import (
	"math"
	"sync"
)

// Balance is how unevenly the experts of a model load the ranks that share them.
type Balance struct {
	layers   [][]slot
	ranks    int
	variance float64 // of an expert's visits from step to step, relative to their square
	scatter  float64 // variance of a visit by chance
	// curve is the busiest rank of the mean layer by visits per rank, at powers of 16 from 1 on.
	curve [curvePoints]float64
	known points
}

// load is the visits of a rank relative to the mean, and their variance from step to step.
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

// balances caches results, which depend on the key alone.
var balances sync.Map

// BalanceOf is the balance of experts under a popularity, cached.
func BalanceOf(p *Popularity, s Sharing) (*Balance, error) {
	return cached(&balances, p, s, NewBalance)
}

// cached is what follows from a popularity and a sharing, computed once.
func cached[V any](known *sync.Map, p *Popularity, s Sharing, compute func(*Popularity, Sharing) (V, error)) (V, error) {
	type key struct {
		popularity Popularity
		sharing    Sharing
	}
	if v, ok := known.Load(key{*p, s}); ok {
		return v.(V), nil
	}
	v, err := compute(p, s)
	if err == nil {
		known.Store(key{*p, s}, v)
	}
	return v, err
}

// NewBalance places the experts; the curve is computed on demand.
func NewBalance(p *Popularity, s Sharing) (*Balance, error) {
	layers, err := p.placed(s)
	return &Balance{layers: layers, ranks: s.Ranks, variance: math.Expm1(p.Drift * p.Drift), scatter: scatterOf(s.Experts+s.Redundant, s.Visited)}, err
}

// learn computes a point of the curve.
func (b *Balance) learn(i int) {
	b.curve[i] = 0
	for _, busiest := range b.byLayer(math.Ldexp(b.scatter, -4*i)) {
		b.curve[i] += busiest / float64(len(b.layers))
	}
}

// byLayer is the load of each layer's busiest rank over the mean; noise is the variance by chance.
func (b *Balance) byLayer(noise float64) []float64 {
	out := make([]float64, len(b.layers))
	ranks := make([]load, b.ranks)
	for layer, slots := range b.layers {
		clear(ranks)
		for _, slot := range slots {
			share := slot.load * float64(b.ranks)
			ranks[slot.rank].mean += share
			ranks[slot.rank].drift += share * share * b.variance
		}
		out[layer] = busiest(ranks, noise)
	}
	return out
}

// busiest is the expected load of the busiest rank over the mean; noise is the variance of a load
// of 1 by chance. For equal ranks it agrees with Routing.Busiest, where about five eighths of one
// of as many normal variables exceed the expected largest; here ranks differ.
func busiest(ranks []load, noise float64) float64 {
	n := float64(len(ranks))
	if n == 1 {
		return 1
	}
	low, high := 1.0, 1.0
	for i := range ranks {
		low = max(low, ranks[i].mean) // at least the highest mean
		high = max(high, ranks[i].mean+4*math.Sqrt(ranks[i].drift+noise*ranks[i].mean))
	}
	most := n * 0.625 / (n + 0.25)
	for range 16 {
		if at := (low + high) / 2; exceeding(ranks, noise, at, most) {
			low = at
		} else {
			high = at
		}
	}
	return (low + high) / 2
}

// exceeding reports whether more ranks than most are expected to exceed a load.
func exceeding(ranks []load, noise, at, most float64) bool {
	sum := 0.0
	for i := range ranks {
		r := &ranks[i]
		variance := r.drift + noise*r.mean
		switch d := at - r.mean; {
		case d*d > 20*variance: // nothing to count beyond four and a half standard deviations
			if d < 0 {
				sum++
			}
		default:
			sum += math.Erfc(d/math.Sqrt(2*variance)) / 2
		}
		if sum > most { // the others only add to it
			return true
		}
	}
	return false
}

// ByLayer is the expected load of the busiest rank of each layer over the mean of visits.
func (b *Balance) ByLayer(visits float64) []float64 { return b.byLayer(b.scatter / max(1, visits)) }

// Uneven is the load of the busiest rank over the mean, averaged over layers, without chance.
func (b *Balance) Uneven() float64 {
	const last = curvePoints - 1
	if !b.known.has(1 << last) {
		b.known.learn(1<<last, b.learn)
	}
	return b.curve[last]
}

// Busiest is the expected load of the busiest rank over the mean of visits, averaged over layers.
func (b *Balance) Busiest(visits float64) float64 {
	visits = max(1, visits)
	i := min(math.Ilogb(visits)/4, curvePoints-2)
	// Chance adds in proportion to the root of one over the visits.
	part := min(1, (1-math.Sqrt(float64(int(1)<<(4*i))/visits))/0.75)
	if both := pair(i); !b.known.has(both) {
		b.known.learn(both, b.learn)
	}
	return b.curve[i] + part*(b.curve[i+1]-b.curve[i])
}
