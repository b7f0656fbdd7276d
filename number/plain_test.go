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

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000"} {
		if got := number.Grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		digits  int
		want    string
	}{
		{3.588, 2, "3.6 s"}, {0.0447, 3, "44.7 ms"}, {0.9999, 3, "1 s"}, {310e-6, 3, "310 µs"}, {0, 3, "0 s"}, {299, 3, "299 s"}, {900, 3, "15 min"}, {40000, 3, "11.1 h"}, {2e-8, 2, "0.02 µs"},
	} {
		if got := number.Time(c.seconds, c.digits); got != c.want {
			t.Errorf("%g is %q, want %q", c.seconds, got, c.want)
		}
	}
}

func TestBanded(t *testing.T) {
	for _, c := range []struct {
		seconds, band float64
		want          string
	}{{3.588, 2.2, "3.6 s ×÷3.2"}, {0.04472, 0.16, "44.7 ms ±16%"}, {0.1101, 0, "110 ms"}} {
		if got := number.Banded(c.seconds, c.band); got != c.want {
			t.Errorf("%g is %q, want %q", c.seconds, got, c.want)
		}
	}
}

func TestSigned(t *testing.T) {
	if got := number.Signed(-0.0429, 1) + number.Signed(0.458, 0); got != "−4.3%+46%" {
		t.Error(got)
	}
}
