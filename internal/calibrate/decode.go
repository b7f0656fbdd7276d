package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var (
	decodes       = subject{sort: byCache, key: cacheType, shape: decodeShape, fit: fitting(Decode)}
	latentDecodes = subject{sort: byCache, key: cacheType, shape: latentDecodeShape, fit: fitting(Decode)}
)

// Of decodeSettings every table chooses the one with the least error on held-out shapes.
var decodeSettings = []setting{{4, 0.001, 0.003}, {2, 0.001, 0.003}}

// decoding is the shape of attention for one token per sequence; elements is what the cache of one
// KV head holds per token.
func decoding(r *measurement.Row, h kernel.Heads, elements float64) kernel.Shape {
	b, s := r.Get("b"), r.Get("s")
	return kernel.Shape{
		Count: b, M: b, N: s, K: h.Key, Value: int32(h.Value), Heads: int32(h.Query), KVHeads: int32(h.KV),
		Moved: b * s * h.KV * elements * bytesOf(cacheType(r)),
	}
}

func decodeShape(r *measurement.Row) kernel.Shape {
	d := r.Get("d")
	return decoding(r, kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: d, Value: d}, 2*d)
}

// latentDecodeShape has one KV head, with keys of 512 + 64 rotated elements, and values in the 512.
func latentDecodeShape(r *measurement.Row) kernel.Shape {
	return decoding(r, kernel.Heads{Query: r.Get("h"), KV: 1, Key: 576, Value: 512}, 576)
}

// Kernels work on tiles, and what is shorter takes as long. What is far shorter is not fitted.
const (
	tile       = 128
	fewestNew  = 64
	leastCache = 128
)

// Decode fits attention in decode, latent or not, for one cache type.
// Contexts shorter than a tile are left out.
func Decode(rows []measurement.Row, p Peak) (*kernel.DecodeAttention, Validation) {
	g := &kernel.DecodeAttention{Query: 2, Tile: tile}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		if r.Get("s") < leastCache {
			short++
			continue
		}
		s := subjects[r.Kind].shape(r)
		c, m, queries := g.Points(&s)
		group := fmt.Sprint(s.Heads, "/", s.KVHeads, "/", s.K)
		data = append(data, sample{
			part: part{c, m, queries / p.Bandwidth}, seconds: r.Seconds, size: s.Count * s.N * float64(s.KVHeads) * s.K,
			group: group, series: fmt.Sprint(s.Count, " ", group, "/", s.Value),
		})
	}
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			nodes(128, 1<<20, 8), nodes(1, 1<<16, 16), nodes(256, 1<<19, 4))},
		memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory,
			[]float64{128, 256, 512, 1024, 4096, 1 << 14, 1 << 17, 1 << 20},
			// One sequence and head per multiprocessor keeps them all busy.
			[]float64{1, 4, 16, 64, 128, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18},
			// Widths of heads, some of which kernels fill up to the next.
			[]float64{64, 128, 256, 384, 512, 768, 1024, 2048})},
	}
	s, v := f.choose(data, decodeSettings)
	v.Short = short
	g.Base = base(&s)
	return g, v
}
