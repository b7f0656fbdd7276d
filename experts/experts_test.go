package experts

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTouchedShare(t *testing.T) {
	// One token visits 8 of 256. Two tokens miss an expert with (248/256)² = 0.9385: 0.0615 of them are touched.
	v := NewVisits(256, 8)
	for tokens, want := range map[float64]float64{0: 0, 1: 8.0 / 256, 2: 1 - 248.0*248/(256*256)} {
		if got := v.TouchedShare(tokens); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v tokens touch %v of the experts, want %v", tokens, got, want)
		}
	}
	all := NewVisits(4, 4)
	if got := all.TouchedShare(1); got != 1 {
		t.Errorf("a token that visits all experts touches %v of them", got)
	}
}

// TestBusiest compares with the mean of simulated steps.
func TestBusiest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ ranks, visits int }{{8, 800}, {32, 3200}, {64, 64 * 40}} {
		const steps = 400
		sum := 0.0
		for range steps {
			load := make([]int, c.ranks)
			most := 0
			for range c.visits {
				r := rng.IntN(c.ranks)
				load[r]++
				most = max(most, load[r])
			}
			sum += float64(most)
		}
		mean := float64(c.visits) / float64(c.ranks)
		got, simulated := Busiest(mean, c.ranks), sum/steps
		if math.Abs(got-simulated)/simulated > 0.1 {
			t.Errorf("%d visits on %d ranks: busiest %.1f, simulated %.1f", c.visits, c.ranks, got, simulated)
		}
	}
	if got := Busiest(10, 1); got != 10 {
		t.Errorf("a single rank gets %v of 10", got)
	}
}
