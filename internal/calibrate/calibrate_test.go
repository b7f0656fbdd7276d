package calibrate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

func read(t *testing.T, lines []string) []measurement.Row {
	t.Helper()
	tab, err := measurement.Read("x.csv", strings.NewReader("kind,dtype,params,flops,bytes,time_us\n"+strings.Join(lines, "\n")))
	if err != nil || len(tab.Problems) > 0 {
		t.Fatal(err, tab.Problems)
	}
	return tab.Rows
}

// timing is a model, prepared as it was measured.
func timing(t *testing.T, of kernel.Slot, m kernel.Model) kernel.Timing {
	t.Helper()
	var set kernel.Set
	set.Put(of, "x", m, -1)
	k, ok := set.Timing(of, "x")
	if !ok {
		t.Fatal(m.Check())
	}
	return k
}

// at is the pace of peaks.
func at(p Peak) *kernel.Pace { return &kernel.Pace{Flop: 1 / p.Rate, Byte: 1 / p.Bandwidth} }

// products are times of an imagined GPU: 60% of the peak rate, 80% of the bandwidth, 4 µs.
func products() []string {
	var out []string
	for _, m := range []float64{1, 8, 64, 256, 1024, 4096} {
		for _, n := range []float64{1024, 4096, 8192, 28672} {
			for _, k := range []float64{1024, 4096, 8192, 14336} {
				c, b := 2*m*n*k/600e12, 2*(m*n+n*k+m*k)/2.4e12
				us := 1e6 * (4e-6 + kernel.Join(4, c, b))
				out = append(out, fmt.Sprintf("gemm,bf16,m=%g;n=%g;k=%g,0,0,%.4f", m, n, k, us))
			}
		}
	}
	return out
}

