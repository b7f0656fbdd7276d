package simulate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/test/long"
)

// TestWithin: sequences come, decode in lockstep and go; the keys up to a bound are those that a
// count of each finds.
func TestWithin(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		w := within{bound: rapid.Int64Range(1, 40).Draw(t, "bound")}
		var cached []int64 // of the sequences
		tick := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "moves") {
			switch rapid.IntRange(0, 3).Draw(t, "move") {
			case 0:
				c := rapid.Int64Range(1, 60).Draw(t, "cached")
				cached = append(cached, c)
				w.add(c, tick, 1)
			case 1:
				if len(cached) > 0 {
					i := rapid.IntRange(0, len(cached)-1).Draw(t, "goes")
					w.add(cached[i], tick, -1)
					cached = slices.Delete(cached, i, i+1)
				}
			default:
				tick++
				w.advance(tick)
				for i := range cached {
					cached[i]++
				}
			}
			want := int64(0)
			for _, c := range cached {
				want += min(c+1, w.bound)
			}
			if got := w.keys(len(cached), tick); got != want {
				t.Fatalf("%d keys, want %d: %v up to %d", got, want, cached, w.bound)
			}
		}
	})
}
