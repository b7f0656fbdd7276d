package experts

import (
	"math"
	"sync"
)

// Touched is how many of their experts the tokens of a step visit, on ranks that share them.
type Touched struct {
	popularity Popularity
	visited    int
	ranks      int
	layers     [][]slot
	// hazard is what each token takes off the logarithm of the share that is not visited yet, by powers of two of the tokens: the
	// same for all where experts are visited alike, and the less the more tokens there are where some are hardly visited.
	hazard [touchedPoints]float64
	// most is the share of its own that the rank has visited which has the most, in units of the mean.
	most  [touchedPoints]float64
	known points
}

const touchedPoints = 17

// touched are those that have been worked out. They depend on nothing else.
var touched sync.Map

// TouchedOf is what tokens touch that visit experts in a way. What was worked out is kept.
func TouchedOf(p *Popularity, s Sharing) (*Touched, error) {
	key := balanceKey{*p, s}
	if known, ok := touched.Load(key); ok {
		return known.(*Touched), nil
	}
	t, err := newTouched(p, s)
	if err == nil {
		touched.Store(key, t)
	}
	return t, err
}

func newTouched(p *Popularity, s Sharing) (*Touched, error) {
	layers, err := p.placed(s)
	return &Touched{popularity: *p, visited: s.Visited, ranks: s.Ranks, layers: layers}, err
}

// learn works out a point of the curves. Most are never asked for.
func (t *Touched) learn(i int) {
	var missed, most float64
	for _, slots := range t.layers {
		passed := t.popularity.passed(slots, t.visited)
		for range i { // by twice as many tokens
			for e := range passed {
				for d := range passed[e] {
					passed[e][d] *= passed[e][d]
				}
			}
		}
		m, b := touch(slots, passed, t.ranks)
		missed += m / float64(len(t.layers))
		most += b / float64(len(t.layers))
	}
	t.hazard[i] = -math.Log(max(missed, math.SmallestNonzeroFloat64)) / math.Ldexp(1, i)
	t.most[i] = most / (1 - missed)
}

// drifts are three points with the first moments of a standard normal distribution, and their weights.
var drifts = [3]struct{ at, weight float64 }{{-math.Sqrt(3), 1. / 6}, {0, 2. / 3}, {math.Sqrt(3), 1. / 6}}

// passed is how likely a token passes copies of experts by, where each is more or less popular in a step than on average.
func (p *Popularity) passed(slots []slot, visited int) [][3]float64 {
	var times [3]float64
	mean := 0.0
	for i, d := range drifts {
		times[i] = math.Exp(p.Drift * d.at)
		mean += d.weight * times[i]
	}
	out := make([][3]float64, len(slots))
	for e := range slots {
		for i := range times {
			out[e][i] = 1 - min(1, times[i]/mean*slots[e].load*float64(visited))
		}
	}
	return out
}

// touch is the share of the experts of a layer that are passed by, and the share of its own that the rank with the most is expected to
// have visited.
func touch(slots []slot, passed [][3]float64, ranks int) (missed, most float64) {
	on := make([]load, ranks)
	held := float64(len(slots)) / float64(ranks)
	for e := range slots {
		m := 0.0
		for i, d := range drifts {
			m += d.weight * passed[e][i]
		}
		missed += m / float64(len(slots))
		r := &on[slots[e].rank]
		r.mean += (1 - m) / held
		r.drift += m * (1 - m) / (held * held)
	}
	mean := 1 - missed
	for i := range on { // in units of the mean, as loads are
		on[i].mean /= mean
		on[i].drift /= mean * mean
	}
	return missed, min(1, mean*busiest(on, 0))
}

// place is where so many tokens lie on the curves: the point before, and how far it is from there to the next.
func (t *Touched) place(tokens float64) (before int, part float64) {
	x := math.Log2(max(1, tokens))
	before = min(int(x), touchedPoints-2)
	for i := before; i < before+2; i++ {
		if !t.known.has(i) {
			t.known.learn(i, func() { t.learn(i) })
		}
	}
	return before, min(1, x-float64(before))
}

// at is a curve at a place.
func at(curve *[touchedPoints]float64, before int, part float64) float64 {
	return curve[before] + part*(curve[before+1]-curve[before])
}

// Share is the expected share of the experts that at least one of the tokens visits. It is the same on any number of ranks.
func (t *Touched) Share(tokens float64) float64 {
	before, part := t.place(tokens)
	return -math.Expm1(-tokens * at(&t.hazard, before, part))
}

// Shares is that, and the same of the rank of which they visit the most.
func (t *Touched) Shares(tokens float64) (all, most float64) {
	before, part := t.place(tokens)
	all = -math.Expm1(-tokens * at(&t.hazard, before, part))
	return all, min(1, all*at(&t.most, before, part))
}
