package explain

import (
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/hardware/kernel"
)

// Ceiling bounds operators: operations or, of a memory, bytes per second.
type Ceiling struct {
	Name       string
	Rate       float64
	Memory     bool
	Calibrated bool // what large work reaches, not the peak
}

// CalibratedSuffix follows the name of a peak in that of what large work reaches of it.
const CalibratedSuffix = " calibrated"

// Roofline returns the computing operators and their ceilings: peaks, and calibrated rates of large
// work.
func (x *Explanation) Roofline() (ops []*estimate.Operator, ceilings []Ceiling) {
	c := x.subject
	add := func(name string, rate float64, memory bool) {
		if rate > 0 && !slices.ContainsFunc(ceilings, func(k Ceiling) bool { return k.Name == name }) {
			ceilings = append(ceilings, Ceiling{Name: name, Rate: rate, Memory: memory})
		}
	}
	add("memory", c.Problem.System.Memory.GBps*c.Problem.Assume.BytesPerGB, true)
	for i := range x.Operators {
		o := &x.Operators[i]
		if flops, bytes := o.Work(); o.Computes() && o.Exposed > 0 && flops > 0 && bytes > 0 {
			ops = append(ops, o)
			add(UnitOf(o)+" "+o.Peak.DType, o.Peak.Flops, false)
		}
	}
	return ops, append(ceilings, c.calibrated(ceilings)...)
}

// Products so large that only the units, or only the memory, matter.
var (
	computing = kernel.Shape{M: 8192, N: 8192, K: 8192, Count: 1}
	reading   = kernel.Shape{M: 16, N: 16384, K: 16384, Count: 1}
)

// calibrated returns the rates that large work reaches with the kernels of the system or, without
// them, its coefficients.
func (c *subject) calibrated(peaks []Ceiling) (out []Ceiling) {
	sys := c.Problem.System
	for _, p := range peaks {
		number, cube := strings.CutPrefix(p.Name, unitNames[estimate.Cube]+" ")
		switch best := 0.0; {
		case cube:
			best = sys.Matrix[number].Calibration
			if t, ok := gemm(sys, number); ok {
				best = 2 * computing.M * computing.N * computing.K / t.Seconds(&kernel.Pace{Flop: 1}, &computing)
			}
			out = below(out, p, best)
		case p.Memory:
			best = sys.Memory.Calibration
			number = c.Problem.Precision.AttentionType // of about 16 bits: all types read alike
			if t, ok := gemm(sys, number); ok {
				_, bytes := sys.Kernels.Gemm[number].Work()
				work := bytes[3]*reading.M*reading.N + bytes[5]*reading.M*reading.K + bytes[6]*reading.N*reading.K
				best = work / t.Seconds(&kernel.Pace{Byte: 1}, &reading)
			}
			out = below(out, p, best)
		}
	}
	return out
}

// gemm returns the calibrated model of products in a number type.
func gemm(sys *hardware.System, number string) (kernel.Timing, bool) {
	if sys.Kernels == nil || sys.Kernels.Gemm[number] == nil {
		return nil, false
	}
	return sys.Kernels.Timing(kernel.Gemm, number)
}

// below adds a ceiling at a share of a peak.
func below(out []Ceiling, peak Ceiling, share float64) []Ceiling {
	if !(share > 0) || share >= 1 {
		return out
	}
	return append(out, Ceiling{peak.Name + CalibratedSuffix, peak.Rate * share, peak.Memory, true})
}
