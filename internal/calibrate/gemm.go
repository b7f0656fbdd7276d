package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

var gemms = subject{best: true, key: gemmKey, shape: gemmShape, fit: fitting(Gemm)}

func gemmKey(r *measurement.Row) string {
	if r.Label("dtype") == "fp8_block" {
		return r.Type + kernel.Blocks
	}
	return r.Type
}

func gemmShape(r *measurement.Row) kernel.Shape {
	return kernel.Shape{M: r.Get("m"), N: r.Get("n"), K: r.Get("k"), Count: 1}
}

// gemmSetting was chosen by the error on held-out shapes.
var gemmSetting = setting{4, 0.003, 0.03}

// Gemm fits matrix products: rows of one number type, with whole tiles of a size if that does better on shapes that were
// held out.
func Gemm(rows []measurement.Row, p Peak) (*kernel.GemmModel, Validation) {
	var best *kernel.GemmModel
	var least Validation
	for _, tile := range []float64{0, 128, 256} {
		g := &kernel.GemmModel{Output: 2, Tiled: tile > 0, Tile: tile}
		var data []sample
		for i := range rows {
			r := &rows[i]
			g.Weight, g.Input = bytesOf(r.Type), bytesOf(r.Type)
			s := gemmShape(r)
			c, m := g.Points(&s)
			group := fmt.Sprint(s.N, "×", s.K)
			data = append(data, sample{
				part: part{c: c, m: m}, seconds: r.Seconds, size: s.M * s.N * s.K, group: group, series: group, place: r.Place(),
			})
		}
		flops, bytes := g.Work()
		n, k := nodes(32, 1<<17, 4), []float64{64, 1024, 4096, 1 << 14, 1 << 16}
		f := form{
			setting: gemmSetting,
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
