package calibrate

import (
	"fmt"
	"math"
	"testing"

	"throughline/hardware/kernel"
)

// TestAbsorb fits products of an imagined GPU: half of the peak rate, 80% of the bandwidth, 4 µs.
func TestAbsorb(t *testing.T) {
	p := Peak{Rate: 1e15, Bandwidth: 3e12}
	var lines []string
	for _, h := range []float64{1, 2, 4, 8, 16, 32, 64, 128} {
		for _, m := range []float64{1, 4, 16, 64, 256, 1024, 4096, 16384} {
			for _, w := range [][2]float64{{512, 128}, {128, 512}} {
				c, b := 2*h*m*w[0]*w[1]/500e12, 2*h*((w[0]*w[1]+m*w[0])/2.4e12+m*w[1]/3e12)
				lines = append(lines, fmt.Sprintf("mla_absorb,bf16,tokens=%g;h=%g;n=%g;k=%g,0,0,%.4f", m, h, w[0], w[1], 1e6*(4e-6+kernel.Join(4, c, b))))
			}
		}
	}
	g, v := Absorb(read(t, lines), p)
	if v.Fitted.Rows != len(lines) || v.Fitted.Mean > 1 || v.Shapes.Mean > 2 || v.Below > 0 || math.Abs(g.Latency-4e-6) > 0.2e-6 {
		t.Errorf("latency %g, %+v", g.Latency, v)
	}
}

// linearLines are rows of linear attention on a GPU that takes the given seconds.
func linearLines(kind kernel.Slot, lengths []float64, seconds func(b, s float64, h kernel.Heads) float64) (lines []string) {
	for _, h := range []kernel.Heads{{Query: 2, KV: 1}, {Query: 8, KV: 2}, {Query: 16, KV: 16}, {Query: 32, KV: 8}, {Query: 48, KV: 16}, {Query: 64, KV: 16}} {
		h.Key, h.Value = 128, 128
		for _, b := range []float64{1, 4, 16, 64} {
			for _, s := range lengths {
				lines = append(lines, fmt.Sprintf("%s,bf16,b=%g;s=%g;h=%g;hk=%g;dk=128;dv=128;conv=4,0,0,%.4f", kind, b, s, h.Query, h.KV, 1e6*seconds(b, s, h)))
			}
		}
	}
	return lines
}

// TestLinear fits prompts of an imagined GPU: 30 µs, 1 µs for each chunk of 64 tokens of a
// sequence, a fifth of the peak. Of 96 rows those with less than a chunk and those that move more
// than 256 MiB are left out.
func TestLinear(t *testing.T) {
	p := Peak{Rate: 1e15, Bandwidth: 3e12}
	model := kernel.LinearAttention{Element: 2, State: 4}
	flops := kernel.StateFlops(true, true, 128, 128)
	// By hand: 6·128·128 for the state and 64·(6·128 + 4·128) within the chunk.
	if flops != 180224 {
		t.Fatalf("%g operations", flops)
	}
	left := 0
	lines := linearLines(kernel.LinearPrefill, []float64{16, 256, 1024, 4096}, func(b, s float64, h kernel.Heads) float64 {
		if s < 64 || model.Bytes(b, s, h) > 1<<28 {
			left++
		}
		return 30e-6 + s/64*1e-6 + b*s*h.Query*flops/200e12
	})
	g, v := Linear(read(t, lines), p)
	if v.Short != left || v.Fitted.Rows != len(lines)-left || v.Fitted.Mean > 3 || v.Shapes.Mean > 5 || v.Below > 0 {
		t.Errorf("%d left out, %+v", left, v)
	}
	if g.Tile != 64 || math.Abs(g.Latency-30e-6) > 4e-6 {
		t.Errorf("%+v", g)
	}
	// Far beyond the rows time is in proportion.
	k := timing(t, kernel.LinearPrefill, g)
	seconds := func(tokens float64) float64 {
		return k.Seconds(at(p), &kernel.Shape{Count: 1, M: tokens, N: 128, K: 128, Heads: 64, KVHeads: 16, Gated: true})
	}
	if a, b := seconds(1<<17), seconds(1<<18); math.Abs((b-g.Latency)/(a-g.Latency)-2) > 0.01 {
		t.Errorf("%g, twice as many tokens %g", a, b)
	}

	// Decode that moves states at 80% of the bandwidth.
	lines = linearLines(kernel.LinearDecode, []float64{1}, func(b, s float64, h kernel.Heads) float64 {
		return 4e-6 + model.Bytes(b, s, h)/2.4e12
	})
	g, v = Linear(read(t, lines), p)
	if v.Fitted.Mean > 1 || v.Shapes.Mean > 2 || g.Tile != 0 || math.Abs(g.Latency-4e-6) > 0.2e-6 {
		t.Errorf("%+v, latency %g", v, g.Latency)
	}
}

