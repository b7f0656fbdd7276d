// Package calibrate fits the kernel models of package kernel to measurements, and says how far off they are on shapes
// that the fit did not see.
package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/kernel"
	"throughline/measurement"
)

// Peak is what the hardware can do at best.
type Peak struct {
	Rate      float64 // operations per second at the number type
	Bandwidth float64 // bytes per second: of memory, or of a processor's links in one direction
}

// Conflict is rows of one shape whose times differ more than twofold, or a row that takes far longer than larger problems.
type Conflict struct {
	Shape  string
	Places []string
	Times  []float64
	Larger string // where one of the larger problems stands; it is not left out
	Faster float64
}

func (c Conflict) String() string {
	if c.Larger != "" {
		return fmt.Sprintf("%s: %s takes %.4g s, the larger %s %.4g s", c.Shape, c.Places[0], c.Times[0], c.Larger, c.Faster)
	}
	return fmt.Sprintf("%s: %s take %.4g to %.4g s", c.Shape, strings.Join(c.Places, ", "), slices.Min(c.Times), slices.Max(c.Times))
}

// Clean leaves out rows that contradict others and names them. Other rows of one shape all stay.
func Clean(rows []measurement.Row) (kept []measurement.Row, conflicts []Conflict) {
	byShape := make(map[string][]int, len(rows))
	shapes := make([]string, len(rows))
	for i := range rows {
		shapes[i] = rows[i].Shape()
		byShape[shapes[i]] = append(byShape[shapes[i]], i)
	}
	for i := range rows {
		same := byShape[shapes[i]]
		low, high := rows[i].Seconds, rows[i].Seconds
		for _, j := range same {
			low, high = min(low, rows[j].Seconds), max(high, rows[j].Seconds)
		}
		if high <= 2*low {
			kept = append(kept, rows[i])
			continue
		}
		if same[0] == i {
			c := Conflict{Shape: shapes[i]}
			for _, j := range same {
				c.Places, c.Times = append(c.Places, rows[j].Place()), append(c.Times, rows[j].Seconds)
			}
			conflicts = append(conflicts, c)
		}
	}
	kept, more := inOrder(kept)
	return kept, append(conflicts, more...)
}

// thin keeps about limit samples, evenly from the file.
func thin(data []sample, limit int) []sample {
	if len(data) <= limit {
		return data
	}
	out := make([]sample, 0, limit)
	step := float64(len(data)) / float64(limit)
	for i := 0.0; int(i) < len(data); i += step {
		out = append(out, data[int(i)])
	}
	return out
}

// limit of the samples of one fit.
const limit = 9000

// bytesOf is the size of an element.
func bytesOf(numberType string) float64 {
	if b := hardware.TypeBytes(numberType); b > 0 {
		return b
	}
	return 2
}

// octave nodes from low to high, each step times apart.
func nodes(low, high, step float64) []float64 {
	var out []float64
	for x := low; x < high*1.0001; x *= step {
		out = append(out, x)
	}
	return out
}

// span trims nodes to those that the samples reach, with one on either side.
func span(all []float64, data []sample, at func(*sample) float64) []float64 {
	if len(data) == 0 {
		return all[:1]
	}
	low, high := at(&data[0]), at(&data[0])
	for i := range data {
		low, high = min(low, at(&data[i])), max(high, at(&data[i]))
	}
	first, last := 0, len(all)-1
	for first < last && all[first+1] <= low {
		first++
	}
	for last > first && all[last-1] >= high {
		last--
	}
	return all[first : last+1]
}

func base(s *solution) kernel.Base {
	return kernel.Base{Latency: s.latency, Norm: s.norm, Compute: s.compute, Memory: s.memory}
}

var (
	onCompute = [3]func(*sample) float64{
		func(d *sample) float64 { return d.c[0] }, func(d *sample) float64 { return d.c[1] }, func(d *sample) float64 { return d.c[2] },
	}
	onMemory = [3]func(*sample) float64{
		func(d *sample) float64 { return d.m[0] }, func(d *sample) float64 { return d.m[1] }, func(d *sample) float64 { return d.m[2] },
	}
)

// trim is the axes, each as far as the samples reach.
func trim(data []sample, on [3]func(*sample) float64, axes ...[]float64) [][]float64 {
	out := make([][]float64, len(axes))
	for i, a := range axes {
		out[i] = span(a, data, on[i])
	}
	return out
}

// over is the work in seconds at peak.
func over(w kernel.Work, rate float64) kernel.Work {
	for i := range w {
		w[i] /= rate
	}
	return w
}

