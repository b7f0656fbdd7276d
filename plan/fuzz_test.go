package plan

import (
	"testing"

	"throughline/internal/test/damage"
)

// FuzzWords: sizes of a layout in words are within bounds, or the words are refused.
func FuzzWords(f *testing.F) {
	damage.Add(f, "dp16·tp1·ep16", "tp8,pp2", "2x dp1·pp1·tp4·etp2·edp2", "tp 4 ep 8")
	f.Fuzz(func(t *testing.T, src []byte) {
		w, err := ParseWords(string(src))
		if err != nil {
			return
		}
		for _, of := range words {
			if n := *of.ref(&w); n < 0 || n > mostParts {
				t.Errorf("%q: %s is %d", src, of.name, n)
			}
		}
		if w.Count < 0 || w.Count > mostParts {
			t.Errorf("%q: %d instances", src, w.Count)
		}
	})
}