// TestConvolution: 2 µs and twice the time at peak of queries, keys and values, read and written.
func TestConvolution(t *testing.T) {
	lines := linearLines(kernel.ConvolutionPrefill, []float64{1, 64, 512, 4096}, func(b, s float64, h kernel.Heads) float64 {
		return 2e-6 + 2*b*s*2*2*(2*128*h.KV+128*h.Query)/3e12
	})
	g, v := Convolution(read(t, lines), 3e12)
	if v.Fitted.Mean > 1 || v.Shapes.Mean > 1.5 || v.Short < 24 || math.Abs(g.Latency-2e-6) > 0.2e-6 {
		t.Errorf("%+v, latency %g", v, g.Latency)
	}
}

// TestLinearClasses: every kind gets its place in the set and its error.
func TestLinearClasses(t *testing.T) {
	slow := func(b, s float64, h kernel.Heads) float64 { return 1e-5 + b*s*h.Query*2e-7 }
	rows := linearLines(kernel.ConvolutionPrefill, []float64{64, 512}, slow)
	rows = append(rows, linearLines(kernel.ConvolutionDecode, []float64{1}, slow)...)
	rows = append(rows, linearLines(kernel.LinearPrefill, []float64{64, 512}, slow)...)
	rows = append(rows, linearLines(kernel.LinearDecode, []float64{1}, slow)...)
	for h := 1; h <= 128; h *= 2 {
		rows = append(rows, fmt.Sprintf("mla_absorb,bf16,tokens=1;h=%d;n=512;k=128,0,0,9", h))
	}
	var set kernel.Set
	_, uncovered := Classes(read(t, rows), system(t, "H200"), &set)
	if uncovered > 0 || set.Absorb["bfloat16"] == nil || set.Convolution["prefill"] == nil || set.Convolution["decode"] == nil ||
		set.LinearPrefill["gated_delta"] == nil || set.LinearDecode["gated_delta"] == nil {
		t.Errorf("%d uncovered, %+v", uncovered, set)
	}
	for _, kind := range []string{"absorb.bfloat16", "convolution.prefill", "convolution.decode", "linear_prefill.gated_delta", "linear_decode.gated_delta"} {
		if _, ok := set.Errors[kind]; !ok {
			t.Errorf("no error of %s", kind)
		}
	}
	if err := set.Check(); err != nil {
		t.Error(err)
	}
}

// TestCold: the quickest rows take 10 s; with 4 s of bytes at peak 13 s are too few for memory, at
// a tenth of the quickest for noise, and 13.5 s are not.
func TestCold(t *testing.T) {
	f := form{memory: side{work: kernel.Work{1: 1}}}
	row := func(bytes, seconds float64) sample {
		return sample{part: part{m: kernel.Point{X: bytes, Y: 1, Z: 1}}, seconds: seconds}
	}
	kept, cached := f.cold([]sample{row(0.5, 10), row(4, 12.9), row(4, 13.5), row(100, 120)})
	if cached != 1 || len(kept) != 3 || kept[1].seconds != 13.5 {
		t.Error(cached, kept)
	}
	if kept, cached = f.cold(nil); kept != nil || cached != 0 {
		t.Error("finds rows where there are none")
	}
}
