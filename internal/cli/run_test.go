package cli

import "testing"

func TestTooWide(t *testing.T) {
	for _, c := range []struct {
		runs       int
		categories bool
		want       string
	}{
		{1, false, ""}, {16383, false, ""}, {16382, true, ""},
		{16384, false, "16384 runs make tables of 16385 columns, and spreadsheets show the first 16384; --long writes one table with a row per run"},
		{16383, true, "16383 runs make tables of 16385 columns, and spreadsheets show the first 16384; --long writes one table with a row per run"},
	} {
		if got := tooWide(c.runs, c.categories); got != c.want {
			t.Errorf("%d runs: %q, want %q", c.runs, got, c.want)
		}
	}
}
