package point

import (
	"math"
	"testing"

	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// TestSimulationDraws: in a steady state a simulation draws what the estimate says, within a twentieth, and its timeline adds up to
// all its joules.
func TestSimulationDraws(t *testing.T) {
	a, err := askLimit(t, "H200", 500)
	if err != nil {
		t.Fatal(err)
	}
	q := question.DefaultOf(question.Simulate)
	q.Model, q.System, q.Engine, q.PowerLimit, q.Concurrency, q.Input, q.Output = "Llama-3.1-8B", "H200", "vllm", "500W", 64, 1024, 1024
	service, _, err := NewService(&question.Query{Question: q}, workload.Lengths{Input: 1024, Output: 1024}, nil, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	service.Options.Every = 1
	load := workload.Traffic{Requests: 640, Clients: 64, Rate: math.Inf(1), Input: workload.Length{Mean: 1024}, Output: workload.Length{Mean: 1024}, Turns: 1}
	got, err := simulate.Run(t.Context(), service.Options, load.Source())
	if err != nil {
		t.Fatal(err)
	}
	joules := 0.0
	for i := range got.Timeline.Points {
		joules += got.Timeline.Points[i].Joules
	}
	if math.Abs(joules/got.Energy.More-1) > 1e-9 {
		t.Errorf("%g J over time, %g J in all steps", joules, got.Energy.More)
	}
	if per := got.Joules() / float64(got.Output); math.Abs(per/a.Energy.Output-1) > 0.05 || got.WattsPerProcessor() > 500 {
		t.Errorf("%g J per token at %g W, estimated %g J", per, got.WattsPerProcessor(), a.Energy.Output)
	}
}

// TestDrawsWithinLimit: whatever mixes prompts and decode steps, no load draws more than the limit on average, and a simulation takes the
// energy that the estimate says, within a tenth.
func TestDrawsWithinLimit(t *testing.T) {
	for _, c := range []struct {
		system, engine, limit string
		tp, pp, clients       int
		input, output         int
		most                  float64
	}{
		{"H200", "vllm", "", 1, 1, 256, 1024, 256, 700},
		{"H200", "sglang", "", 1, 1, 256, 1024, 256, 700},
		{"H200", "trtllm", "", 1, 1, 256, 1024, 256, 700},
		{"H200", "vllm", "400W", 1, 1, 256, 1024, 256, 400},
		{"H200", "vllm", "", 2, 4, 256, 1024, 256, 700},
		{"H100_SXM", "vllm", "", 1, 1, 128, 2048, 64, 700},
		{"B200", "vllm", "600W", 1, 1, 512, 4096, 512, 600},
		{"A100_SXM", "sglang", "", 1, 1, 64, 512, 32, 400},
	} {
		q := question.DefaultOf(question.Simulate)
		q.Model, q.System, q.Engine, q.PowerLimit, q.Concurrency, q.Input, q.Output = "Llama-3.1-8B", c.system, c.engine, c.limit, c.clients, c.input, c.output
		q.TP, q.PP = c.tp, c.pp
		a, err := NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		service, _, err := NewService(&question.Query{Question: q}, workload.Lengths{Input: c.input, Output: c.output}, nil, func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		load := workload.Traffic{Requests: 6 * c.clients, Clients: c.clients, Rate: math.Inf(1), Input: workload.Length{Mean: c.input}, Output: workload.Length{Mean: c.output}, Turns: 1, Steady: true}
		service.Options.Settle(&load)
		got, err := simulate.Run(t.Context(), service.Options, load.Source())
		if err != nil {
			t.Fatal(err)
		}
		watts, per := got.WattsPerProcessor(), got.Joules()/float64(got.Output)
		t.Logf("%+v: %.0f W, %.4f J per token; estimated %.0f W, %.4f J", c, watts, per, a.Energy.Watts, a.Energy.Output)
		if watts > c.most || a.Energy.Watts > c.most || math.Abs(per/a.Energy.Output-1) > 0.1 {
			t.Errorf("%+v: %g W and %g J per token, estimated %g W and %g J", c, watts, per, a.Energy.Watts, a.Energy.Output)
		}
	}
}