func TestGemm(t *testing.T) {
	rows := read(t, products())
	p := Peak{Rate: 1e15, Bandwidth: 3e12}
	g, v := Gemm(rows, p)
	if v.Fitted.Rows != len(rows) || v.Fitted.Mean > 1 || v.Shapes.Mean > 2 || v.Before.Mean < 10 {
		t.Errorf("%+v", v)
	}
	if math.Abs(g.Latency-4e-6) > 1e-6 {
		t.Errorf("a latency of %g", g.Latency)
	}
	k := timing(t, kernel.Gemm, g)
	seconds := func(m, n, depth float64) float64 {
		return k.Seconds(at(p), &kernel.Shape{M: m, N: n, K: depth, Count: 1})
	}
	// The kernel gives what the fit says of it, also after a trip through a file.
	if s := seconds(1024, 8192, 8192); math.Abs(s/233e-6-1) > 0.03 {
		t.Errorf("%g", s)
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Gemm(rows, p)
	if other, _ := json.Marshal(again); string(other) != string(text) {
		t.Error("a second fit differs")
	}
	// Time does not fall, from step to step of each dimension.
	for i := range 3 {
		for _, base := range [][3]float64{{1, 1024, 1024}, {100, 5000, 3000}, {4096, 8192, 20000}} {
			last := 0.0
			for f := 0.25; f < 300; f *= 1.1 {
				x := base
				x[i] *= f
				s := seconds(x[0], x[1], x[2])
				if s < last {
					t.Fatalf("%v takes %g, less than %g", x, s, last)
				}
				if roof := max(2*x[0]*x[1]*x[2]/p.Rate, 2*(x[0]*x[1]+x[1]*x[2]+x[0]*x[2])/p.Bandwidth); s < roof {
					t.Fatalf("%v takes %g, the roofline %g", x, s, roof)
				}
				last = s
			}
		}
	}
}

func TestBelowRoofline(t *testing.T) {
	lines := append(products(), "gemm,bf16,m=1;n=8192;k=8192,0,0,10")
	_, v := Gemm(read(t, lines), Peak{Rate: 1e15, Bandwidth: 3e12})
	if v.Below != 1 || v.Fitted.Rows != len(lines)-1 {
		t.Errorf("%+v", v)
	}
}

func TestClean(t *testing.T) {
	kept, conflicts := Clean(read(t, []string{
		"gemm,bf16,m=1;n=1;k=1,0,0,10", "gemm,bf16,m=1;n=1;k=1,0,0,19", // noise
		"gemm,bf16,m=2;n=1;k=1,0,0,10", "gemm,bf16,m=2;n=1;k=1,0,0,21", // contradiction
		"gemm,fp8,m=2;n=1;k=1,0,0,90",
	}))
	if len(kept) != 3 || len(conflicts) != 1 {
		t.Fatal(kept, conflicts)
	}
	const want = "gemm bfloat16 m=2 n=1 k=1: x.csv:4, x.csv:5 take 1e-05 to 2.1e-05 s"
	if got := conflicts[0].String(); got != want {
		t.Error(got)
	}
}

func TestInOrder(t *testing.T) {
	rows := read(t, []string{
		"gemm,bf16,m=1;n=1;k=1,0,0,100", // a hiccup
		"gemm,bf16,m=2;n=1;k=1,0,0,10", "gemm,bf16,m=4;n=1;k=1,0,0,12", "gemm,bf16,m=8;n=1;k=1,0,0,30",
		"gemm,bf16,m=16;n=1;k=1,0,0,30", "gemm,bf16,m=32;n=1;k=1,0,0,1", // the last one is wrong, not those before it
		"gemm,bf16,m=1;n=9;k=9,0,0,100", // another series
	})
	kept, conflicts := Clean(rows)
	if len(kept) != 6 || len(conflicts) != 1 {
		t.Fatal(kept, conflicts)
	}
	const want = "gemm bfloat16 m=1 n=1 k=1: x.csv:2 takes 0.0001 s, the larger x.csv:3 1e-05 s"
	if got := conflicts[0].String(); got != want {
		t.Error(got)
	}
}

func TestNoise(t *testing.T) {
	series := func(times ...float64) (out []sample) {
		for i, s := range times {
			out = append(out, sample{series: "a", size: float64(i), seconds: s})
		}
		return out
	}
	if n := noise(series(1, 2, 2, 5)); n != 0 {
		t.Errorf("rising times have a noise of %g", n)
	}
	// 1, then 4 and 1 meet at 2: errors of 0, 1/2 and 1.
	if n := noise(series(1, 4, 1)); math.Abs(n-50) > 1e-9 {
		t.Errorf("%g", n)
	}
}

func TestSolve(t *testing.T) {
	a := []float64{4, 2, 0, 2, 5, 1, 0, 1, 3}
	b := []float64{8, 15, 11}
	if !solve(a, b, 3) || math.Abs(b[0]-1) > 1e-12 || math.Abs(b[1]-2) > 1e-12 || math.Abs(b[2]-3) > 1e-12 {
		t.Error(b)
	}
	if solve([]float64{-1}, []float64{1}, 1) {
		t.Error("solves what is not positive")
	}
}

func TestCurve(t *testing.T) {
	var lines []string
	for e := 10; e <= 30; e++ {
		n := math.Exp2(float64(e))
		lines = append(lines, fmt.Sprintf("d2d_copy,u8,n=%.0f,0,0,%.4f", n, 1e6*(1e-6+2*n/2.4e12)))
	}
	m, v := deviceCopies.fit(read(t, lines), Peak{Bandwidth: 3e12})
	if v.Fitted.Mean > 1 || v.Shapes.Mean > 5 || v.Largest.Mean > 3 {
		t.Errorf("%+v", v)
	}
	k := timing(t, kernel.DeviceCopy, m)
	if s := k.Seconds(&kernel.Pace{Byte: 1 / 3e12}, &kernel.Shape{Moved: 2 << 40}); math.Abs(s/(float64(2<<40)/2.4e12)-1) > 0.02 {
		t.Errorf("far beyond the measurements: %g", s)
	}
}
