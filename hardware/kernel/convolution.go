package kernel

var convolutions = sectionOf("convolution", func(s *Set) *map[string]*Curve { return &s.Convolution })

var convolutionDecodeSlot = slot{
	section: &convolutions, key: "decode", name: "convolution in decode", row: "conv_decode",
	axes: "bytes", of: "the short convolution of linear attention",
	pick:    func(s *Set, _ *Types) []string { return present(&convolutions, s, "decode") },
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Convolution[key].prepare() },
}

var convolutionPrefillSlot = slot{
	section: &convolutions, key: "prefill", name: "convolution in prefill", row: "conv_prefill",
	axes: "bytes", of: "the short convolution of linear attention",
	pick:    func(s *Set, _ *Types) []string { return present(&convolutions, s, "prefill") },
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Convolution[key].prepare() },
}
