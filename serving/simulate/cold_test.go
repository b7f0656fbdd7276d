package simulate

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/workload"
)

// TestCold: sixteen requests at once wait for a server that has just started, all but the first of them, whose step has one prompt, for
// the stall, and for those before them; one alone does not wait, nor anybody where servers have been serving.
func TestCold(t *testing.T) {
	n := workload.Lengths{Input: 1000, Output: 50}
	_, server := oneServer(t, "sglang", n)
	var fit deploy.Fit
	ttft := func(requests int, once, each float64, cold bool) float64 {
		d := server(fit)
		d.Engine.WaveSeconds, d.Engine.WaveRequestSeconds = once, each
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
	warm := ttft(16, 0, 0, false)
	if got := ttft(16, 1, 0.5, false); got != warm {
		t.Errorf("a warm server: %v s, %v without a stall", got, warm)
	}
	if got := ttft(16, 1, 0, true) - warm; math.Abs(got-15./16) > 0.01 {
		t.Errorf("a stall of 1 s: %v s on average, of 15 in 16 requests", got)
	}
	// Half a second is longer than a step: the requests have the server for themselves, and wait for no others' prompts.
	if got, want := ttft(16, 0, 0.5, true), ttft(1, 0, 0, false)+7.5*0.501; math.Abs(got-want) > 0.05 {
		t.Errorf("half a second for each of 16: %v s, by hand %v", got, want)
	}
	if got, want := ttft(1, 1, 0.5, true), ttft(1, 0, 0, false); got != want {
		t.Errorf("one request: %v s, warm %v", got, want)
	}
	// A fitted first wave is on top of that of the engine: the runs that were fitted had both.
	fit.Wave = 2
	if got := ttft(16, 1, 0.5, false); got != warm {
		t.Errorf("a warm server with a fit: %v s, %v without a stall", got, warm)
	}
	if got := ttft(16, 1, 0, true) - warm; math.Abs(got-3*15./16) > 0.01 {
		t.Errorf("a stall of 1 s and 2 s that were fitted: %v s on average, of 15 in 16 requests", got)
	}
}
