// Package damage spoils files as transfers, editors and other programs do, for tests of their
// readers.
package damage

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// mutations of each seed run in every test; make fuzz tries others.
const mutations = 40

// Add adds texts to the seeds, and some of each that are damaged: cut, with other bytes, pieces
// twice, numbers beyond their bounds. They are the same each time, and need no instrumented build.
func Add(f *testing.F, texts ...string) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range texts {
		f.Add([]byte(text))
		for range mutations {
			src := []byte(text)
			for range 1 + random.IntN(3) {
				src = one(random, src)
			}
			f.Add(src)
		}
	}
}

// strange is what readers may not expect.
var strange = []string{"\x00", "\xff", "\"", "\n", "\r\n", "{", "]", ",", "null", "-1", "0", "1e400", "NaN", "9223372036854775808", "\uFEFF", "=1+1", "\u2028"}

func one(random *rand.Rand, src []byte) []byte {
	if len(src) < 2 {
		return slices.Concat(src, []byte(strange[random.IntN(len(strange))]))
	}
	from, to := random.IntN(len(src)), random.IntN(len(src))
	from, to = min(from, to), max(from, to)
	switch random.IntN(5) {
	case 0:
		return src[:from]
	case 1: // without a piece
		return slices.Concat(src[:from], src[min(to, from+20):])
	case 2: // a piece twice
		return slices.Concat(src[:to], src[from:])
	case 3:
		out := slices.Clone(src)
		out[from] ^= 1 << random.IntN(8)
		return out
	}
	return slices.Concat(src[:from], []byte(strange[random.IntN(len(strange))]), src[from:])
}
