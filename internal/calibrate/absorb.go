package calibrate

import (
	"fmt"
	"slices"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var absorbed = subject{shape: absorbShape, fit: fitting(Absorb)}

func absorbShape(r *measurement.Row) kernel.Shape {
	return kernel.Shape{Count: r.Get("h"), Rows: r.Get("tokens"), N: r.Get("n"), K: r.Get("k")}
}

// Of absorbSettings every table chooses the one with the least error on held-out shapes.
var absorbSettings = []setting{{4, 0.001, 0.003}, {4, 0.01, 0.03}, {2, 0.001, 0.003}, {1, 0.001, 0.003}}

// Absorb fits the per-head products of absorbed latent attention to rows of one number type,
// holding out whole head counts.
func Absorb(rows []measurement.Row, p Peak) (*kernel.GroupedModel, Validation) {
	g := &kernel.GroupedModel{Output: 2}
	var data []sample
	for i := range rows {
		r := &rows[i]
		g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
		s := absorbShape(r)
		at, inputs := g.Point(s.Count, s.Rows, s.N, s.K)
		data = append(data, sample{
			part: part{at, at, inputs / p.Bandwidth}, seconds: r.Seconds, size: s.Rows * s.Count * s.N * s.K,
			group: fmt.Sprint(s.Count), series: fmt.Sprint(s.Count, "×", s.N, "×", s.K),
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

// cold drops rows too fast to have read memory: tables repeat a kernel on the same buffers, so
// small ones come from the cache, which in an engine holds other layers. A tenth of the quickest
// time is noise.
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
