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

var dispatchedBlocks = sectionOf("dispatched_experts", func(s *Set) *map[string]*GroupedModel { return &s.DispatchedExperts })

var dispatchedExpertsSlot = slot{
	section: &dispatchedBlocks, name: "dispatched experts", row: "moe_dispatched", peak: MatrixPeak, stored: true,
	axes: "rows per expert, experts · n, k of each of the two products", of: "expert blocks between the two halves of an exchange",
	pick: func(s *Set, t *Types) []string { return typed(&dispatchedBlocks, s, t.Matrix) },
	prepare: func(s *Set, key string, t *Types) (Timing, error) {
		g, err := s.DispatchedExperts[key].prepare(t)
		return &expertsTiming{g}, err
	},
}

// Tuned is behind the number type in the key of blocks that ran with tiles tuned for their shape.
const Tuned = " tuned"

// narrowExperts are weights of four bits that are multiplied in sixteen.
const narrowExperts = "int4"

// pickExperts says whether experts run in one kernel for the whole block, and in which: of tuned tiles and others the
// faster, as engines choose them by shape.
func pickExperts(s *Set, t *Types) []string {
	if narrow := s.Experts[narrowExperts]; narrow != nil && t.Weight == narrow.Weight && otherWide[t.Matrix] != "" {
		return []string{narrowExperts}
	}
	return append(typed(&fusedExperts, s, t.Matrix+Tuned), typed(&fusedExperts, s, t.Matrix)...)
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
	experts, m := s.Count, t.rows(s)
	return t.latency + t.product(p, experts, m, up, outer) + t.product(p, experts, m, outer, inner) +
		p.Byte*t.g.Output*experts*m*BlockElements(outer, up, inner)
}

func (t *expertsTiming) Beyond(s *Shape) bool {
	outer, up, inner := s.Block()
	first, _ := t.g.Point(s.Count, t.rows(s), up, outer)
	second, _ := t.g.Point(s.Count, t.rows(s), outer, inner)
	return t.beyond(first, first) || t.beyond(second, second)
}
