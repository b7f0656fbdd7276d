package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// With experts spread over ranks the kernels also handle other ranks' tokens, and skewed load is a
// separate matter: such rows are predicted but not fitted.
var fusedExperts = subject{
	sort: func(r *measurement.Row, c *class) bool {
		if tuned(r) {
			c.kernel = strings.TrimSpace(c.kernel + kernel.Tuned)
		}
		return r.Get("ep") == 1 && (r.Get("touched") > 0 || r.Label("distribution") == "balanced") && !unpacked(r)
	},
	predictsAll: true,
	key: func(r *measurement.Row) string {
		key := kernel.StoredExperts(r.Type, computed(r))
		if tuned(r) {
			key += kernel.Tuned
		}
		return key
	},
	shape: blockShape,
	fit:   fitting(Experts),
}

// Within an exchange, rows of an expert are contiguous, and tables count the tokens of all ranks.
// Prefill tables include the host's launch time and tokens that never reach the rank, so only rows
// with whole tiles for every expert of a rank that all tokens visit are fitted.
var dispatchedExperts = subject{
	sort: func(r *measurement.Row, _ *class) bool {
		if r.Label("distribution") != "uniform" || r.Label("version") != dispatchedVersion {
			return false
		}
		s := blockShape(r)
		return r.Label("op") == "moe_generation" || s.Rows >= tile && r.Get("ep") <= r.Get("topk")
	},
	predictsAll: true,
	shape:       blockShape,
	fit:         fitting(Experts),
}

// dispatchedVersion is the later of two: the host of the earlier one took up to a millisecond.
const dispatchedVersion = "0.5.10"

// marlinTile is the largest block_size_m of fused_marlin_moe, which takes the first of 8, 16, 32,
// 48 and 64 that holds the rows of an expert (experts/marlin_moe.py of vLLM's fused_moe at
// a014e35f).
const marlinTile = 64

// expertSetting was chosen by the error on held-out shapes.
var expertSetting = setting{4, 0.01, 0.03}

// Experts fits fused expert blocks with balanced load.
func Experts(rows []measurement.Row, p Peak) (*kernel.GroupedModel, Validation) {
	g := &kernel.GroupedModel{Output: 2}
	var data, reach []sample
	for i := range rows {
		r := &rows[i]
		g.Weight, g.Input = kernel.StoredBytes(KeyOf(r), bytesOf(r.Type)), bytesOf(computed(r))
		g.Uneven = r.Get("touched") > 0
		if strings.Contains(r.Label("kernel"), "marlin") {
			g.Tile = marlinTile
		}
		s := blockShape(r)
		outer, wide, inner := s.Block()
		product := func(n, k float64) part {
			at, inputs := g.Point(s.Count, s.Rows, n, k)
			return part{at, at, inputs / p.Bandwidth}
		}
		up, down := product(wide, outer), product(outer, inner)
		group := fmt.Sprint(r.Get("hidden"), "×", r.Get("inter"), "×", r.Get("experts"))
		data = append(data, sample{
			part: up, second: &down,
			between: g.Output * s.Count * s.Rows * kernel.BlockElements(outer, wide, inner) / p.Bandwidth,
			seconds: r.Seconds, size: s.Count * s.Rows * outer * inner, group: group,
			series: fmt.Sprint(group, " ", r.Get("topk"), " ", r.Get("tp"), " ", r.Get("ep")),
		})
		reach = append(reach, sample{part: up}, sample{part: down})
	}
	flops, bytes := g.Work()
	n, k := nodes(1<<10, 1<<22, 4), nodes(16, 1<<14, 4)
	f := form{
		setting: expertSetting,
		compute: side{work: over(flops, p.Rate), axes: trim(reach, onCompute, []float64{1, 16, 64, 256, 1024, 4096, 1 << 16}, n, k)},
		memory:  side{work: over(bytes, p.Bandwidth), axes: trim(reach, onMemory, []float64{1, 16, 64, 1 << 16}, n, k)},
	}
	s, v := f.validate(data)
	g.Base = base(&s)
	return g, v
}

