package kernel

var elementwise = sectionOf("elementwise", func(s *Set) *map[string]*Curve { return &s.Elementwise })

// Fused is the software of element-wise kernels that compilers and engines make: one pass over
// memory for what PyTorch runs operator by operator.
const Fused = "fused"

// movers returns what picks an element-wise kernel: the fused one where it is asked for and was
// measured.
func movers(key string) func(*Set, *Types) []string {
	return func(s *Set, t *Types) []string {
		if own := present(&elementwise, s, KeyBy(key, Fused)); t.Fused && len(own) > 0 {
			return own
		}
		return present(&elementwise, s, key)
	}
}

var addNormSlot = slot{
	section: &elementwise, key: "add_rmsnorm", name: "add_rmsnorm", row: "add_rmsnorm",
	axes: "rows and bytes of one, or bytes", of: "norms, without latency what is fused with them, and other work that only moves bytes",
	pick:    movers("add_rmsnorm"),
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
}

var siluMulSlot = slot{
	section: &elementwise, key: "silu_mul", name: "silu_mul", row: "silu_mul",
	axes: "bytes", of: "activation functions and the gates that they are multiplied by",
	pick:    movers("silu_mul"),
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
}
