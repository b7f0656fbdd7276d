package question

import (
	"testing"

	"throughline/workload"
)

// TestLengths: a share of the prompt that is cached is a share of its tokens, the default ones too;
// it takes the place of a number.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		q    Question
		want workload.Lengths
	}{
		{Question{Input: 1000, Output: 10, PrefixHit: 0.3}, workload.Lengths{Input: 1000, Output: 10, Cached: 300}},
		{Question{Output: 10, PrefixHit: 0.25}, workload.Lengths{Input: 1024, Output: 10, Cached: 256}},
		{Question{Input: 1000, Prefix: 70}, workload.Lengths{Input: 1000, Output: 1024, Cached: 70}},
		{Question{Prefix: 70, Fixed: Fixed{Context: 1000}}, workload.Lengths{Input: 999, Output: 1, Cached: 70}},
	} {
		if got := c.q.Lengths(); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}
