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

// cachedMatrix is the bytes of the largest matrices that tables read from cache, as they time six
// of a shape in turn (outside_loop_count in collector/sglang/collect_gemm.py of
// ai-dynamo/aiconfigurator). Beyond it, times of few tokens step up by 1.3 µs on an H200, 2.5 on a
// B200 and 13 on an L40S. Engines find other layers in the cache: from memory, products of 2 to 9
// MB take a median 0.9 µs longer on an H200.
var cachedMatrix = map[string]float64{
	"NVIDIA A100-SXM4-80GB": 7e6, "NVIDIA H100 80GB HBM3": 7e6, "NVIDIA H200": 7e6,
	"NVIDIA L40S": 18e6, "NVIDIA B200": 16e6, "NVIDIA GB200": 16e6,
}

// noticed is the share of a time from which on it matters where a matrix comes from.
const noticed = 0.02

// fromMemory keeps rows whose matrices came from memory or are too small a part of the time to
// matter, and counts the others.
func fromMemory(rows []measurement.Row, p Peak) (kept []measurement.Row, cached int) {
	for i := range rows {
		r := &rows[i]
		bytes := r.Get("n") * r.Get("k") * bytesOf(r.Type)
		if bytes < cachedMatrix[r.Label("device")] && bytes/p.Bandwidth > noticed*r.Seconds {
			continue
		}
		kept = append(kept, *r)
	}
	return kept, len(rows) - len(kept)
}

// Gemm fits matrix products of one number type, with whole tiles if held-out shapes fit better.
func Gemm(rows []measurement.Row, p Peak) (*kernel.GemmModel, Validation) {
	rows, cached := fromMemory(rows, p)
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
				part: part{c: c, m: m}, seconds: r.Seconds, size: s.M * s.N * s.K, group: group, series: group,
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
	least.Below += cached
	return best, least
}
