package experts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"throughline/internal/test/long"
)

func routing(experts, visited int) *Routing {
	var r Routing
	r.Set(experts, visited)
	return &r
}

func TestTouchedShare(t *testing.T) {
	// One token visits 8 of 256. Two tokens miss an expert with (248/256)² = 0.9385: 0.0615 of them
	// are touched.
	r := routing(256, 8)
	for tokens, want := range map[float64]float64{0: 0, 1: 0.03125, 2: 0.0615234375, 1e6: 1} {
		if got := r.TouchedShare(tokens); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v tokens touch %v of the experts, want %v", tokens, got, want)
		}
	}
	if got := routing(4, 4).TouchedShare(1); got != 1 {
		t.Errorf("a token that visits all experts touches %v of them", got)
	}
	r.Set(4, 1)
	if got := r.TouchedShare(2); math.Abs(got-0.4375) > 1e-12 { // 1 − (3/4)²
		t.Errorf("two tokens touch %v of four experts", got)
	}
}

// The expected largest of n standard normal variables, from the usual tables.
func TestLargest(t *testing.T) {
	for n, want := range map[float64]float64{2: 0.5642, 3: 0.8463, 8: 1.4236, 32: 2.0697, 100: 2.5076} {
		if got := largestOf(n); math.Abs(got-want) > 0.05*want {
			t.Errorf("the largest of %v is %v, want %v", n, got, want)
		}
	}
}

// TestBusiest compares what the busiest rank gets beyond its share with the mean of simulated
// steps, in which every token visits different experts.
func TestBusiest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ experts, visited, ranks, tokens int }{
		{256, 8, 2, 200}, {256, 8, 8, 100}, {256, 8, 32, 400}, {256, 8, 64, 320}, {8, 2, 4, 300}, {16, 12, 4, 300},
	} {
		const steps = 1000
		sum := 0.0
		for range steps {
			load, most := make([]int, c.ranks), 0
			last := make([]int, c.experts) // token that visited an expert last
			for token := range c.tokens {
				for range c.visited {
					e := rng.IntN(c.experts)
					for last[e] == token+1 { // visited already
						e = rng.IntN(c.experts)
					}
					last[e] = token + 1
					rank := e * c.ranks / c.experts
					load[rank]++
					most = max(most, load[rank])
				}
			}
			sum += float64(most)
		}
		mean := float64(c.tokens*c.visited) / float64(c.ranks)
		got, simulated := routing(c.experts, c.visited).Busiest(mean, c.ranks)-mean, sum/steps-mean
		if math.Abs(got-simulated) > 0.08*simulated {
			t.Errorf("%+v: the busiest gets %.2f more than its %.0f, simulated %.2f", c, got, mean, simulated)
		}
	}
	r := routing(256, 8)
	if got := r.Busiest(10, 1); got != 10 {
		t.Errorf("a single rank gets %v of 10", got)
	}
	// Where every token visits every expert, nothing is left to chance.
	if got := routing(8, 8).Busiest(10, 4); got != 10 {
		t.Errorf("the busiest of equal ranks gets %v of 10", got)
	}
	// What is remembered of one number of ranks is not used for another.
	two, four := r.Busiest(100, 2), r.Busiest(100, 4)
	if again := r.Busiest(100, 2); two >= four || again != two {
		t.Errorf("the busiest of 2 gets %v, of 4 %v, of 2 again %v", two, four, again)
	}
}

// TestMostTouched: against routing drawn at random. DeepSeek-V3 on 4 to 32 ranks.
func TestMostTouched(t *testing.T) {
	long.NotRacing(t)
	const routed, topK = 256, 8
	r := routing(routed, topK)
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ ranks, tokens int }{{8, 1}, {8, 4}, {8, 16}, {8, 64}, {4, 16}, {32, 4}, {32, 32}} {
		held := routed / c.ranks
		const draws = 2000
		sum := 0
		for range draws {
			touched := map[int]bool{}
			for range c.tokens {
				for _, e := range random.Perm(routed)[:topK] {
					touched[e] = true
				}
			}
			counts := make([]int, c.ranks)
			for e := range touched {
				counts[e/held]++
			}
			sum += slices.Max(counts)
		}
		drawn := float64(sum) / draws
		got := r.MostTouched(float64(held)*r.TouchedShare(float64(c.tokens)), float64(held), c.ranks)
		if math.Abs(got-drawn) > 0.12*drawn {
			t.Errorf("%d tokens on %d ranks touch %.2f experts of one of them, drawn %.2f", c.tokens, c.ranks, got, drawn)
		}
	}
	if got := r.MostTouched(3, 256, 1); got != 3 {
		t.Errorf("one rank: %v, want 3", got)
	}
}
