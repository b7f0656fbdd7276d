package calibrate

import (
	"fmt"
	"slices"

	"throughline/kernel"
	"throughline/measurement"
)

// Absorb fits the products of every head that latent attention absorbs: rows of measurement.Absorb of one number type.
// Numbers of heads are held out, with both products.
func Absorb(rows []measurement.Row, p Peak) (*kernel.GroupedModel, Validation) {
	g := &kernel.GroupedModel{Output: 2}
	var data []sample
	for i := range rows {
		r := &rows[i]
		g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
		h, m, n, k := r.Get("h"), r.Get("tokens"), r.Get("n"), r.Get("k")
		x := [3]float64{m, h * n, k}
		data = append(data, sample{
			part: part{x, x, g.InputBytes(h, m, k) / p.Bandwidth}, seconds: r.Seconds, size: m * h * n * k,
			group: fmt.Sprint(h), series: fmt.Sprint(h, "×", n, "×", k), place: r.Place(),
		})
	}
	flops, bytes := g.Work()
	n, k := nodes(128, 1<<16, 4), []float64{128, 512}
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			[]float64{1, 16, 64, 128, 256, 512, 1024, 4096, 1 << 14, 1 << 15}, n, k)},
		memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory,
			[]float64{1, 16, 64, 256, 1024, 1 << 15}, n, k)},
	}
	data, cached := f.cold(data)
	s, v := f.choose(data, absorbSettings)
	v.Below += cached
	g.Base = base(&s)
	return g, v
}

// cold leaves out rows that take less than the quickest of all and their own bytes at peak together. The tables repeat a
// kernel on the same memory, so that weights and states which fit into the cache of the chip come from there; engines find
// other layers in it. A tenth of the quickest time is noise.
func (f *form) cold(data []sample) (kept []sample, cached int) {
	var times []float64
	for i := range data {
		times = append(times, data[i].seconds)
	}
	slices.Sort(times)
	for i := range data {
		if d := &data[i]; 0.9*times[len(times)/20]+f.roofline(d, 1) <= d.seconds {
			kept = append(kept, *d)
		}
	}
	return kept, len(data) - len(kept)
}

// The most bytes that a row of linear attention may move, in prefill and in decode. Beyond that one chip takes up to five
// times as long for a shape as for the same shape elsewhere in its table, while others grow in proportion.
const (
	mostPrefill = 1 << 28
	mostDecode  = 1 << 30
)

// loopVersion of the software convolved one prompt after the other, in part in less time than memory allows.
const loopVersion = "0.5.10"

// Convolution fits the short convolution of linear attention: rows of measurement.ConvPrefill or of
// measurement.ConvDecode. Its bytes are queries, keys and values, read and written; what it keeps of the tokens before is
// in the slowdown. Whole configurations of heads are held out.
func Convolution(rows []measurement.Row, bandwidth float64) (*kernel.Curve, Validation) {
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		h := linearHeads(r)
		_, bytes := curveShape(r)
		if r.Kind == measurement.ConvPrefill && (r.Get("s") < fewestNew || bytes > mostPrefill) {
			short++
			continue
		}
		group := fmt.Sprint(h.Query, "/", h.KV)
		data = append(data, sample{
			part: part{c: [3]float64{1, 1, 1}, m: [3]float64{bytes, 1, 1}}, seconds: r.Seconds, size: bytes,
			group: group, series: fmt.Sprint(group, " ", r.Get("b")), place: r.Place(),
		})
	}
	c := &kernel.Curve{Memory: kernel.Surface{Axes: trim(data, onMemory, nodes(1<<10, 1<<36, 4))}}
	f := form{
		setting: tuning.curve,
		compute: side{axes: [][]float64{{1}}},
		memory:  side{work: over(c.Work(), bandwidth), axes: c.Memory.Axes},
	}
	data, cached := f.cold(data)
	s, v := f.validate(data)
	v.Below += cached
	v.Short = short
	c.Latency, c.Memory = s.latency, s.memory
	return c, v
}

// Linear fits the gated delta rule: rows of measurement.LinearPrefill or of measurement.LinearDecode. Prompts shorter than
// a tile are left out. Whole configurations of heads are held out.
func Linear(rows []measurement.Row, p Peak) (*kernel.LinearAttention, Validation) {
	g := &kernel.LinearAttention{Element: 2, State: 4}
	prefill, most := rows[0].Kind == measurement.LinearPrefill, float64(mostDecode)
	if prefill {
		most, g.Tile = mostPrefill, fewestNew
	}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		h, b, s := linearHeads(r), r.Get("b"), r.Get("s")
		bytes := g.Bytes(b, s, h)
		if s < g.Tile || bytes > most {
			short++
			continue
		}
		group := fmt.Sprint(h.Query, "/", h.KV)
		data = append(data, sample{
			part:    part{c: [3]float64{s, b * h.Query, kernel.StateFlops(true, prefill, h.Key, h.Value)}, m: [3]float64{bytes, 1, 1}},
			seconds: r.Seconds, size: bytes, group: group, series: fmt.Sprint(group, " ", b), place: r.Place(),
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

// Chosen by the error on held-out shapes.
var (
	absorbSettings = []setting{{4, 0.001, 0.003}, {4, 0.01, 0.03}, {2, 0.001, 0.003}, {1, 0.001, 0.003}}
	linearSettings = []setting{{4, 0.001, 0.003}, {1, 0.001, 0.003}, {2, 0.001, 0.003}}
)