// Gemm fits matrix products: rows of measurement.Gemm of one number type, with whole tiles of a size if that does better
// on shapes that were held out.
func Gemm(rows []measurement.Row, p Peak) (*kernel.GemmModel, Validation) {
	var best *kernel.GemmModel
	var least Validation
	for _, tile := range []float64{0, 128, 256} {
		g := &kernel.GemmModel{Output: 2, Tiled: tile > 0, Tile: tile}
		var data []sample
		for i := range rows {
			r := &rows[i]
			m, n, k := r.Get("m"), r.Get("n"), r.Get("k")
			g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
			d := sample{
				part: part{c: [3]float64{m, n, k}, m: [3]float64{m, n, k}}, seconds: r.Seconds, size: m * n * k,
				group: fmt.Sprint(n, "×", k), series: fmt.Sprint(n, "×", k), place: r.Place(),
			}
			if g.Tiled {
				d.c[0] = kernel.Rows(m, tile)
			}
			data = append(data, d)
		}
		flops, bytes := g.Work()
		n, k := nodes(32, 1<<17, 4), []float64{64, 1024, 4096, 1 << 14, 1 << 16}
		f := form{
			setting: tuning.gemm,
			compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
				[]float64{1, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192, 32768}, n, k)},
			memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory, []float64{1, 64, 1024, 32768}, n, k)},
		}
		s, v := f.validate(data)
		g.Base = base(&s)
		if best == nil || v.Shapes.Mean < least.Shapes.Mean {
			best, least = g, v
		}
	}
	return best, least
}

// GroupedGemm fits products of experts: rows of measurement.GroupedGemm.
func GroupedGemm(rows []measurement.Row, p Peak) (*kernel.GroupedModel, Validation) {
	g := &kernel.GroupedModel{Output: 2}
	var data []sample
	for i := range rows {
		r := &rows[i]
		g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
		e, m, n, k := r.Get("experts"), r.Get("m"), r.Get("n"), r.Get("k")
		group := fmt.Sprint(e, "×", n, "×", k)
		x := [3]float64{m, e * n, k}
		data = append(data, sample{
			part: part{x, x, g.InputBytes(e, m, k) / p.Bandwidth}, seconds: r.Seconds, size: m * e * n * k, group: group,
			series: group, place: r.Place(),
		})
	}
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			[]float64{1, 16, 64, 128, 256, 512, 1024, 4096, 1 << 14, 1 << 16}, nodes(1<<10, 1<<21, 4), nodes(512, 1<<15, 2))},
		memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory,
			[]float64{1, 4, 16, 64, 256, 1 << 16}, nodes(1<<10, 1<<21, 4), nodes(512, 1<<15, 2))},
	}
	s, v := f.choose(data, tuning.grouped)
	g.Base = base(&s)
	return g, v
}

// Kernels work on tiles, and what is shorter takes as long. What is far shorter is not fitted.
const (
	tile       = 128
	fewestNew  = 64
	leastCache = 128
)

// Decode fits attention in decode: rows of measurement.Decode or of measurement.LatentDecode, one type of cache. Rows
// with a context shorter than a tile are left out.
func Decode(rows []measurement.Row, p Peak) (*kernel.DecodeAttention, Validation) {
	g := &kernel.DecodeAttention{Query: 2, Tile: tile}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		b, s := r.Get("b"), r.Get("s")
		if s < leastCache {
			short++
			continue
		}
		h, token := decodeShape(r)
		data = append(data, sample{
			part: part{[3]float64{s, b * h.KV, h.TokenFlops()}, [3]float64{s, b * h.KV, token},
				g.Query * b * h.Query * (h.Key + h.Value) / p.Bandwidth},
			seconds: r.Seconds, size: b * s * h.KV * h.Key, place: r.Place(),
			group: fmt.Sprint(h.Query, "/", h.KV, "/", h.Key), series: fmt.Sprint(b, " ", h),
		})
	}
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			nodes(128, 1<<20, 8), nodes(1, 1<<16, 16), nodes(256, 1<<19, 4))},
		memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory,
			[]float64{128, 256, 512, 1024, 4096, 1 << 14, 1 << 17, 1 << 20},
			// About as many sequences and heads as there are multiprocessors keep all of them busy, one each.
			[]float64{1, 4, 16, 64, 128, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18},
			// Widths of heads, some of which kernels fill up to the next.
			[]float64{64, 128, 256, 384, 512, 768, 1024, 2048})},
	}
	s, v := f.choose(data, tuning.decode)
	v.Short = short
	g.Base = base(&s)
	return g, v
}

// Prefill fits attention in prefill: rows of measurement.Prefill or of measurement.LatentPrefill, with bytes of queries and
// of keys apart if that does better on shapes that were held out. Rows with fewer new tokens than a tile are left out.
func Prefill(rows []measurement.Row, p Peak) (*kernel.PrefillAttention, Validation) {
	best, least := prefill(rows, p, false)
	if g, v := prefill(rows, p, true); v.Shapes.Mean < least.Shapes.Mean {
		return g, v
	}
	return best, least
}

