package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Small kernels move bytes. Those that work row by row, in a round per chosen expert, have rows and
// bytes per row as axes. Rows launched one by one time the host, not the GPU.
var (
	quantisations     = small(nil, func(r *measurement.Row) float64 { return r.Get("m") * r.Get("k") * quantised }, "k")
	siluQuantisations = small(nil, func(r *measurement.Row) float64 { return r.Get("m") * r.Get("i") * (2 + quantised) }, "i")
	rotations         = small(nil, rotated, "h", "d")
	choices           = small(rowsOf(16, 1<<12), func(r *measurement.Row) float64 { return r.Get("m") * (2*r.Get("experts") + 8*r.Get("topk")) }, "experts")
	alignments        = small(rowsOf(8, 1<<10), func(r *measurement.Row) float64 { return r.Get("m") * 12 * r.Get("topk") }, "experts")
	permutations      = small(nil, func(r *measurement.Row) float64 { return r.Get("m") * (1 + r.Get("topk")) * r.Get("h") * (1 + 4./128) }, "h")
	sums              = small(nil, func(r *measurement.Row) float64 { return 2 * r.Get("m") * (1 + r.Get("topk")) * r.Get("h") }, "h")
	nextTokens        = small(rowsOf(1<<14, 1<<20), func(r *measurement.Row) float64 { return 2 * r.Get("m") * r.Get("n") }, "n")
	deltaGates        = small(nil, func(r *measurement.Row) float64 { return r.Get("m") * r.Get("h") * (4 + 8) }, "h")
)

// quantised is bytes per element: 16 bits read, 8 written, and its share of a scale.
const quantised = 2 + 1 + 4./128

// rotated is the bytes of queries and keys rotated, and of keys and values copied to the cache; in
// latent attention, of the queries' rotary part, the latent vector and its key.
func rotated(r *measurement.Row) float64 {
	m, h, hk, d := r.Get("m"), r.Get("h"), r.Get("hk"), r.Get("d")
	if d == 576 {
		return 2 * m * (2*64*h + 2*d)
	}
	return 2 * m * d * (2*h + 4*hk)
}

// rowsOf is the axes of kernels that go through rows, by the bytes of a row.
func rowsOf(low, high float64) [][]float64 {
	return [][]float64{nodes(1, 1<<20, 4), nodes(low, high, 4)}
}

// small is a kernel that moves bytes; rows with equal dimensions in apart are held out together.
func small(axes [][]float64, moved func(*measurement.Row) float64, apart ...string) subject {
	if axes == nil {
		axes = someBytes
	}
	return subject{
		sort:  func(r *measurement.Row, _ *class) bool { return r.Get("eager") == 0 },
		shape: func(r *measurement.Row) kernel.Shape { return kernel.Shape{Rows: r.Get("m"), Moved: moved(r)} },
		fit: moving(axes, func(r *measurement.Row) string {
			group := ""
			for _, d := range apart {
				group += fmt.Sprint(r.Get(d), "/")
			}
			return group
		}),
	}
}
