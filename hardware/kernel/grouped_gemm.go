package kernel

import (
	"errors"
	"fmt"
)

// GroupedModel is one kernel for the products of several experts, each of m × k with its own k × n.
// The axes are m, experts · n, k. A fused expert block is two such products.
type GroupedModel struct {
	Base
	Weight float64 `json:"weight_bytes"`
	Input  float64 `json:"input_bytes"`
	Output float64 `json:"output_bytes"`
	// Uneven: measured with randomly spread rows; otherwise every expert saw as many.
	Uneven bool `json:"uneven,omitempty"`
	// Tile is the largest tile of kernels that take one no smaller than the rows of a matrix.
	Tile float64 `json:"tile,omitempty"`
}

var groupedGemms = sectionOf("grouped_gemm", func(s *Set) *map[string]*GroupedModel { return &s.GroupedGemm })

var groupedGemmSlot = slot{
	section: &groupedGemms, name: "grouped gemm", row: "grouped_gemm", peak: MatrixPeak, stored: true,
	axes: "rows per expert, experts · n, k", of: "products of experts, and those of heads that latent attention absorbs where `absorb` is missing",
	pick:    func(s *Set, t *Types) []string { return typed(&groupedGemms, s, t.Matrix) },
	prepare: func(s *Set, key string, t *Types) (Timing, error) { return s.GroupedGemm[key].prepare(t) },
}

// Work excludes the bytes of the inputs.
func (g *GroupedModel) Work() (flops, bytes Work) {
	return Work{7: 2}, Work{3: g.Output, 6: g.Weight}
}

// Point is on either surface, for m rows per expert; inputs are the bytes moved at peak.
func (g *GroupedModel) Point(experts, m, n, k float64) (at Point, inputs float64) {
	return Point{m, experts * n, k}, g.Input * experts * m * k
}

func (g *GroupedModel) Check() error {
	_, err := g.prepare(&Types{})
	return errors.Join(err, sizes(g.Weight, g.Input, g.Output, g.Tile))
}

// weightBytes is the measured size of a weight.
func (g *GroupedModel) weightBytes() float64 { return g.Weight }

func (g *GroupedModel) prepare(t *Types) (*groupedTiming, error) {
	with := *g
	with.Weight = t.stored(g.Weight)
	s, err := g.sides(with.Work())
	if err != nil {
		return nil, fmt.Errorf("grouped gemm: %w", err)
	}
	return &groupedTiming{sides: s, g: with}, nil
}

type groupedTiming struct {
	sides
	g     GroupedModel
	fused bool // tiles fit the rows
}

// grouped is the time without the latency.
func (t *groupedTiming) grouped(p *Pace, experts, m, n, k float64) float64 {
	at, inputs := t.g.Point(experts, m, n, k)
	return t.product(p, at, at.X, inputs)
}

// rows that each expert sees; the cost of unevenness is in the model's times, or is added here.
func (t *groupedTiming) rows(s *Shape) float64 {
	switch {
	case t.g.Uneven || !s.Uneven:
		return s.Rows
	case t.g.Tile > 0:
		return s.Rows + min(s.Rows, t.g.Tile)/2
	case t.fused:
		return s.fitted()
	}
	return s.tiled()
}

func (t *groupedTiming) Seconds(p *Pace, s *Shape) float64 {
	return t.latency + t.grouped(p, s.Count, t.rows(s), s.N, s.K)
}

func (t *groupedTiming) Beyond(s *Shape) bool {
	at, _ := t.g.Point(s.Count, t.rows(s), s.N, s.K)
	return t.beyond(at, at)
}
