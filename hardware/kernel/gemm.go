package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// GemmModel is the product of m × k activations with k × n weights. The axes are m, n, k.
type GemmModel struct {
	Base
	// Bytes of one element.
	Weight float64 `json:"weight_bytes"`
	Input  float64 `json:"input_bytes"`
	Output float64 `json:"output_bytes"`
	// Tiled: the kernel computes complete tiles, the largest of Tile rows; 0: 128.
	Tiled bool    `json:"tiled,omitempty"`
	Tile  float64 `json:"tile,omitempty"`
}

var gemms = sectionOf("gemm", func(s *Set) *map[string]*GemmModel { return &s.Gemm })

var gemmSlot = slot{
	section: &gemms, name: "gemm", row: "gemm", peak: MatrixPeak, stored: true,
	axes: "m, n, k", of: "products with one matrix, or several beside each other",
	pick: func(s *Set, t *Types) []string {
		if t.Weight > 1 && t.Matrix == "float8" {
			if keys := typed(&gemms, s, t.Matrix+Blocks); keys != nil {
				return keys
			}
		}
		return typed(&gemms, s, t.Matrix)
	},
	prepare: func(s *Set, key string, t *Types) (Timing, error) { return s.Gemm[key].prepare(t) },
}

// Blocks marks products with one scale per block of weights, between which kernels accumulate.
const Blocks = " blocks"

// Rows rounds m up to tiles: of 16 rows up to 64, of 64 up to 128, of the largest beyond.
func Rows(m, tile float64) float64 {
	switch {
	case m > 128:
		return tile * math.Ceil(m/tile)
	case m > 64:
		return 128
	}
	return 16 * math.Ceil(m*(1./16))
}

func (g *GemmModel) Work() (flops, bytes Work) {
	return Work{7: 2}, Work{3: g.Output, 5: g.Input, 6: g.Weight}
}

func (g *GemmModel) Check() error {
	_, err := g.prepare(&Types{})
	return errors.Join(err, sizes(g.Weight, g.Input, g.Output, g.Tile))
}

// weightBytes is the measured size of a weight.
func (g *GemmModel) weightBytes() float64 { return g.Weight }

func (g *GemmModel) prepare(t *Types) (*gemmTiming, error) {
	with := *g
	with.Weight = t.stored(g.Weight)
	s, err := g.sides(with.Work())
	if err != nil {
		return nil, fmt.Errorf("gemm: %w", err)
	}
	if g.Tile != 0 && !(g.Tile >= 128 && g.Tile <= 1<<16) {
		return nil, fmt.Errorf("gemm: tiles of %g rows, not of 128 or more", g.Tile)
	}
	return &gemmTiming{s, with}, nil
}

// Points of a product on both surfaces. Several matrices side by side count as a wider one.
func (g *GemmModel) Points(s *Shape) (compute, memory Point) {
	memory = Point{s.M, s.N * s.Count, s.K}
	compute = memory
	if g.Tiled {
		compute.X = Rows(s.M, cmp.Or(g.Tile, 128))
	}
	return compute, memory
}

type gemmTiming struct {
	sides
	g GemmModel
}

func (t *gemmTiming) Seconds(p *Pace, s *Shape) float64 {
	c, m := t.g.Points(s)
	return t.latency + t.product(p, c, m.X, 0)
}

func (t *gemmTiming) Beyond(s *Shape) bool { return t.beyond(t.g.Points(s)) }
