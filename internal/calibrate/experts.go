package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// With experts spread over ranks the measured kernels also handle tokens of other ranks, and skewed load is another
// question: such rows are not fitted, though predicted.
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

// Between the halves of an exchange the rows of an expert lie together. Tables count the tokens of all ranks. Those of
// prompts start at the time that the host takes to launch a dozen kernels, and count tokens that never come to the rank
// where it has few experts: fitted are those with whole tiles for every expert of a rank that all tokens visit.
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

// dispatchedVersion of the software is the later of two: the earlier one's host took up to a millisecond.
const dispatchedVersion = "0.5.10"

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
			seconds: r.Seconds, size: s.Count * s.Rows * outer * inner, group: group, place: r.Place(),
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

// computed is the number type that a kernel computes in: weights of four bits may meet wider activations.
func computed(r *measurement.Row) string {
	switch d := r.Label("dtype"); {
	case strings.HasPrefix(d, "w4a8"):
		return "float8"
	case d == "int4_wo", strings.HasPrefix(d, "w4a16"):
		return "bfloat16"
	}
	return r.Type
}

// unpacked says whether the weights of a row were expanded to 16 bits when they were loaded: SGLang does so with MXFP4 for its
// Triton kernel. On an H200 such rows read 16-bit weights at 4.2 TB/s; of four bits they would read 1.1. Marlin, which reads
// four bits, was measured with 896 experts only, whose sorting takes up to 80 µs; its rows of int4 stand for both.
func unpacked(r *measurement.Row) bool {
	kernel := r.Label("kernel")
	return strings.HasPrefix(r.Label("dtype"), "w4a16") && (strings.Contains(kernel, "fused_moe_triton") || strings.Contains(kernel, "marlin"))
}

// blockShape is a measured expert block: the experts of one rank that get a token when they share what comes evenly, the
// rows that each of them sees, and its widths.
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

// What the columns of public tables do not say about the models behind their shapes, though times show it: with three
// matrices of every expert some rows would read memory at up to 1.7 times the peak, and the floor of their times is that
// of other shapes with half the experts, or with two matrices.
var (
	// DeepSeek-V3 picks the experts of a token from half of their groups, and with balanced scores that is the same half
	// for every token.
	grouped = expertShape{7168, 2048, 256}
	// Experts of Nemotron 3 have no gate.
	gateless = [...]expertShape{{2688, 1856, 128}, {1024, 2688, 512}, {2048, 5120, 512}, {4096, 2688, 512}, {8192, 5120, 512}}
)

// ungroupedVersion of the software measured all shapes with a gate and without groups.
const ungroupedVersion = "0.5.10"

// tuned says whether the Triton kernel of a row ran with tiles tuned for its shape, which SGLang ships for some numbers
// of experts and inner widths on some devices. All others run with default tiles, and down to half as fast.
func tuned(r *measurement.Row) bool {
	if r.Get("touched") > 0 {
		return true
	}
	if r.Type != "bfloat16" || !strings.HasSuffix(r.Label("kernel"), "fused_moe_triton") {
		return false
	}
	return slices.Contains(tunedWidths[r.Label("device")][r.Get("experts")], r.Get("inter")/r.Get("tp"))
}

// tunedWidths are the inner widths by device and number of experts, of bfloat16. Where there are default tiles, times
// step up by a fifth to a half where tokens outnumber experts, because tiles change there; at these widths they do not.
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
