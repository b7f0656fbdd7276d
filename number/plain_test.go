package number_test

import (
	"testing"

	"throughline/number"
)

// Numbers for people have no exponents.
func TestPlain(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 4, "0"}, {5014.2, 3, "5014"}, {5014.6, 4, "5015"}, {290.04363, 4, "290"}, {70.657, 4, "70.66"}, {0.98612, 3, "0.986"},
		{12, 3, "12"}, {1e6, 3, "1000000"}, {0.00123456, 3, "0.00123"}, {-3.14159, 3, "-3.14"}, {9.9996, 4, "10"}, {1e-9, 3, "1e-09"}, {1e18, 3, "1e+18"},
	} {
		if got := number.Plain(c.v, c.digits); got != c.want {
			t.Errorf("Plain(%g, %d) = %s, want %s", c.v, c.digits, got, c.want)
		}
	}
}

func TestBand(t *testing.T) {
	for band, want := range map[float64]string{0.134: "±13%", 1: "±100%", 4.2: "×÷5.2"} {
		if got := number.Band(band); got != want {
			t.Errorf("Band(%v) = %q, want %q", band, got, want)
		}
	}
}

// TestCount: one thing is not several.
func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 processors", 1: "1 processor", 4: "4 processors"} {
		if got := number.Count(n, "processor"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
