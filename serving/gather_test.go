package serving

import (
	"math"
	"testing"
)

// TestGather: of 0.1 prompts a step, 2 come in the 20 steps that the first waits: 3 have 20 + 2·10
// steps together, and a step in thirty has prompts. Two ranks balance within 10 steps, in which 1
// comes on average: with e⁻¹ = 0.368, any comes in 0.632 of the rounds and two in 0.264, so that a
// round has 0.896 prompts, which wait for 0.264/0.1 steps together.
func TestGather(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-3 }
	hold := waves{hold: 20, holds: 8, clients: 4, group: 4}
	if g := hold.gather(0.1, 0.1); !near(g.wait, 40./3) || !near(g.share, 0.1/3) || !near(g.beside, 8./3) {
		t.Errorf("%+v", g)
	}
	// A step of three is full when two more have come.
	hold.holds = 3
	if g := hold.gather(0.2, 0.2); !near(g.wait, 10*2./3) {
		t.Errorf("%+v", g)
	}
	balance := waves{balance: 10, balanced: 2, holds: 8, clients: 4, group: 8}
	if g := balance.gather(0.05, 0.1); !near(g.wait, 0.2642/0.1/0.8963) || !near(g.share, 0.1*0.6321/0.8963) || !near(g.elsewhere, 0.8963/0.6321-1) {
		t.Errorf("%+v", g)
	}
	// With fewer clients than ranks never all have one: all wait for the end of the time, half of
	// it on average.
	balance.balanced, balance.group = 64, 8
	if g := balance.gather(0.05, 0.1); !near(g.wait, 5) {
		t.Errorf("%+v", g)
	}
	if g := (&waves{holds: 8}).gather(0.1, 0.1); g.wait != 0 {
		t.Errorf("%+v", g)
	}
}

// TestServedAlone: without a time for further prompts a step takes alone, and the one before it is
// half over on average, which is busy with the probability a/(a + e⁻ᵃ). With such a time, s solves
// s = alone + more·(rate·s − 1 + e^(−rate·s)), here by halving intervals; close to saturation it is
// the longest.
func TestServedAlone(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-6*want }
	w := waves{alone: 0.2, more: 0, full: 0.1, holds: 8}
	for _, all := range []float64{1e-9, 1, 5, 40} {
		a := all * 0.2
		if got, want := w.served(all/2, all), 0.2+a/(a+math.Exp(-a))*0.1; !near(got, want) {
			t.Errorf("at %g/s: %g, want %g", all, got, want)
		}
	}
	w = waves{alone: 0.2, more: 0.1, full: 0.1, holds: 80}
	for _, rate := range []float64{1, 5, 9.2, 9.7} {
		low, high := 0.2, 8.
		for range 100 {
			if s := (low + high) / 2; 0.2+0.1*(rate*s+math.Expm1(-rate*s)) > s {
				low = s
			} else {
				high = s
			}
		}
		a := rate * low
		if got, want := w.served(rate, rate), 0.2+a/(a+math.Exp(-a))*(low/2+min(a, 79)*0.1); !near(got, want) {
			t.Errorf("at %g/s: %g, want %g", rate, got, want)
		}
	}
	// Eleven prompts of 0.1 s a second are more than there is time for: steps are as long as they
	// can be.
	if got, want := w.served(11, 11), 0.2+1*(4+79*0.1); !near(got, want) {
		t.Errorf("beyond what there is time for: %g, want %g", got, want)
	}
}
