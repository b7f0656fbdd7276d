package validate

import (
	"fmt"
	"io"
	"strconv"

	"throughline/hardware"
	"throughline/kernel"
)

// Ops predicts a table of kernels: columns kind, dtype, params, flops, bytes, time_us. Where the system has a calibrated
// model of a kernel that is used, otherwise the roofline.
func Ops(name string, src io.Reader, s *hardware.System) (*Report, error) {
	columns := []string{"kind", "dtype", "params", "flops", "bytes", "time_us"}
	r, err := table(name, src, columns, func(get func(string) string) Row {
		f := measured(get("time_us"))
		if f.Reason == "" {
			f.Predicted, f.Reason = kernelTime(s, get)
			f.Predicted *= 1e6
		}
		return Row{Group: get("kind") + " " + get("dtype"), Figures: []Figure{f}}
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_us", "reason")
	}
	return r, err
}

// numberTypes are the names of number types in tables of kernels.
var numberTypes = map[string]string{"bf16": "bfloat16", "fp16": "float16", "fp8": "float8", "fp32": "float32", "int8": "int8"}

// kernelTime is the time of one kernel in seconds, or why there is none.
func kernelTime(s *hardware.System, get func(string) string) (seconds float64, reason string) {
	p, kind := params(get("params")), get("kind")
	numberType := numberTypes[get("dtype")]
	at := func(name string) float64 { return float64(p[name]) }
	bandwidth, rate := s.Memory.GBps*1e9, s.Matrix[numberType].TFlops*1e12
	flops, errF := strconv.ParseFloat(get("flops"), 64)
	bytes, errB := strconv.ParseFloat(get("bytes"), 64)
	if errF != nil || errB != nil {
		return 0, "flops and bytes must be numbers"
	}
	set := s.Kernels
	if set == nil {
		set = &kernel.Set{}
	}
	switch kind {
	case "gemm":
		if m := set.Gemm[numberType]; m != nil && rate > 0 {
			t, err := m.At(rate, bandwidth)
			if err == nil {
				return t.Seconds(at("m"), at("n"), at("k")), ""
			}
		}
	case "grouped_gemm":
		if m := set.GroupedGemm[numberType]; m != nil && rate > 0 {
			if t, err := m.At(rate, bandwidth); err == nil {
				return t.Seconds(at("experts"), at("m"), at("n"), at("k")), ""
			}
		}
	case "attn_decode":
		if m := set.Decode[numberType]; m != nil && rate > 0 {
			if t, err := m.At(rate, bandwidth); err == nil {
				h := kernel.Heads{Query: at("h"), KV: at("hk"), Key: at("d"), Value: at("d")}
				return t.Seconds(at("b"), at("s"), h, 2*at("d")*hardware.TypeBytes(numberType)), ""
			}
		}
	case "attn_prefill":
		if m := set.Prefill[numberType]; m != nil && rate > 0 {
			if t, err := m.At(rate, bandwidth); err == nil {
				h := kernel.Heads{Query: at("h"), KV: at("hk"), Key: at("dq"), Value: at("dv")}
				return t.Seconds(at("b"), at("s"), 0, h), ""
			}
		}
	case "add_rmsnorm", "silu_mul":
		if m := set.Elementwise[kind]; m != nil {
			if t, err := m.At(bandwidth); err == nil {
				return t.Seconds(at("m"), bytes/at("m")), ""
			}
		}
	case "d2d_copy":
		if m := set.Copy[kind]; m != nil {
			if t, err := m.At(bandwidth); err == nil {
				return t.Seconds(1, bytes), ""
			}
		}
	case "d2h", "h2d":
		if s.Memory2 == nil {
			return 0, "the system has no second memory tier"
		}
		if m := set.Copy[kind+" "+get("dtype")]; m != nil {
			if t, err := m.At(s.Memory2.GBps * 1e9); err == nil {
				return t.Seconds(1, bytes), ""
			}
		}
		return bytes / (s.Memory2.GBps * 1e9), ""
	default:
		return 0, fmt.Sprintf("no model for kernels of kind %q", kind)
	}
	if flops > 0 && rate == 0 && kind != "add_rmsnorm" && kind != "silu_mul" {
		return 0, fmt.Sprintf("%s has no matrix rate for %s", s.Name, get("dtype"))
	}
	memory := bytes / (bandwidth * s.Memory.Calibration)
	if rate == 0 {
		return memory, ""
	}
	return max(memory, flops/(rate*s.Matrix[numberType].Calibration)), ""
}
