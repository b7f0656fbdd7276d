package experts_test

import (
	"math"
	"testing"

	"throughline/experts"
	"throughline/internal/files"
	"throughline/internal/test/damage"
)

// FuzzPopularity: what is said of experts, in words or as a table of visits, is a distribution over
// them, or is refused.
func FuzzPopularity(f *testing.F) {
	damage.Add(f, "zipf:1.5", "lognormal:0.3", "10,20,30\n5,5,5\n", "1,2\r\n3\r\n", "0,0\n1e18,1\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		door := files.Held(map[string][]byte{"visits.csv": src})
		for _, words := range []string{string(src), "counts:visits.csv"} {
			p, err := experts.ParsePopularity(door, words)
			if v := p.Varies(); err == nil && (math.IsNaN(v) || v < 0) {
				t.Errorf("%q varies by %g", words, v)
			}
			if err == nil && words != string(src) && p.Counts == nil {
				t.Error("neither visits nor an error")
			}
		}
	})
}
