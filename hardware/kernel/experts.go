package kernel

import (
	"cmp"
	"math"
	"strings"
)

var fusedExperts = sectionOf("experts", func(s *Set) *map[string]*GroupedModel { return &s.Experts })

var expertsSlot = slot{
	section: &fusedExperts, name: "fused experts", row: "moe", peak: MatrixPeak, stored: true,
	axes: "rows per expert, experts · n, k of each of the two products", of: "whole expert blocks in one kernel",
	pick: pickExperts,
	prepare: func(s *Set, key string, t *Types) (Timing, error) {
		g, err := s.Experts[key].prepare(t)
		if err != nil {
			return nil, err
		}
		g.fused = true
		plain, isTuned := strings.CutSuffix(key, Tuned)
		return &expertsTiming{g, isTuned && s.Experts[plain] != nil}, nil
	},
}

var dispatchedBlocks = sectionOf("dispatched_experts", func(s *Set) *map[string]*GroupedModel { return &s.DispatchedExperts })

var dispatchedExpertsSlot = slot{
	section: &dispatchedBlocks, name: "dispatched experts", row: "moe_dispatched", peak: MatrixPeak, stored: true,
	axes: "rows per expert, experts · n, k of each of the two products", of: "expert blocks between the two halves of an exchange",
	pick: func(s *Set, t *Types) []string { return typed(&dispatchedBlocks, s, t.Matrix) },
	prepare: func(s *Set, key string, t *Types) (Timing, error) {
		g, err := s.DispatchedExperts[key].prepare(t)
		return &expertsTiming{groupedTiming: g}, err
	},
}

// Tuned marks number types of blocks that ran with tiles tuned for their shape.
const Tuned = " tuned"

// narrowExperts are kernels of 4-bit weights multiplied in a wider type: their keys, the types
// stored and computed in, and the bytes of an element with its scales.
var narrowExperts = [...]struct {
	key, stored, computed string
	bytes                 float64
}{
	{"int4", "int4", "bfloat16", 0.5},
	{"mxfp4", "float4", "bfloat16", 0.5 + 1./32},
	{"mxfp4_float8", "float4", "float8", 0.5 + 1./32},
}

// StoredExperts is the key of experts stored in one number type and multiplied in another.
func StoredExperts(stored, computed string) string {
	for _, n := range narrowExperts {
		if n.stored == stored && n.computed == computed {
			return n.key
		}
	}
	return stored
}

// StoredBytes is the bytes of a weight by the key of its model, or a default for other keys.
func StoredBytes(key string, otherwise float64) float64 {
	for _, n := range narrowExperts {
		if n.key == key {
			return n.bytes
		}
	}
	return otherwise
}

// narrow is the key of the kernel for 4-bit weights, integers by default, in a wider product.
func (s *Set) narrow(t *Types) string {
	if t.Weight >= 1 || t.Weight == 0 {
		return ""
	}
	for _, stored := range [...]string{cmp.Or(t.Stored, "int4"), "int4"} { // kernels that unpack one unpack the other alike
		for _, n := range narrowExperts {
			if n.stored == stored && (n.computed == t.Matrix || n.computed == otherWide[t.Matrix]) && s.Experts[n.key] != nil {
				return n.key
			}
		}
	}
	return ""
}

// pickExperts picks fused kernels of expert blocks: the faster of tuned tiles, where a shape has
// any, and others.
func pickExperts(s *Set, t *Types) []string {
	if key := s.narrow(t); key != "" {
		return []string{key}
	}
	return append(typed(&fusedExperts, s, t.Matrix+Tuned), typed(&fusedExperts, s, t.Matrix)...)
}

// BlockElements is what each row moves between an expert block's products and behind them: the
// activation's input and output, and the results to be added up.
func BlockElements(outer, up, inner float64) float64 { return up + inner + outer }

type expertsTiming struct {
	*groupedTiming
	tuned bool // for the shape, where there is another kernel for others
}

// Block is the widths of an expert block: from outer to up, twice inner if gated, and back.
func (s *Shape) Block() (outer, up, inner float64) {
	if s.Gated {
		return s.K, s.N, s.N / 2
	}
	return s.K, s.N, s.N
}

func (t *expertsTiming) Seconds(p *Pace, s *Shape) float64 {
	if t.tuned && s.Untuned {
		return math.Inf(1)
	}
	outer, up, inner := s.Block()
	experts, m := s.Count, t.rows(s)
	return t.latency + t.grouped(p, experts, m, up, outer) + t.grouped(p, experts, m, outer, inner) +
		p.Byte*t.g.Output*experts*m*BlockElements(outer, up, inner)
}

func (t *expertsTiming) Beyond(s *Shape) bool {
	outer, up, inner := s.Block()
	first, _ := t.g.Point(s.Count, t.rows(s), up, outer)
	second, _ := t.g.Point(s.Count, t.rows(s), outer, inner)
	return t.beyond(first, first) || t.beyond(second, second)
}
