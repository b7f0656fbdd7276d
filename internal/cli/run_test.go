package cli

import "testing"

func TestTooWide(t *testing.T) {
	for _, c := range []struct {
		runs       int
		categories bool
		want       string
	}{
		{1, false, ""}, {16383, false, ""}, {16382, true, ""},
		{16384, false, "the tables have 16385 columns; spreadsheets show the first 16384"},
		{16383, true, "the tables have 16385 columns; spreadsheets show the first 16384"},
	} {
		if got := tooWide(c.runs, c.categories); got != c.want {
			t.Errorf("%d runs: %q, want %q", c.runs, got, c.want)
		}
	}
}
