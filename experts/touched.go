package experts

import (
	"math"
	"sync"
)

// Touched is how many of their experts the tokens of a step visit, on ranks that share them.
type Touched struct {
	// hazard is what each token takes off the logarithm of the share that is not visited yet, by powers of two of the tokens: the
	// same for all where experts are visited alike, and the less the more tokens there are where some are hardly visited.
	hazard [touchedPoints]float64
	// most is the share of its own that the rank has visited which has the most, in units of the mean.
	most [touchedPoints]float64
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
	var missed, most [touchedPoints]float64
	layers := float64(p.layers())
	err := p.place(s, func(slots []slot) {
		for i := range missed {
			m, b := p.touch(slots, s, math.Ldexp(1, i))
			missed[i] += m / layers
			most[i] += b / layers
		}
	})
	t := &Touched{}
	for i := range missed {
		t.hazard[i] = -math.Log(max(missed[i], math.SmallestNonzeroFloat64)) / math.Ldexp(1, i)
		t.most[i] = most[i] / (1 - missed[i])
	}
	return t, err
}

// touch is the share of the experts of a layer that so many tokens pass by, and the share of its own that the rank with the most
// is expected to have visited.
func (p *Popularity) touch(slots []slot, s Sharing, tokens float64) (missed, most float64) {
	ranks := make([]load, s.Ranks)
	held := float64(len(slots)) / float64(s.Ranks)
	drifted := p.drifted()
	for _, slot := range slots {
		m := 0.0
		for _, d := range drifted {
			m += d.weight * math.Pow(1-min(1, d.times*slot.load*float64(s.Visited)), tokens)
		}
		missed += m / float64(len(slots))
		r := &ranks[slot.rank]
		r.mean += (1 - m) / held
		r.drift += m * (1 - m) / (held * held)
	}
	mean := 1 - missed
	for i := range ranks { // in units of the mean, as loads are
		ranks[i].mean /= mean
		ranks[i].drift /= mean * mean
	}
	one := Balance{layers: [][]load{ranks}}
	return missed, min(1, mean*one.Layer(0, 0))
}

// drifts is the visits of an expert in a step in units of those on average, and how likely it is.
type drifts struct{ times, weight float64 }

// drifted is what popularity does from step to step: three points that have the first moments of a normal distribution, of the logarithm.
func (p *Popularity) drifted() [3]drifts {
	far := math.Exp(math.Sqrt(3) * p.Drift)
	mean := (far+1/far)/6 + 2./3
	return [3]drifts{{1 / far / mean, 1. / 6}, {1 / mean, 2. / 3}, {far / mean, 1. / 6}}
}

// at is a curve at so many tokens, and the tokens.
func at(curve *[touchedPoints]float64, tokens float64) float64 {
	x := math.Log2(max(1, tokens))
	i := min(int(x), touchedPoints-2)
	return curve[i] + min(1, x-float64(i))*(curve[i+1]-curve[i])
}

// Share is the expected share of the experts that at least one of the tokens visits.
func (t *Touched) Share(tokens float64) float64 { return -math.Expm1(-tokens * at(&t.hazard, tokens)) }

// Most is the same of the rank of which they visit the most.
func (t *Touched) Most(tokens float64) float64 { return min(1, t.Share(tokens)*at(&t.most, tokens)) }
