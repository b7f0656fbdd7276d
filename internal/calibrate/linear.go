package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var linears = subject{shape: linearShape, fit: fitting(Linear)}

func linearShape(r *measurement.Row) kernel.Shape {
	h := linearHeads(r)
	return kernel.Shape{
		Count: r.Get("b"), M: r.Get("b") * r.Get("s"), N: h.Value, K: h.Key, Heads: int32(h.Query), KVHeads: int32(h.KV), Gated: true,
	}
}

// linearHeads is the shape of linear attention: query heads are those of values.
func linearHeads(r *measurement.Row) kernel.Heads {
	return kernel.Heads{Query: r.Get("h"), KV: r.Get("hk"), Key: r.Get("dk"), Value: r.Get("dv")}
}

// Of linearSettings every table chooses the one with the least error on held-out shapes.
var linearSettings = []setting{{4, 0.001, 0.003}, {1, 0.001, 0.003}, {2, 0.001, 0.003}}

// Most bytes a row of linear attention may move: beyond that, one chip takes up to five times as
// long for a shape as elsewhere in its table, while others grow in proportion.
const (
	mostPrefill = 1 << 28
	mostDecode  = 1 << 30
)

// Linear fits the gated delta rule, without prompts shorter than a tile and holding out whole
// configurations of heads.
func Linear(rows []measurement.Row, p Peak) (*kernel.LinearAttention, Validation) {
	g := &kernel.LinearAttention{Element: 2, State: 4}
	prefill, most := rows[0].Kind == kernel.LinearPrefill, float64(mostDecode)
	if prefill {
		most, g.Tile = mostPrefill, fewestNew
	}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		s := linearShape(r)
		c, m := g.Points(&s, prefill)
		bytes := m.X
		if r.Get("s") < g.Tile || bytes > most {
			short++
			continue
		}
		group := fmt.Sprint(s.Heads, "/", s.KVHeads)
		data = append(data, sample{
			part: part{c: c, m: m}, seconds: r.Seconds, size: bytes, group: group, series: fmt.Sprint(group, " ", s.Count),
		})
	}
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute, nodes(1, 1<<20, 4), nodes(1, 1<<16, 2), []float64{1 << 16})},
		memory:  side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory, nodes(1<<10, 1<<36, 4))},
	}
	data, cached := f.cold(data)
	s, v := f.choose(data, linearSettings)
	v.Below += cached
	v.Short = short
	g.Base = base(&s)
	return g, v
}
