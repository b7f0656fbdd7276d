package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var groupedGemms = subject{shape: groupedShape, fit: fitting(GroupedGemm)}

func groupedShape(r *measurement.Row) kernel.Shape {
	return kernel.Shape{Count: r.Get("experts"), Rows: r.Get("m"), N: r.Get("n"), K: r.Get("k")}
}

// groupedSettings are tried on each table for the least held-out error; short tables want stiff
// surfaces.
var groupedSettings = []setting{{4, 0.03, 0.03}, {4, 0.3, 0.1}}

func GroupedGemm(rows []measurement.Row, p Peak) (*kernel.GroupedModel, Validation) {
	g := &kernel.GroupedModel{Output: 2}
	var data []sample
	for i := range rows {
		r := &rows[i]
		g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
		s := groupedShape(r)
		at, inputs := g.Point(s.Count, s.Rows, s.N, s.K)
		group := fmt.Sprint(s.Count, "×", s.N, "×", s.K)
		data = append(data, sample{
			part: part{at, at, inputs / p.Bandwidth}, seconds: r.Seconds, size: s.Rows * s.Count * s.N * s.K, group: group,
			series: group,
		})
	}
	flops, bytes := g.Work()
	f := form{
		compute: side{work: over(flops, p.Rate), axes: trim(data, onCompute,
			[]float64{1, 16, 64, 128, 256, 512, 1024, 4096, 1 << 14, 1 << 16}, nodes(1<<10, 1<<21, 4), nodes(512, 1<<15, 2))},
		memory: side{work: over(bytes, p.Bandwidth), axes: trim(data, onMemory,
			[]float64{1, 4, 16, 64, 256, 1 << 16}, nodes(1<<10, 1<<21, 4), nodes(512, 1<<15, 2))},
	}
	s, v := f.choose(data, groupedSettings)
	g.Base = base(&s)
	return g, v
}
