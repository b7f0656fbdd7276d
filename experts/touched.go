package experts

import (
	"math"
	"sync"
)

// Touched is how many of their experts the tokens of a step visit, on ranks that share them.
type Touched struct {
	layers  [][]slot
	ranks   int
	visited float64    // by a token
	times   [3]float64 // popularity of an expert in a step over its mean, at each of the drifts
	known   points
	curves  [touchedPoints]touch // by powers of two of the tokens
}

// touch is the effect of a number of tokens.
type touch struct {
	// hazard is what each token takes off the logarithm of the unvisited share: constant for even
	// visits, falling with the tokens where some experts are hardly visited.
	hazard float64
	// most is the visited share of the rank that has the most, over the mean.
	most float64
}

const touchedPoints = 17

// touched caches results, which depend on the key alone.
var touched sync.Map

// TouchedOf is what tokens touch under a popularity, cached.
func TouchedOf(p *Popularity, s Sharing) (*Touched, error) { return cached(&touched, p, s, newTouched) }

func newTouched(p *Popularity, s Sharing) (*Touched, error) {
	layers, err := p.placed(s)
	t := &Touched{layers: layers, ranks: s.Ranks, visited: float64(s.Visited)}
	mean := 0.0
	for i, d := range drifts {
		t.times[i] = math.Exp(p.Drift * d.at)
		mean += d.weight * t.times[i]
	}
	for i := range t.times {
		t.times[i] /= mean
	}
	return t, err
}

// learn computes a point of the curves.
func (t *Touched) learn(i int) {
	var missed, most float64
	for _, slots := range t.layers {
		m, b := t.layer(slots, i)
		missed += m / float64(len(t.layers))
		most += b / float64(len(t.layers))
	}
	t.curves[i] = touch{-math.Log(max(missed, math.SmallestNonzeroFloat64)) / math.Ldexp(1, i), most / (1 - missed)}
}

// drifts are three points with the first moments of a standard normal distribution, weighted.
var drifts = [3]struct{ at, weight float64 }{{-math.Sqrt(3), 1. / 6}, {0, 2. / 3}, {math.Sqrt(3), 1. / 6}}

// passed is the chance that 2^power tokens miss a copy of an expert with a share of the visits.
func (t *Touched) passed(share float64, power int) float64 {
	one := func(times float64) float64 { return 1 - min(1, times*share*t.visited) }
	less, mean, more := one(t.times[0]), one(t.times[1]), one(t.times[2])
	for range power { // twice as many
		less, mean, more = less*less, mean*mean, more*more
	}
	return drifts[0].weight*less + drifts[1].weight*mean + drifts[2].weight*more
}

// layer is the share of experts that 2^power tokens miss, and the visited share of the top rank.
func (t *Touched) layer(slots []slot, power int) (missed, most float64) {
	on := make([]load, t.ranks)
	held := float64(len(slots)) / float64(t.ranks)
	for e := range slots {
		m := t.passed(slots[e].load, power)
		missed += m / float64(len(slots))
		r := &on[slots[e].rank]
		r.mean += (1 - m) / held
		r.drift += m * (1 - m) / (held * held)
	}
	mean := 1 - missed
	for i := range on { // relative to the mean, as loads are
		on[i].mean /= mean
		on[i].drift /= mean * mean
	}
	return missed, min(1, mean*busiest(on, 0))
}

// at interpolates the curves at a number of tokens.
func (t *Touched) at(tokens float64) touch {
	x := math.Log2(max(1, tokens))
	before := min(int(x), touchedPoints-2)
	if both := pair(before); !t.known.has(both) {
		t.known.learn(both, t.learn)
	}
	part := min(1, x-float64(before))
	first, second := &t.curves[before], &t.curves[before+1]
	return touch{first.hazard + part*(second.hazard-first.hazard), first.most + part*(second.most-first.most)}
}

// Share is the expected share of experts that some token visits, the same on any number of ranks.
func (t *Touched) Share(tokens float64) float64 { return -math.Expm1(-tokens * t.at(tokens).hazard) }

// Shares adds the share of the rank of which tokens visit the most.
func (t *Touched) Shares(tokens float64) (all, most float64) {
	at := t.at(tokens)
	all = -math.Expm1(-tokens * at.hazard)
	return all, min(1, all*at.most)
}
