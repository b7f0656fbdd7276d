package experts

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func touchedOf(t testing.TB, p Popularity, s Sharing) *Touched {
	t.Helper()
	s.Groups, s.Nodes = 1, 1
	out, err := TouchedOf(&p, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mostOf is the share of its experts that tokens touch on the rank of which they touch the most.
func mostOf(t *Touched, tokens float64) float64 {
	_, most := t.Shares(tokens)
	return most
}

// TestTouchedByHand: two experts, one of which is visited by three quarters of the tokens. Of two
// tokens the first passes one expert by in 1/16 and the other in 9/16 of the cases, so that 1 −
// (1/16 + 9/16)/2 = 11/16 are touched, where it were 3/4 of even ones.
func TestTouchedByHand(t *testing.T) {
	uneven := Popularity{Counts: &Counts{Layers: [][]float64{{3, 1}}}}
	even := Popularity{Counts: &Counts{Layers: [][]float64{{1, 1}}}}
	s := Sharing{Experts: 2, Visited: 1, Ranks: 1}
	for _, c := range []struct {
		p            Popularity
		tokens, want float64
	}{{uneven, 1, 1. / 2}, {uneven, 2, 11. / 16}, {even, 2, 3. / 4}, {even, 4, 15. / 16}, {uneven, 4, 1 - (1./256+81./256)/2}} {
		if got := touchedOf(t, c.p, s).Share(c.tokens); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v tokens touch %v of the experts, by hand %v", c.tokens, got, c.want)
		}
	}
	// On two ranks the first holds the popular one. After many tokens both have been visited.
	two := touchedOf(t, uneven, Sharing{Experts: 2, Visited: 1, Ranks: 2})
	if got := mostOf(two, 1); got < 0.75 || got > 1 {
		t.Errorf("of a rank with an expert that 3/4 of the tokens visit, %v are touched", got)
	}
	if got := mostOf(two, 1<<14); got != 1 {
		t.Errorf("of the experts of a rank %v are touched by many tokens", got)
	}
}

// TestEvenTouched: experts that are visited alike are touched as Routing says it in closed form,
// between the points of the curve, too.
func TestEvenTouched(t *testing.T) {
	r := routing(256, 8)
	for _, ranks := range []int{1, 8, 64} {
		even := touchedOf(t, Popularity{}, Sharing{Experts: 256, Visited: 8, Ranks: ranks})
		for _, tokens := range []float64{1, 3, 16, 25, 100, 700} {
			want := r.TouchedShare(tokens)
			if got := even.Share(tokens); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v tokens touch %v, in closed form %v", tokens, got, want)
			}
			held := 256 / float64(ranks)
			most := r.MostTouched(held*want, held, ranks) / held
			if got := mostOf(even, tokens); math.Abs(got-most) > 0.02*most {
				t.Errorf("%v tokens on %d ranks touch %v of one, in closed form %v", tokens, ranks, got, most)
			}
		}
	}
}

// TestTouchedDrawn: against tokens that are drawn one by one, each of which visits different
// experts, in steps in which their popularity drifts. Shares of visits are those that were drawn:
// of the popular ones fewer than their weights say, since a token visits each once.
func TestTouchedDrawn(t *testing.T) {
	const routed, topK, steps = 128, 4, 300
	rng := rand.New(rand.NewPCG(3, 4))
	p := Popularity{Spread: 0.46, Blocks: 0.27, Drift: 0.175}
	weights := make([]float64, routed)
	now := make([]float64, routed)
	step := func(tokens int, visits []float64) (share, most float64) {
		total := 0.0
		for e := range now {
			now[e] = weights[e] * math.Exp(p.Drift*rng.NormFloat64())
			total += now[e]
		}
		touched := make([]bool, routed)
		for range tokens {
			chosen := map[int]bool{}
			for len(chosen) < topK {
				e, at := 0, rng.Float64()*total
				for at > now[e] && e < routed-1 {
					at -= now[e]
					e++
				}
				chosen[e] = true
			}
			for e := range chosen {
				touched[e] = true
				visits[e]++
			}
		}
		var ranks [8]float64
		for e, is := range touched {
			if is {
				share += 1. / routed
				ranks[e*8/routed] += 8. / routed
			}
		}
		return share, slices.Max(ranks[:])
	}
	for _, tokens := range []int{4, 16, 64, 256} {
		counts := &Counts{}
		var share, most float64
		for layer := range draws {
			p.shares(layer, weights)
			visits := make([]float64, routed)
			for range steps / draws {
				s, m := step(tokens, visits)
				share += s / steps
				most += m / steps
			}
			counts.Layers = append(counts.Layers, visits)
		}
		for name, c := range map[string]struct{ got, want, near float64 }{
			"all":              {touchedOf(t, p, Sharing{Experts: routed, Visited: topK, Ranks: 8}).Share(float64(tokens)), share, 0.01},
			"of the most":      {mostOf(touchedOf(t, p, Sharing{Experts: routed, Visited: topK, Ranks: 8}), float64(tokens)), most, 0.05},
			"by counts of all": {touchedOf(t, Popularity{Counts: counts}, Sharing{Experts: routed, Visited: topK, Ranks: 8}).Share(float64(tokens)), share, 0.03},
		} {
			t.Logf("%d tokens, %s: %.4f, drawn %.4f", tokens, name, c.got, c.want)
			if math.Abs(c.got/c.want-1) > c.near {
				t.Errorf("%d tokens, %s: %.4f, drawn %.4f", tokens, name, c.got, c.want)
			}
		}
	}
}