func prefill(rows []measurement.Row, p Peak, apart bool) (*kernel.PrefillAttention, Validation) {
	g := &kernel.PrefillAttention{Element: 2, Tile: tile}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		b, s, past := r.Get("b"), r.Get("s"), r.Get("step")
		if s < fewestNew {
			short++
			continue
		}
		h := prefillShape(r)
		g.Element = bytesOf(r.Type)
		d := sample{
			part:    part{c: [3]float64{kernel.Pairs(max(s, tile), past), b * h.Query, (h.Key + h.Value) / 2}},
			seconds: r.Seconds, size: b * s * s * h.Query * h.Key,
			place: r.Place(), group: fmt.Sprint(h.Query, "/", h.KV, "/", h.Key), series: fmt.Sprint(b, " ", h),
		}
		queries, keys := g.Bytes(b, s, past, h)
		d.m = [3]float64{queries + keys, 1, 1}
		if apart {
			d.m = [3]float64{queries, keys, 1}
		}
		data = append(data, d)
	}
	axes := [][]float64{nodes(1<<12, 1<<36, 4)}
	if apart {
		axes = [][]float64{nodes(1<<12, 1<<36, 16), nodes(1<<12, 1<<36, 16)}
	}
	g.Memory.Axes = trim(data, onMemory, axes...)
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			nodes(1<<13, 1<<35, 4), nodes(1, 1<<15, 4), []float64{64, 128, 192, 256})},
		memory: side{work: over(bytes, p.Bandwidth), axes: g.Memory.Axes},
	}
	s, v := f.choose(data, tuning.prefill)
	v.Short = short
	g.Base = base(&s)
	return g, v
}

// Curve fits kernels that move bytes: element-wise operators of bfloat16, and copies, which read and write. A norm has to
// read a row before it can write it, so that rows count, not only bytes.
func Curve(rows []measurement.Row, bandwidth float64) (*kernel.Curve, Validation) {
	var data []sample
	axes := [][]float64{nodes(1<<10, 1<<36, 4)}
	for i := range rows {
		r := &rows[i]
		count, bytes := curveShape(r)
		group := r.Place()
		switch r.Kind {
		case measurement.AddNorm:
			// Time is in proportion to the width, which one node says.
			axes = [][]float64{nodes(1, 1<<20, 4), {1}}
			group = fmt.Sprint(r.Get("h"))
		case measurement.SiluMul:
			group = fmt.Sprint(r.Get("i"))
		}
		d := sample{
			part: part{c: [3]float64{1, 1, 1}, m: [3]float64{bytes, 1, 1}}, seconds: r.Seconds, size: count * bytes,
			group: group, series: group, place: r.Place(),
		}
		if len(axes) == 2 {
			d.m = [3]float64{count, bytes, 1}
		}
		data = append(data, d)
	}
	c := &kernel.Curve{Memory: kernel.Surface{Axes: trim(data, onMemory, axes...)}}
	f := form{
		setting: tuning.curve,
		compute: side{axes: [][]float64{{1}}},
		memory:  side{work: over(c.Work(), bandwidth), axes: c.Memory.Axes},
	}
	s, v := f.validate(data)
	c.Latency, c.Memory = s.latency, s.memory
	return c, v
}

// shares of the bytes that cross the link of a processor at least, in groups of two; an all-reduce that the network
// itself performs sends and receives every byte once.
var shares = map[measurement.Kind]float64{
	measurement.AllReduce: 0.5, measurement.AllGather: 0.5, measurement.ReduceScatter: 0.5, measurement.AllToAll: 0.5,
}

// Collective fits one communication pattern.
func Collective(rows []measurement.Row, bandwidth float64) (*kernel.CollectiveModel, Validation) {
	c := &kernel.CollectiveModel{Share: 1}
	var data []sample
	groups := map[float64]bool{}
	for i := range rows {
		r := &rows[i]
		if s := shares[r.Kind]; s > 0 {
			c.Share = s
		}
		n, g := r.Get("n"), r.Get("group")
		groups[g] = true
		data = append(data, sample{
			part: part{m: [3]float64{g, n, 1}, c: [3]float64{1, 1, 1}}, seconds: r.Seconds, size: n, group: fmt.Sprint(n),
			series: fmt.Sprint(g), place: r.Place(),
		})
	}
	var sizes []float64
	for g := range groups {
		sizes = append(sizes, g)
	}
	slices.Sort(sizes)
	f := form{
		compute: side{axes: [][]float64{{1}}},
		memory: side{work: over(kernel.Work{2: 1}, bandwidth/c.Share), free: 1,
			axes: trim(data, onMemory, sizes, nodes(1<<8, 1<<34, 4))},
	}
	s, v := f.choose(data, tuning.collective)
	c.Latency, c.Memory = s.latency, s.memory
	return c, v
}

// tuning was chosen by the error on held-out shapes; where there are several, each table chooses for itself: short tables
// want stiff surfaces.
var tuning = struct {
	gemm, experts, curve                 setting
	grouped, decode, prefill, collective []setting
}{
	gemm:       setting{4, 0.003, 0.03},
	grouped:    []setting{{4, 0.03, 0.03}, {4, 0.3, 0.1}},
	experts:    setting{4, 0.01, 0.03},
	decode:     []setting{{4, 0.001, 0.003}, {2, 0.001, 0.003}},
	prefill:    []setting{{2, 0.001, 0.003}, {4, 0.01, 0.03}},
	curve:      setting{1, 0.001, 0.01},
	collective: []setting{{1, 0.0003, 0.1}, {1, 0.001, 0.03}, {1, 0.0003, 0.01}},
}
