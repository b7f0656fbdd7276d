package kernel

var elementwise = sectionOf("elementwise", func(s *Set) *map[string]*Curve { return &s.Elementwise })

var addNormSlot = slot{
	section: &elementwise, key: "add_rmsnorm", name: "add_rmsnorm", row: "add_rmsnorm",
	axes: "rows and bytes of one, or bytes", of: "norms, without latency what is fused with them, and other work that only moves bytes",
	pick:    func(s *Set, _ *Types) []string { return present(&elementwise, s, "add_rmsnorm") },
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
}

var siluMulSlot = slot{
	section: &elementwise, key: "silu_mul", name: "silu_mul", row: "silu_mul",
	axes: "bytes", of: "activation functions and the gates that they are multiplied by",
	pick:    func(s *Set, _ *Types) []string { return present(&elementwise, s, "silu_mul") },
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Elementwise[key].prepare() },
}