// TestTouchedLaws: fewer are touched where some are preferred; more tokens never touch fewer;
// copies of popular experts are touched as often as others.
func TestTouchedLaws(t *testing.T) {
	s := Sharing{Experts: 256, Visited: 8, Ranks: 8}
	even, uneven := touchedOf(t, Popularity{}, s), touchedOf(t, published, s)
	last := [2]float64{}
	for tokens := 1.0; tokens < 1e6; tokens *= 1.3 {
		now := [2]float64{uneven.Share(tokens), mostOf(uneven, tokens)}
		if now[0] > even.Share(tokens)*(1+1e-9) {
			t.Errorf("%.0f tokens touch %v of uneven experts, %v of even ones", tokens, now[0], even.Share(tokens))
		}
		for i := range now {
			if now[i] < last[i] || now[i] > 1 || now[1] < now[0] {
				t.Errorf("%.0f tokens touch %v, fewer %v", tokens, now, last)
			}
		}
		last = now
	}
	copied := touchedOf(t, published, Sharing{Experts: 256, Visited: 8, Ranks: 8, Redundant: 64})
	if a, b := mostOf(copied, 16)/copied.Share(16), mostOf(uneven, 16)/uneven.Share(16); a >= b {
		t.Errorf("with copies the rank with the most has %.3f of the mean, without %.3f", a, b)
	}
}

// TestShareOnAnyRanks: how many experts are touched in all has nothing to do with where they lie,
// to the last digit, so that one table says both.
func TestShareOnAnyRanks(t *testing.T) {
	for _, redundant := range []int{0, 1, 32, 95} {
		p := Popularity{Spread: 0.46, Blocks: 0.27, Drift: 0.175}
		one := touchedOf(t, p, Sharing{Experts: 256, Visited: 8, Redundant: redundant, Ranks: 1})
		for _, ranks := range []int{2, 8, 72, 256} {
			more := touchedOf(t, p, Sharing{Experts: 256, Visited: 8, Redundant: redundant, Ranks: ranks})
			for _, tokens := range []float64{0.5, 1, 7, 300, 1e6} {
				if all, most := more.Shares(tokens); all != one.Share(tokens) || all != more.Share(tokens) || most < all*(1-1e-6) {
					t.Errorf("%v tokens touch %v of the experts on %d ranks, %v of one, and %v of one rank", tokens, all, ranks, one.Share(tokens), most)
				}
			}
		}
	}
}

// TestPointsInAnyOrder: what is worked out of a curve does not depend on what was asked before, nor
// on who else asks.
func TestPointsInAnyOrder(t *testing.T) {
	s := Sharing{Experts: 64, Visited: 8, Redundant: 8, Ranks: 8, Groups: 1, Nodes: 1}
	sizes := []float64{1, 3, 50, 700, 1e4, 1e6}
	ask := func(b *Balance, u *Touched, size float64) [3]float64 {
		all, most := u.Shares(size)
		return [3]float64{b.Busiest(size), all, most}
	}
	fresh := func() (*Balance, *Touched) {
		b, err := NewBalance(&published, s)
		u, also := newTouched(&published, s)
		if err != nil || also != nil {
			t.Fatal(err, also)
		}
		return b, u
	}
	shared, also := fresh()
	var wait sync.WaitGroup
	for i, size := range sizes {
		alone, too := fresh()
		want := ask(alone, too, size)
		for range 4 {
			wait.Go(func() {
				for k := range sizes { // each in another order
					ask(shared, also, sizes[(i+k)%len(sizes)])
				}
				if got := ask(shared, also, size); got != want {
					t.Errorf("%v of %v visits among others, %v alone", got, size, want)
				}
			})
		}
	}
	wait.Wait()
}
