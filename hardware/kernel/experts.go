package kernel

var fusedExperts = sectionOf("experts", func(s *Set) *map[string]*GroupedModel { return &s.Experts })

var expertsSlot = slot{
	section: &fusedExperts, name: "fused experts", row: "moe", peak: MatrixPeak, stored: true,
	axes: "rows per expert, experts · n, k of each of the two products", of: "whole expert blocks in one kernel",
	pick: pickExperts,
	prepare: func(s *Set, key string, t *Types) (Timing, error) {
		g, err := s.Experts[key].prepare(t)
		return &expertsTiming{g}, err
	},
}

// narrowExperts are weights of four bits that are multiplied in sixteen.
const narrowExperts = "int4"

// pickExperts says whether experts run in one kernel for the whole block, and in which. What was measured on the chip
// itself comes first; products of their own come before it otherwise.
func pickExperts(s *Set, t *Types) []string {
	if narrow := s.Experts[narrowExperts]; narrow != nil && t.stored(narrow.Weight) == narrow.Weight && otherWide[t.Matrix] != "" {
		return []string{narrowExperts}
	}
	keys := typed(&fusedExperts, s, t.Matrix)
	products := typed(&groupedGemms, s, t.Matrix)
	own := func(in *section, key string) bool { return s.MeasuredOn(in.key, key) == s.System }
	if len(keys) > 0 && len(products) > 0 && !(own(&fusedExperts, keys[0]) && !own(&groupedGemms, products[0])) {
		return nil
	}
	return keys
}

// BlockElements is what each row of an expert block moves between its products and behind them: the activation reads
// what the first product wrote and writes the inner width, and the results are read to be added up.
func BlockElements(outer, up, inner float64) float64 { return up + inner + outer }

type expertsTiming struct{ *groupedTiming }

// Block is the widths of an expert block: from the outer width up, which is twice the inner width where there is a gate,
// and from the inner width back.
func (s *Shape) Block() (outer, up, inner float64) {
	if s.Gated {
		return s.K, s.N, s.N / 2
	}
	return s.K, s.N, s.N
}

func (t *expertsTiming) Seconds(p *Pace, s *Shape) float64 {
	outer, up, inner := s.Block()
	experts, m := s.Count, s.Tiled()
	return t.latency + t.product(p, experts, m, up, outer) + t.product(p, experts, m, outer, inner) +
		p.Byte*t.g.Output*experts*m*BlockElements(outer, up, inner)
}

func (t *expertsTiming) Beyond(s *Shape) bool {
	outer, up, inner := s.Block()
	first, _ := t.g.Point(s.Count, s.Tiled(), up, outer)
	second, _ := t.g.Point(s.Count, s.Tiled(), outer, inner)
	return t.beyond(first, first) || t.beyond(second, second)
}
