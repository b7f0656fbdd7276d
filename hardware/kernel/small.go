package kernel

// Small kernels stand between the products of a model. Some that no operator uses are calibrated
// too: SiLU with quantisation, which is within expert blocks, and sampling at a temperature.

const quantiseKey = "quantise"

// smallRows are the axes of kernels that go through rows one by one.
const smallRows = "rows and bytes of one"

func smallSlot(key, axes, of string) slot {
	return slot{
		section: &elementwise, key: key, name: key, row: key, axes: axes, of: of,
		pick:    func(s *Set, _ *Types) []string { return present(&elementwise, s, key) },
		prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
	}
}
