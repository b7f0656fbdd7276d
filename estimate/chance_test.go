package estimate

import (
	"math"
	"testing"
)

// TestChance compares with the table of the normal distribution: a band of 16% is a deviation of
// ln 1.16 / 1.28155 = 0.11581, and ln(50/44.7) = 0.11205 lies 0.96751 of them away, Φ = 0.8334.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		name                          string
		predicted, limit, band, noise float64
		want                          float64
	}{
		{"inside by a deviation", 44.7e-3, 50e-3, 0.16, 0, 0.8334},
		{"at the limit", 50e-3, 50e-3, 0.16, 0, 0.5},
		{"the limit is the end of the band", 1, 1.16, 0.16, 0, 0.9},
		{"over it by the band", 1.16, 1, 0.16, 0, 0.1},
		// Noise of 0.05 adds in squares: 0.12614, and 0.88830 of it are Φ = 0.8128.
		{"with noise", 44.7e-3, 50e-3, 0.16, 0.05, 0.8128},
		{"known exactly, inside", 1, 2, 0, 0, 1},
		{"known exactly, outside", 2, 1, 0, 0, 0},
	} {
		if got := Chance(c.predicted, c.limit, c.band, c.noise); math.Abs(got-c.want) > 5e-4 {
			t.Errorf("%s: %.4f, not %.4f", c.name, got, c.want)
		}
	}
}

// TestMargin: a prediction at the margin holds with the chance, and a chance of a half leaves none.
func TestMargin(t *testing.T) {
	for _, chance := range []float64{0.1, 0.5, 0.9, 0.99} {
		share := Margin(chance, 0.16, 0.05)
		if got := Chance(share, 1, 0.16, 0.05); math.Abs(got-chance) > 1e-9 {
			t.Errorf("%g of the limit holds with %g, not %g", share, got, chance)
		}
	}
	if got := Margin(0.9, 0.16, 0); math.Abs(got-1/1.16) > 1e-9 { // the band ends at 90%
		t.Errorf("%g, not 1/1.16", got)
	}
}
