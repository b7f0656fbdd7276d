package cost

import "math"

// fullType is what operators multiply in that keep 32 bits.
const fullType = "float32"

// depth is how long a product of 32 bits takes for each of its inputs, up to some rows.
type depth struct{ rows, seconds float64 }

// A multiprocessor goes through the inputs of such a product one by one; how many share them is the
// choice of cuBLAS, by rows. On an H200 20 rows by 256 outputs take 11.2, 14.7 and 16.5 us with
// 4,096, 6,144 and 7,168 inputs, 384, 512 and 8,192 rows of 6,144 36, 45 and 505 (torch 2.11,
// F.linear in float32). On GB200 1, 4, 8, 16, 32, 64, 128, 256, 512 and 1,024 rows of 6,144 by 256,
// widened from 16 bits, take 7.5, 20.2, 16.7, 22.3, 63.2, 63.3, 69.3, 77.8, 96.8 and 111 us
// (vllm-project/vllm pull 47973, torch FP32; 2 rows, at 71.8, are left out).
var (
	usualDepths = []depth{{math.Inf(1), 2.2e-9}}
	depths      = map[string][]depth{"Blackwell": {{1, 0.65e-9}, {16, 2.7e-9}, {math.Inf(1), 9.5e-9}}}
)

// depthsOn is how deep products of 32 bits are on chips of a generation.
func depthsOn(generation string) []depth {
	if d, ok := depths[generation]; ok {
		return d
	}
	return usualDepths
}

// deep is what the inputs of a product of 32 bits add to its operations.
func (p *Pricer) deep(rows, inputs float64) float64 {
	i := 0
	for p.depths[i].rows < rows {
		i++
	}
	return inputs * p.depths[i].seconds
}
