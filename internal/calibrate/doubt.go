package calibrate

import (
	"fmt"
	"strings"

	"throughline/hardware/kernel"
)

// A table is doubtful if rows beat the chip's peak compute, if many beat its bandwidth, or if the
// largest reach under a third of what related kernels do: mislabelled, or not what engines run.
const (
	mostAbove   = 0.05 // of the rows
	mostBelow   = 0.25
	leastReach  = 1. / 3
	fewestFound = 30 // rows; with fewer, the largest say too little about a kernel
)

// related kernels do the same kind of work at the same peaks.
var related = map[kernel.Slot]string{
	kernel.Gemm: "products", kernel.GroupedGemm: "products", kernel.Experts: "products", kernel.DispatchedExperts: "products",
	kernel.Prefill: "attention in prefill", kernel.LatentPrefill: "attention in prefill",
	kernel.Decode: "attention in decode", kernel.LatentDecode: "attention in decode",
}

// reasons are why tables are taken although many of their rows move bytes faster than memory can.
var reasons = map[kernel.Slot]string{
	kernel.Gemm:               fromCache,
	kernel.Absorb:             fromCache,
	kernel.Decode:             fromCache,
	kernel.LinearDecode:       fromCache,
	kernel.LinearPrefill:      fromCache,
	kernel.ConvolutionDecode:  fromCache,
	kernel.ConvolutionPrefill: fromCache,
}

const fromCache = "they repeat a kernel on memory that the cache of the chip holds, and are left out; the others are sound"

// doubt says of which results there is a doubt, and whether there is a reason to take them.
func doubt(results []Result) {
	best := map[string]*Result{}
	for i := range results {
		r := &results[i]
		if kind := related[r.slot]; kind != "" && r.Fitted.Rows >= fewestFound && (best[kind] == nil || r.Reach > best[kind].Reach) {
			best[kind] = r
		}
	}
	for i := range results {
		r := &results[i]
		rows := float64(r.Below + r.Fitted.Rows)
		switch b := best[related[r.slot]]; {
		case float64(r.Above) > mostAbove*rows:
			r.Doubt = fmt.Sprintf("%d of %.0f rows compute faster than the peak of the chip", r.Above, rows)
		case b != nil && r.Fitted.Rows >= fewestFound && r.Reach < leastReach*b.Reach:
			r.slow = true
			r.Doubt = fmt.Sprintf("its largest rows reach %.0f%% of the peaks, those of %s (%s) %.0f%%",
				100*r.Reach, b.Class, strings.TrimSpace(b.Type+" "+b.Kernel), 100*b.Reach)
		case float64(r.Below) > mostBelow*rows:
			r.Doubt = fmt.Sprintf("%d of %.0f rows move bytes faster than the memory of the chip can", r.Below, rows)
			r.Reason = reasons[r.slot]
		}
	}
}
