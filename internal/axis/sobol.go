package axis

import "math/bits"

// sobolTable is the primitive polynomial of each dimension after the first, as bits, and its first
// direction numbers: Joe and Kuo, Remark on Algorithm 659 (ACM TOMS 29, 2003), as in
// github.com/DavidWalz/sobol@1a767727 sobol/sobol1111.tsv.
var sobolTable = []struct {
	polynomial uint32
	first      []uint32
}{
	{3, []uint32{1}},
	{7, []uint32{1, 1}},
	{11, []uint32{1, 3, 7}},
	{13, []uint32{1, 1, 5}},
	{19, []uint32{1, 3, 1, 1}},
	{25, []uint32{1, 1, 3, 7}},
	{37, []uint32{1, 3, 3, 9, 9}},
	{59, []uint32{1, 3, 7, 13, 3}},
	{47, []uint32{1, 1, 5, 11, 27}},
	{61, []uint32{1, 3, 5, 1, 15}},
	{55, []uint32{1, 1, 7, 3, 29}},
	{41, []uint32{1, 3, 7, 7, 21}},
	{67, []uint32{1, 1, 1, 9, 23, 37}},
	{97, []uint32{1, 3, 3, 5, 19, 33}},
	{91, []uint32{1, 1, 3, 13, 11, 7}},
	{109, []uint32{1, 1, 7, 13, 25, 5}},
	{103, []uint32{1, 3, 5, 11, 7, 11}},
	{115, []uint32{1, 1, 1, 3, 13, 39}},
	{131, []uint32{1, 3, 1, 15, 17, 63, 13}},
}

// directions are those of every dimension, a bit of the index each.
var directions = func() [][32]uint32 {
	out := make([][32]uint32, 1+len(sobolTable))
	for j := range out[0] {
		out[0][j] = 1 << (31 - j)
	}
	for d, row := range sobolTable {
		degree := bits.Len32(row.polynomial) - 1
		m := row.first
		for j := degree; j < 32; j++ {
			next := m[j-degree]
			for k := range degree {
				if row.polynomial>>(degree-1-k)&1 == 1 {
					next ^= m[j-k-1] << (k + 1)
				}
			}
			m = append(m, next)
		}
		for j := range 32 {
			out[1+d][j] = m[j] << (31 - j)
		}
	}
	return out
}()

// sobol is a point of the sequence on one axis, in parts of 2^32.
func sobol(i uint32, dimension int) (x uint32) {
	for ; i != 0; i &= i - 1 {
		x ^= directions[dimension][bits.TrailingZeros32(i)]
	}
	return x
}
