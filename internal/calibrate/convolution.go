package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Convolutions read and write queries, keys and values; the state kept of earlier tokens is part of
// the slowdown.
var (
	convolutionShape = func(r *measurement.Row) kernel.Shape {
		h := linearHeads(r)
		return kernel.Shape{Moved: 2 * 2 * r.Get("b") * r.Get("s") * (2*h.KV*h.Key + h.Query*h.Value)}
	}
	convolutionsInDecode = subject{
		shape: convolutionShape,
		fit:   func(rows []measurement.Row, p Peak) (kernel.Model, Validation) { return Convolution(rows, p.Bandwidth) },
	}
	convolutionsInPrefill = subject{
		sort:  func(r *measurement.Row, _ *class) bool { return r.Label("version") != loopVersion },
		shape: convolutionShape,
		fit:   convolutionsInDecode.fit,
	}
)

// loopVersion convolved prompts one by one, some in less time than memory allows.
const loopVersion = "0.5.10"

// Convolution fits the short convolution of linear attention, holding out whole head setups.
func Convolution(rows []measurement.Row, bandwidth float64) (*kernel.Curve, Validation) {
	c := &kernel.Curve{Memory: kernel.Surface{Axes: someBytes}}
	var data []sample
	short := 0
	for i := range rows {
		r := &rows[i]
		s := convolutionShape(r)
		if r.Kind == kernel.ConvolutionPrefill && (r.Get("s") < fewestNew || s.Moved > mostPrefill) {
			short++
			continue
		}
		h := linearHeads(r)
		group := fmt.Sprint(h.Query, "/", h.KV)
		data = append(data, sample{
			part: part{c: anywhere, m: c.Point(&s)}, seconds: r.Seconds, size: s.Moved,
			group: group, series: fmt.Sprint(group, " ", r.Get("b")),
		})
	}
	c.Memory.Axes = trim(data, onMemory, someBytes...)
	f := form{
		setting: curveSetting,
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
