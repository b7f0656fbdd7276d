package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var (
	prefills       = subject{sort: byCache, shape: prefillShape, fit: fitting(Prefill)}
	latentPrefills = subject{sort: byCache, shape: latentPrefillShape, fit: fitting(Prefill)}
)

// Of prefillSettings every table chooses the one with the least error on held-out shapes.
var prefillSettings = []setting{{2, 0.001, 0.003}, {4, 0.01, 0.03}}

// prompts is the shape of attention in which new tokens see the context and half of each other.
func prompts(r *measurement.Row, h kernel.Heads) kernel.Shape {
	b, s, past := r.Get("b"), r.Get("s"), r.Get("step")
	return kernel.Shape{
		Count: b, M: b * s, N: past + (s+1)/2, K: h.Key, Value: int32(h.Value), Heads: int32(h.Query), KVHeads: int32(h.KV),
	}
}

func prefillShape(r *measurement.Row) kernel.Shape {
	return prompts(r, kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: r.Get("dq"), Value: r.Get("dv")})
}

// latentPrefillShape has keys of 128 elements and 64 rotated ones.
func latentPrefillShape(r *measurement.Row) kernel.Shape {
	return prompts(r, kernel.Heads{Query: r.Get("h"), KV: r.Get("h"), Key: 192, Value: 128})
}

// Prefill fits attention in prefill, latent or not, with separate query and key bytes if that does
// better on held-out shapes. Rows with fewer new tokens than a tile are left out.
func Prefill(rows []measurement.Row, p Peak) (*kernel.PrefillAttention, Validation) {
	best, least := prefill(rows, p, 1)
	if g, v := prefill(rows, p, 2); v.Shapes.Mean < least.Shapes.Mean {
		return g, v
	}
	return best, least
}

// prefill fits with a number of axes for bytes.
func prefill(rows []measurement.Row, p Peak, axes int) (*kernel.PrefillAttention, Validation) {
	g := &kernel.PrefillAttention{Element: 2, Tile: tile}
	g.Memory.Axes = make([][]float64, axes)
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		tokens := r.Get("s")
		if tokens < fewestNew {
			short++
			continue
		}
		g.Element = bytesOf(r.Type)
		s := subjects[r.Kind].shape(r)
		c, m := g.Points(&s)
		group := fmt.Sprint(s.Heads, "/", s.KVHeads, "/", s.K)
		data = append(data, sample{
			part: part{c: c, m: m}, seconds: r.Seconds, size: s.Count * tokens * tokens * float64(s.Heads) * s.K,
			group: group, series: fmt.Sprint(s.Count, " ", group, "/", s.Value),
		})
	}
	all := [][]float64{nodes(1<<12, 1<<36, 4)}
	if axes == 2 {
		all = [][]float64{nodes(1<<12, 1<<36, 16), nodes(1<<12, 1<<36, 16)}
	}
	g.Memory.Axes = trim(data, onMemory, all...)
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			nodes(1<<13, 1<<35, 4), nodes(1, 1<<15, 4), []float64{64, 128, 192, 256})},
		memory: side{work: over(bytes, p.Bandwidth), axes: g.Memory.Axes},
	}
	s, v := f.choose(data, prefillSettings)
	v.Short = short
	g.Base = base(&s)
	return g, v
}
