package simulate

import (
	"math"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/workload"
)

// TestCold: sixteen requests at once wait for a server that has just started, all but the first of
// them, whose step has one prompt, for the stall, and for those before them; one alone does not
// wait, nor anybody where servers have been serving.
func TestCold(t *testing.T) {
	n := workload.Lengths{Input: 1000, Output: 50}
	_, server := oneServer(t, "sglang", n)
	var fit deploy.Fit
	ttft := func(requests int, once float64, cold bool) float64 {
		d := server(fit)
		d.Engine.WaveSeconds = once
		o, err := Of(&d, n, &Settings{Cold: cold})
		if err != nil {
			t.Fatal(err)
		}
		traffic := workload.Traffic{Requests: requests, Rate: math.Inf(1), Input: workload.Length{Mean: n.Input}, Output: workload.Length{Mean: n.Output}}
		r, err := Run(t.Context(), o, traffic.Source())
		if err != nil {
			t.Fatal(err)
		}
		return r.TTFT.Mean()
	}
	warm := ttft(16, 0, false)
	if got := ttft(16, 1, false); got != warm {
		t.Errorf("a warm server: %v s, %v without a stall", got, warm)
	}
	if got := ttft(16, 1, true) - warm; math.Abs(got-15./16) > 0.01 {
		t.Errorf("a stall of 1 s: %v s on average, of 15 in 16 requests", got)
	}
	if got, want := ttft(1, 1, true), ttft(1, 0, false); got != want {
		t.Errorf("one request: %v s, warm %v", got, want)
	}
	// A fitted first wave is on top of that of the engine: the runs that were fitted had both.
	fit.Wave = 2
	if got := ttft(16, 1, false); got != warm {
		t.Errorf("a warm server with a fit: %v s, %v without a stall", got, warm)
	}
	if got := ttft(16, 1, true) - warm; math.Abs(got-3*15./16) > 0.01 {
		t.Errorf("a stall of 1 s and 2 s that were fitted: %v s on average, of 15 in 16 requests", got)
	}
}

// TestAnswers: of four requests at once, whose answers keep the front end busy for 0.1 s at every
// step, the first tokens come as soon as without that, and every other 0.4 s after the one before.
// A front end that is through before the next step delays nothing.
func TestAnswers(t *testing.T) {
	n := workload.Lengths{Input: 1000, Output: 50}
	_, server := oneServer(t, "sglang", n)
	run := func(each float64) *Result {
		d := server(deploy.Fit{})
		d.Engine.FrontEnd = deploy.FrontEnd{AnswerSeconds: each}
		o, err := Of(&d, n, &Settings{})
		if err != nil {
			t.Fatal(err)
		}
		traffic := workload.Traffic{Requests: 4, Rate: math.Inf(1), Input: workload.Length{Mean: n.Input}, Output: workload.Length{Mean: n.Output}}
		r, err := Run(t.Context(), o, traffic.Source())
		if err != nil {
			t.Fatal(err)
		}
		return &Result{Record: r}
	}
	none, slow, fast := run(0), run(0.1), run(1e-6)
	if got, want := slow.Summary.TTFT.Mean(), none.Summary.TTFT.Mean(); math.Abs(got-want) > 1e-12 {
		t.Errorf("first tokens: %v s, %v without a front end", got, want)
	}
	if got := slow.Summary.TPOT.Mean(); math.Abs(got-0.4) > 1e-9 {
		t.Errorf("tokens come every %v s, want 0.4", got)
	}
	if got := slow.Bottleneck(); !strings.HasPrefix(got, "the front end") {
		t.Errorf("bottleneck: %s", got)
	}
	if fast.Summary.TPOT.Mean() != none.Summary.TPOT.Mean() || strings.HasPrefix(none.Bottleneck(), "the front end") {
		t.Errorf("a fast front end: %v s, %v without; bottleneck %s", fast.Summary.TPOT.Mean(), none.Summary.TPOT.Mean(), none.Bottleneck())
	}
}

// TestTogether: of a hundred requests at once none goes on before 10 ms of each have passed; one
// alone waits for its own 10 ms, and two front ends need half as long.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		requests, fronts int
		want             float64
	}{{100, 1, 1}, {1, 1, 0.01}, {100, 2, 0.5}} {
		a := arrivals{source: &workload.List{Requests: make([]workload.Request, c.requests)}, free: make([]float64, c.fronts)}
		a.TogetherSeconds = 0.01
		if err := a.pull(); err != nil {
			t.Fatal(err)
		}
		if took, err := a.takeIn(0); !took || err != nil {
			t.Fatal(took, err)
		}
		if first := a.inside[0].at; len(a.inside) != c.requests || math.Abs(first-c.want) > 1e-12 {
			t.Errorf("%+v: %d are in, the first at %g s", c, len(a.inside), first)
		}
	}
}
