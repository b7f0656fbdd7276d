package axis

import (
	"fmt"
	"math"
	"math/bits"
)

// Design is how points are spread over axes.
type Design string

const (
	Grid   Design = "grid"   // every combination
	Latin  Design = "latin"  // Latin hypercube: each axis is cut into as many parts as there are points
	Sobol  Design = "sobol"  // with Owen's scrambling, by hashes
	Halton Design = "halton" // shifted, by hashes

	Zooming  Design = "zoom"     // anywhere, then in rounds around the frontier
	Morris   Design = "morris"   // trajectories that move one axis after another
	Saltelli Design = "saltelli" // pairs of points that exchange one axis after another
)

// Designs are those that spread points evenly.
func Designs() []string {
	return []string{string(Grid), string(Latin), string(Sobol), string(Halton)}
}

// Dimensions is the most axes that a design takes; 0: any number.
func (d Design) Dimensions() int {
	switch d {
	case Sobol:
		return 1 + len(sobolTable)
	case Halton:
		return len(primes)
	}
	return 0
}

// Spread fills in where point i of n lies on each axis, from 0 to less than 1. It depends on
// nothing but its arguments. A grid has indices instead of shares.
func (d Design) Spread(i, n int, seed uint64, out []float64) error {
	if most := d.Dimensions(); most > 0 && len(out) > most {
		return fmt.Errorf("%s spreads points over up to %d axes, not %d", d, most, len(out))
	}
	switch d {
	case Morris:
		morris(i, seed, out)
	case Saltelli:
		saltelli(i, n, seed, out)
	default:
		d.fill(i, n, seed, out)
	}
	return nil
}

// fill in where point i lies by a design that looks at each axis by itself.
func (d Design) fill(i, n int, seed uint64, out []float64) {
	for k := range out {
		h := hash(seed, uint64(k))
		switch d {
		case Latin:
			out[k] = (float64(permuted(uint64(i), uint64(n), h)) + unit(hash(h, uint64(i)))) / float64(n)
		case Sobol:
			out[k] = float64(scrambled(sobol(uint32(i), k), uint32(h))) / (1 << 32)
		case Halton:
			_, out[k] = math.Modf(radical(i, primes[k]) + unit(h))
		}
		out[k] = min(out[k], math.Nextafter(1, 0))
	}
}

// hash mixes two numbers: the finaliser of SplitMix64 over their sum (Steele et al., 2014).
func hash(a, b uint64) uint64 {
	x := a + 0x9e3779b97f4a7c15*(b+1)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a hash as a number from 0 to less than 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// permuted is where a permutation of n numbers puts i: a Feistel network over the next power of
// four, walked until it meets a number below n.
func permuted(i, n, key uint64) uint64 {
	if n < 2 {
		return 0
	}
	half := (bits.Len64(n-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		left, right := i>>half, i&mask
		for round := range uint64(4) {
			left, right = right, left^hash(key+round, right)&mask
		}
		if i = left<<half | right; i < n {
			return i
		}
	}
}

// radical is the radical inverse of i.
func radical(i, base int) float64 {
	v, scale := 0.0, 1.0
	for ; i > 0; i /= base {
		scale /= float64(base)
		v += scale * float64(i%base)
	}
	return v
}

var primes = []int{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71}

// scrambled is Owen's nested scrambling by a hash of the leading bits: Laine and Karras (2011) with
// the constants of Burley, Practical hash-based Owen scrambling (JCGT 9(4), 2020).
func scrambled(x, seed uint32) uint32 {
	x = bits.Reverse32(x)
	x += seed
	x ^= x * 0x6c50b47c
	x ^= x * 0xb82f1e52
	x ^= x * 0xc7afe638
	x ^= x * 0x8d22f6e6
	return bits.Reverse32(x)
}
