package kernel

import (
	"math"
	"testing"
)

// decodeOf is a kernel that only moves bytes, so much slower than memory.
func decodeOf(latency, slowdown float64) *DecodeAttention {
	return &DecodeAttention{Base: Base{Latency: latency, Norm: 1, Compute: Flat(1), Memory: Flat(slowdown)}, Query: 2, Tile: 128}
}

func prefillOf(slowdown float64) *PrefillAttention {
	return &PrefillAttention{Base: Base{Norm: 1, Compute: Flat(slowdown), Memory: Flat(1)}, Element: 2, Tile: 128}
}

// backends is a set with two backends of grouped attention, and one of latent attention.
func backends() *Set {
	s := &Set{
		System:        "C",
		Decode:        map[string]*DecodeAttention{"bfloat16": decodeOf(4e-6, 1.25), "bfloat16@triton": decodeOf(10e-6, 3), "bfloat16@far": decodeOf(1e-6, 1)},
		LatentDecode:  map[string]*DecodeAttention{"bfloat16": decodeOf(5e-6, 1.5)},
		Prefill:       map[string]*PrefillAttention{"bfloat16": prefillOf(2), "bfloat16@triton": prefillOf(8)},
		LatentPrefill: map[string]*PrefillAttention{"bfloat16": prefillOf(1.5)},
		From:          map[string]string{"decode.bfloat16@far": "another chip"},
	}
	s.By(Decode, "bfloat16", "fa3")
	s.By(Prefill, "bfloat16", "fa3")
	s.By(LatentDecode, "bfloat16", "trtllm_mla")
	s.By(LatentPrefill, "bfloat16", "trtllm_mla")
	return s
}

// TestTwoBackends: one shape by two backends, by hand. 32 sequences of 2048 tokens with 8 KV heads
// of 128 in 16 bits are 268 MB, at 1 TB/s 268 us, of queries and results 32·64·256·2 bytes 1 us,
// and of operations 2·64/8·256 for each token and KV head 2.1 G, at 1 P/s 2.1 us: 4 + 2.1 +
// 1.25·268.4 + 1 us by one, 10 + 2.1 + 3·268.4 + 1 by the other.
func TestTwoBackends(t *testing.T) {
	s, pace := backends(), Pace{Flop: 1e-15, Byte: 1e-12}
	shape := Shape{Count: 32, M: 32, N: 2048, K: 128, Value: 128, Heads: 64, KVHeads: 8, Moved: 32 * 2048 * 8 * 256 * 2}
	bytes, queries, flops := 268.435456e-6, 32*64*256*2*1e-12, 32*2048*8*(2*64/8*256)*1e-15
	for _, c := range []struct {
		backends Backends
		want     float64
		standsIn bool
	}{
		{"", 4e-6 + flops + 1.25*bytes + queries, false},
		{"fa3", 4e-6 + flops + 1.25*bytes + queries, false},
		{"triton", 10e-6 + flops + 3*bytes + queries, false},
		{"none|triton", 10e-6 + flops + 3*bytes + queries, false},
		{"flashinfer", 4e-6 + flops + 1.25*bytes + queries, true},
		{"?flashinfer", 4e-6 + flops + 1.25*bytes + queries, false},
		{"far", 1e-6 + flops + bytes + queries, false},
		{"?far", 4e-6 + flops + 1.25*bytes + queries, false}, // measured on another chip
	} {
		timing, b := s.Bind(Types{Attention: "bfloat16", Cache: "bfloat16", DecodeBy: c.backends}).For(Use{Slot: Decode})
		if got := timing.Seconds(&pace, &shape); math.Abs(got-c.want) > 1e-12 || b.StandsIn != c.standsIn {
			t.Errorf("%q: %g s, want %g; stands in: %v", c.backends, got, c.want, b.StandsIn)
		}
	}
}

// TestLatentBackends: kernels of software that treats all attention alike serve latent attention,
// in decode in blocks of 16 heads which each read the cache; those of other software do not.
func TestLatentBackends(t *testing.T) {
	s := backends()
	b := s.Bind(Types{Attention: "bfloat16", Cache: "bfloat16", PrefillBy: "triton", DecodeBy: "triton"})
	if timing, _ := b.For(Use{Slot: LatentPrefill}); timing != nil {
		t.Error("latent prefill is not left to the kernel of triton")
	}
	if _, k := b.For(Use{Slot: Prefill}); k.Key != "bfloat16@triton" || k.StandsIn {
		t.Error(k)
	}
	timing, k := b.For(Use{Slot: LatentDecode})
	if k.Section != "decode" || k.Key != "bfloat16@triton" || !k.Stretched || k.StandsIn {
		t.Error(k)
	}
	pace := Pace{Byte: 1e-12}
	of := func(heads int32) float64 {
		return timing.Seconds(&pace, &Shape{Count: 32, M: 32, N: 2048, K: 576, Value: 512, Heads: heads, KVHeads: 1, Moved: 32 * 2048 * 576 * 2})
	}
	queries := func(heads float64) float64 { return 2 * 32 * heads * 1088 * 1e-12 }
	for heads, blocks := range map[int32]float64{1: 1, 16: 1, 32: 2, 128: 8} {
		if want := 10e-6 + blocks*3*32*2048*576*2e-12 + queries(float64(heads)); math.Abs(of(heads)-want) > 1e-12 {
			t.Errorf("%d heads: %g s, want %g", heads, of(heads), want)
		}
	}
	got := s.StandIns(Types{Attention: "bfloat16", Cache: "bfloat16", PrefillBy: "flashinfer", DecodeBy: "flashinfer"}, true)
	if len(got) != 2 || got[0].By != "trtllm_mla" || got[1].By != "trtllm_mla" || got[1].Stretched {
		t.Errorf("%+v", got)
	}
	got = s.StandIns(Types{Attention: "bfloat16", Cache: "bfloat16", PrefillBy: "triton", DecodeBy: "triton"}, true)
	if len(got) != 1 || !got[0].Stretched {
		t.Errorf("%+v", got)
	}
}

// TestDiffers: software that is there anyway, or was measured elsewhere, makes no difference.
func TestDiffers(t *testing.T) {
	s := backends()
	for backends, want := range map[Backends]bool{"?fa3": false, "?triton": true, "?flashinfer": false, "?far": false, "?trtllm_mla": false} {
		if got := s.Differs(backends, false); got != want {
			t.Errorf("%q: %v", backends, got)
		}
	}
}

// TestDrop: what is said of a model goes with it.
func TestDrop(t *testing.T) {
	s := backends()
	s.Drop(Decode, "bfloat16@far")
	if len(s.Keys(Decode)) != 2 || len(s.From) != 0 {
		t.Error(s.Keys(Decode), s.From)
	}
}
