package hardware_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
)

// computed is the number type that the products of a kernel run in, by its key, and the bytes of an
// element of its weights.
func computed(key string) (string, float64) {
	base := strings.TrimSuffix(strings.TrimSuffix(key, kernel.Tuned), kernel.Blocks)
	switch base {
	case "int4", "mxfp4":
		return "bfloat16", kernel.StoredBytes(base, 0)
	case "mxfp4_float8":
		return "float8", kernel.StoredBytes(base, 0)
	}
	return base, map[string]float64{"bfloat16": 2, "float16": 2, "float8": 1, "int8": 1, "float4": 0.5, "float32": 4}[base]
}

// product is a shape of products, and its operations and the bytes of its weights.
type product struct {
	slot  kernel.Slot
	keys  func(*kernel.Set) []string
	shape func(rows float64) kernel.Shape
	flops func(rows float64) float64
	read  float64 // elements of weights
}

var products = []product{
	{kernel.Gemm, gemms, func(m float64) kernel.Shape { return kernel.Shape{M: m, N: 8192, K: 8192, Count: 1, Rows: m} }, func(m float64) float64 { return 2 * m * 8192 * 8192 }, 8192 * 8192},
	{kernel.Gemm, gemms, func(m float64) kernel.Shape { return kernel.Shape{M: m, N: 7168, K: 2048, Count: 1, Rows: m} }, func(m float64) float64 { return 2 * m * 7168 * 2048 }, 7168 * 2048},
	{kernel.Experts, fused, block, blockFlops, blockRead},
	{kernel.DispatchedExperts, dispatched, block, blockFlops, blockRead},
}

func gemms(s *kernel.Set) []string      { return slices.Sorted(maps.Keys(s.Gemm)) }
func fused(s *kernel.Set) []string      { return slices.Sorted(maps.Keys(s.Experts)) }
func dispatched(s *kernel.Set) []string { return slices.Sorted(maps.Keys(s.DispatchedExperts)) }

// block is 32 experts of DeepSeek-V3 that see so many rows each.
func block(rows float64) kernel.Shape {
	return kernel.Shape{M: 32 * rows, N: 4096, K: 7168, Count: 32, Rows: rows, Gated: true}
}

const blockRead = 32 * 3 * 7168 * 2048

func blockFlops(rows float64) float64 { return 2 * rows * blockRead }

// TestKernelsObeyLaws: the built-in kernels of products are never faster than the peaks of their
// chip, and more rows never take less. Where operations decide, the chips of one die agree within
// 15%. Two kinds are left out of that. SGLang's tables of fused blocks on H100 and H200 differ by
// 16% themselves (median of 594 rows of 8,192 tokens and more), as what they move between their
// products takes part. Products of 8 bits with one scale are cuBLAS on the H200 and DeepGEMM on the
// H100, up to a third slower.
func TestKernelsObeyLaws(t *testing.T) {
	const enough = 2048 // rows, for operations to decide
	large := map[string]map[string]float64{}
	note := func(what, chip string, seconds float64) {
		if large[what] == nil {
			large[what] = map[string]float64{}
		}
		large[what][chip] = seconds
	}
	for _, name := range hardware.Catalogue.Names() {
		src, _ := hardware.Catalogue.Find(name)
		sys, doc := hardware.Read(name, src)
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		if sys.Kernels == nil {
			continue
		}
		for i, p := range products {
			for _, key := range p.keys(sys.Kernels) {
				numberType, bytes := computed(key)
				timing, ok := sys.Kernels.Timing(p.slot, key)
				peak := sys.Matrix[numberType].TFlops * 1e12
				if !ok || peak == 0 {
					continue
				}
				pace := kernel.Pace{Flop: 1 / peak, Byte: 1 / (sys.Memory.GBps * 1e9)}
				last := 0.0
				for rows := 1.0; rows <= 1<<15; rows *= 2 {
					shape := p.shape(rows)
					got := timing.Seconds(&pace, &shape)
					least := max(p.flops(rows)*pace.Flop, p.read*bytes*pace.Byte)
					if got < least*(1-1e-9) {
						t.Errorf("%s, %s %s, product %d, %g rows: %g s, less than the %g s of the peaks", name, p.slot.Name(), key, i, rows, got, least)
					}
					if got < last*(1-1e-9) {
						t.Errorf("%s, %s %s, product %d: %g rows take %g s, half of them %g s", name, p.slot.Name(), key, i, rows, got, last)
					}
					last = got
					if rows == enough && p.slot != kernel.Experts && key != "float8" && !timing.Beyond(&shape) {
						note(fmt.Sprint(p.slot.Name(), " ", key, ", product ", i), name, got)
					}
				}
			}
		}
	}
	for what, times := range large {
		for _, other := range []string{"H200", "H800"} {
			if a, b := times["H100_SXM"], times[other]; a > 0 && b > 0 && math.Abs(a/b-1) > 0.15 {
				t.Errorf("%s: %.3g s on an H100, %.3g s on an %s", what, a, b, other)
			}
		}
	}
}

// TestOneDie: a die under another name draws the same at the same clock: while it is on, while it
// works, and for an operation. Only its highest clock is another, and its peak in proportion.
func TestOneDie(t *testing.T) {
	for _, pair := range [][2]string{{"H200", "H200_NVL"}, {"H100_SXM", "H100_PCIe"}} {
		var drawn [2][][]float64
		for i, name := range pair {
			s := builtin.System(t, name)
			p := s.Power
			for mhz := 600.0; mhz <= 1600; mhz += 250 {
				share := mhz / p.Clock.MHz
				squared := p.Clock.Squared(share)
				drawn[i] = append(drawn[i], []float64{(p.On - p.Rest) * share * squared, p.Busy * share * squared,
					p.Flop["bfloat16"] * squared, p.Flop["float8"] * squared, p.CoreByte * squared})
			}
		}
		for n, at := range drawn[0] {
			for k, want := range at {
				if got := drawn[1][n][k]; math.Abs(got/want-1) > 5e-3 {
					t.Errorf("%v, %d MHz: number %d is %.4g and %.4g", pair, 600+250*n, k, want, got)
				}
			}
		}
	}
}
