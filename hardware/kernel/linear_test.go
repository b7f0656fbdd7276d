package kernel

import (
	"math"
	"testing"
)

// TestLinear: 3 sequences of 10 tokens, counted as 16; 8 heads of values of 64 on 2 of queries and
// keys of 32. Operations take twice the time at peak, bytes three times.
func TestLinear(t *testing.T) {
	l := LinearAttention{Base: Base{Latency: 1, Norm: 1, Compute: Flat(2), Memory: Flat(3)}, Element: 2, State: 4, Tile: 16}
	h := Heads{Query: 8, KV: 2, Key: 32, Value: 64}
	bytes := float64(3*10*2*(2*32+2*32+8*64+8*64) + 3*2*4*8*32*64) // queries, keys, values, results; states read and written
	if got := l.Bytes(3, 10, h); got != bytes {
		t.Errorf("%g bytes, not %g", got, bytes)
	}
	k, err := l.prepare(false)
	prepared(t, err)
	const flops = 4 * 32 * 64 // of a token and head: four for each element of the state
	if got, want := k.Seconds(&Pace{Flop: 1e-3, Byte: 1e-6}, states(3, 10, h)), 1+2*flops*3*8*16/1e3+3*bytes/1e6; math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g s, not %g", got, want)
	}
}

func TestLinearOrigin(t *testing.T) {
	linear, curve, products := &LinearAttention{}, &Curve{}, &GroupedModel{}
	other := &Set{System: "other", Absorb: map[string]*GroupedModel{"bfloat16": products},
		Convolution: map[string]*Curve{"decode": {}, "prefill": curve}, LinearDecode: map[string]*LinearAttention{"gated_delta": linear},
		LinearPrefill: map[string]*LinearAttention{"gated_delta": linear}, Errors: map[string]float64{"linear_decode.gated_delta": 0.1}}
	if other.Check() == nil {
		t.Error("accepts models without anything")
	}
	s := &Set{System: "mine", Convolution: map[string]*Curve{"decode": {}}}
	s.Fill(other)
	if s.Absorb["bfloat16"] != products || s.LinearDecode["gated_delta"] != linear || s.LinearPrefill["gated_delta"] != linear ||
		s.Convolution["prefill"] != curve || s.Errors["linear_decode.gated_delta"] != 0.1 {
		t.Errorf("%+v", s)
	}
	for kind, want := range map[[2]string]string{
		{"absorb", "bfloat16"}: "other", {"linear_decode", "gated_delta"}: "other", {"linear_prefill", "gated_delta"}: "other",
		{"convolution", "decode"}: "mine", {"convolution", "prefill"}: "other",
	} {
		if got := s.MeasuredOn(kind[0], kind[1]); got != want {
			t.Errorf("%v: %s, not %s", kind, got, want)
		}
	}
	bad := &Set{Absorb: map[string]*GroupedModel{"x": products}}
	if bad.Check() == nil {
		t.Error("accepts products without a norm")
	}
}
