package kernel

// Small kernels stand between the products of a model. Those that no operator runs in are measured and calibrated all the
// same: SiLU with quantisation, which is within blocks of experts, and tokens drawn at a temperature.

// quantiseKey is the key of what makes inputs of products narrow.
const quantiseKey = "quantise"

// smallRows are the axes of those that go through rows one by one.
const smallRows = "rows and bytes of one"

func smallSlot(key, axes, of string) slot {
	return slot{
		section: &elementwise, key: key, name: key, row: key, axes: axes, of: of,
		pick:    func(s *Set, _ *Types) []string { return present(&elementwise, s, key) },
		prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
	}
}
