package kernel_test

import (
	"math"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
	"throughline/internal/test/golden"
)

// TestSums: the time of shapes of every size in each measured kernel of a chip, by the kernels that
// a deployment gets for its number types and software, and whether that is beyond what was
// measured.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	set := builtin.Kept(t).Kernels
	pace := kernel.Pace{Flop: 1e-15, Byte: 2e-13, Far: 2e-11}
	for _, types := range []kernel.Types{
		{Matrix: "bfloat16", Attention: "bfloat16", Cache: "bfloat16", Wide: "bfloat16", Weight: 2, Dispatch: 1.03, Combine: 2},
		{Matrix: "float8", Attention: "bfloat16", Cache: "float8", Wide: "bfloat16", Weight: 1, ReadsNarrow: true, PrefillBy: "fa3", DecodeBy: "flashmla", Dispatch: 2, Combine: 2},
		{Matrix: "bfloat16", Attention: "float16", Cache: "float8", Wide: "float16", Weight: 0.5, DecodeBy: "triton", PrefillBy: "flashinfer", Dispatch: 1, Combine: 1},
		{Matrix: "float16", Attention: "bfloat16", Cache: "bfloat16", Wide: "bfloat16", Weight: 1.5},
	} {
		bound := set.Bind(types)
		for _, slot := range kernel.Slots() {
			sums.Add(slot.String(), "keys", float64(len(set.Keys(slot))))
			sums.Add(slot.String(), "peak", float64(slot.Peak()))
			for role := range kernel.Rotated + 1 {
				timing, b := bound.For(kernel.Use{Slot: slot, Role: role})
				if timing == nil {
					continue
				}
				sums.Fields(slot.String()+" binding", *b)
				for i, s := range shapes() {
					pace.Idle = i%2 == 0
					sums.Add(slot.String(), "seconds", timing.Seconds(&pace, &s))
					if timing.Beyond(&s) {
						sums.Add(slot.String(), "beyond", float64(1+i))
					}
				}
			}
		}
		sums.Fields("stand-ins", set.StandIns(types, true))
		sums.Fields("stand-ins of others", set.StandIns(types, false))
		for _, by := range []kernel.Backends{types.PrefillBy, types.DecodeBy} {
			for i, prefill := range []bool{false, true} {
				if set.Differs(by, prefill) {
					sums.Add("backends", "differ", float64(1+i))
				}
			}
		}
	}
	for role := range kernel.RoleCount {
		sums.Fields("role", []any{int(role), role.Charged(), role.Launched(), role.Included()})
		for _, u := range []kernel.Uses{{{Slot: kernel.Decode, Role: role}}, {{Slot: kernel.Decode, Role: kernel.Within}, {Slot: kernel.Decode, Role: role}}, {}} {
			sums.Fields("uses", u.Own())
		}
	}
	for _, stored := range []string{"int4", "float4", "bfloat16"} {
		for _, computed := range []string{"bfloat16", "float8", "float16"} {
			key := kernel.StoredExperts(stored, computed)
			sums.Fields("stored experts", []any{key, kernel.StoredBytes(key, 7)})
		}
	}
	if latent, ok := set.Timing(kernel.Decode, set.Keys(kernel.Decode)[0]); ok {
		for i, s := range shapes() {
			by := kernel.LatentBy(latent)
			sums.Add("latent by another", "seconds", by.Seconds(&pace, &s))
			if by.Beyond(&s) {
				sums.Add("latent by another", "beyond", float64(1+i))
			}
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// shapes are of all sizes that kernels depend on.
func shapes() (out []kernel.Shape) {
	for i, m := range []float64{1, 3, 8, 16, 100, 128, 700, 5000, 70000} {
		for j, n := range []float64{16, 500, 4096, 30000} {
			for k, width := range []float64{64, 192, 1024, 7168} {
				s := kernel.Shape{
					M: m, N: n, K: width, Count: float64(1 + (i*j)%5), Rows: 1 + m/float64(1+k), Moved: m * width * 2, Heads: int32(8 << k), KVHeads: int32(1 + 7*(j%2)), Value: 128,
					Group: int32(2 << i % 7), Experts: int32(8 << j), Nodes: int16(1 + k), Groups: int16(j), Limit: int16(min(j, 2)), Gated: i%2 == 0, Uneven: k%2 == 0,
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// TestVisitWithoutLimit: groups without a limit on how many are picked change nothing: of four
// experts on four places, a token that chooses one visits each place with 1/4, two with 1/2.
func TestVisitWithoutLimit(t *testing.T) {
	for _, groups := range []int16{0, 1, 2, 4} {
		for chosen, want := range map[float64]float64{1: 0.25, 2: 0.5} {
			if got := kernel.Visit(&kernel.Shape{Experts: 4, N: chosen, Groups: groups}, 4); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v of 4 in %d groups: %v, want %v", chosen, groups, got, want)
			}
		}
	}
}