// computed is the number type of the arithmetic: four-bit weights may meet wider activations.
func computed(r *measurement.Row) string {
	switch d := r.Label("dtype"); {
	case strings.HasPrefix(d, "w4a8"):
		return "float8"
	case d == "int4_wo", strings.HasPrefix(d, "w4a16"):
		return "bfloat16"
	}
	return r.Type
}

// unpacked reports whether weights were expanded to 16 bits on loading, as SGLang does with MXFP4
// for Triton: on an H200 such rows read 16-bit weights at 4.2 TB/s, and would read four bits at
// 1.1. Marlin reads four bits but was measured only with 896 experts, whose sorting takes up to
// 80 µs, so its int4 rows stand for both.
func unpacked(r *measurement.Row) bool {
	kernel := r.Label("kernel")
	return strings.HasPrefix(r.Label("dtype"), "w4a16") && (strings.Contains(kernel, "fused_moe_triton") || strings.Contains(kernel, "marlin"))
}

// blockShape is the experts of one rank that get a token under even load, the rows each sees, and
// its widths.
func blockShape(r *measurement.Row) kernel.Shape {
	inner, gated := r.Get("inter")/r.Get("tp"), true
	pairs := r.Get("tokens") * r.Get("topk") / r.Get("ep")
	experts := min(r.Get("experts")/r.Get("ep"), pairs)
	if t := r.Get("touched"); t > 0 {
		experts = t
	} else if r.Label("version") != ungroupedVersion {
		switch (expertShape{r.Get("hidden"), r.Get("inter"), r.Get("experts")}) {
		case grouped:
			experts /= 2 // of those that the tokens ask for, which are few where tokens are
		case gateless[0], gateless[1], gateless[2], gateless[3], gateless[4]:
			gated = false
		}
	}
	experts = max(experts, 1)
	up := inner
	if gated {
		up *= 2
	}
	return kernel.Shape{Count: experts, Rows: max(pairs/experts, 1), K: r.Get("hidden"), N: up, Gated: gated}
}

// expertShape is the widths and the number of experts of a model.
type expertShape struct{ hidden, inter, experts float64 }

// Public tables omit some properties of the models behind their shapes, but times reveal them: with
// three matrices per expert some rows would read at 1.7 times peak, and their shortest times match
// shapes with half the experts or with two matrices.
var (
	// DeepSeek-V3 picks from half of the groups; balanced scores make it the same half always.
	grouped = expertShape{7168, 2048, 256}
	// Experts of Nemotron 3 have no gate.
	gateless = [...]expertShape{{2688, 1856, 128}, {1024, 2688, 512}, {2048, 5120, 512}, {4096, 2688, 512}, {8192, 5120, 512}}
)

// ungroupedVersion of the software measured all shapes with a gate and without groups.
const ungroupedVersion = "0.5.10"

// tuned reports whether a row ran with tiles tuned for its shape, which SGLang ships for some
// devices, expert counts and inner widths. Default tiles can be half as fast.
func tuned(r *measurement.Row) bool {
	if r.Get("touched") > 0 {
		return true
	}
	if r.Type != "bfloat16" || !strings.HasSuffix(r.Label("kernel"), "fused_moe_triton") {
		return false
	}
	return slices.Contains(tunedWidths[r.Label("device")][r.Get("experts")], r.Get("inter")/r.Get("tp"))
}

// tunedWidths are inner widths by device and expert count, in bfloat16. With default tiles times
// rise by a fifth to a half once tokens outnumber experts; at these widths they do not.
var tunedWidths = map[string]map[float64][]float64{
	"NVIDIA H200": {
		8: {1792, 2048, 3584, 4096, 7168, 14336}, 16: {1024}, 128: {192, 384, 704, 768}, 512: {64, 128, 256},
	},
	"NVIDIA H100 80GB HBM3": {
		8: {1792, 2048, 3584, 4096, 7168}, 16: {1024, 2048}, 128: {192, 352, 384, 512, 704, 768}, 512: {128},
	},
	"NVIDIA A100-SXM4-80GB": {8: {1792, 2048, 3584, 4096, 7168}},
	"NVIDIA L40S":           {8: {3584}, 128: {928, 1856}},
}
