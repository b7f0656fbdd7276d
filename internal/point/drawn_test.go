package point

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/serving/simulate"
	"throughline/workload"
)

// TestSimulationDraws: in a steady state a simulation draws what the estimate says, within a
// fiftieth, and its timeline adds up to all its joules.
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
	if per := got.Joules() / float64(got.Output); math.Abs(per/a.Energy.Output-1) > 0.02 || got.WattsPerProcessor() > 500 {
		t.Errorf("%g J per token at %g W, estimated %g J", per, got.WattsPerProcessor(), a.Energy.Output)
	}
}

// TestDrawsWithinLimit: whatever mixes prompts and decode steps, in whatever pipeline, no load
// draws more than the limit unless its lowest clock exceeds that, which is said. Estimates and
// simulations of the same load, where requests take as long in both, draw the same watts within 2%
// and joules per token within 3%.
func TestDrawsWithinLimit(t *testing.T) {
	const each = 3
	e, answered, alike := NewEstimator(), 0, 0
	long.Some(t, 100, func(t *rapid.T) {
		for range each {
			q := drawnUnderLimit(t)
			a, got := simulated(t, e, &q)
			if got == nil {
				continue
			}
			answered++
			limit, watts, per := q.PowerLimits()[0], got.WattsPerProcessor(), got.Joules()/float64(got.Output)
			if got.Energy.Beyond == 0 && (watts > limit || a.Energy.Watts > limit) {
				t.Errorf("under %g W a simulation draws %g W, an estimate says %g W", limit, watts, a.Energy.Watts)
			}
			// Answers that begin or end beside the counted time are a share of a short run.
			if rate := float64(got.Requests) / got.Duration(); math.Abs(got.E2E.Mean()/a.Seen.Latency-1) > 0.01 || math.Abs(rate/a.Seen.Requests-1) > 0.01 {
				continue
			}
			alike++
			if math.Abs(watts/a.Energy.Watts-1) > 0.02 || math.Abs(per/a.Energy.Output-1) > 0.03 {
				t.Errorf("%g W and %g J per token, estimated %g W and %g J", watts, per, a.Energy.Watts, a.Energy.Output)
			}
		}
	})
	if t.Logf("%d deployments, %d of them alike", answered, alike); alike < answered/2 {
		t.Errorf("of %d deployments only %d take as long in both", answered, alike)
	}
}

// drawnUnderLimit is a deployment and its clients under some power limit.
func drawnUnderLimit(t *rapid.T) question.Question {
	of := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
	number := func(name string, list ...int) int { return rapid.SampledFrom(list).Draw(t, name) }
	q := question.DefaultOf(question.Simulate)
	q.System = of("system", "H200", "H100_SXM", "A100_SXM", "B200", "MI300X", "MI355X", "L40S", "RTX_PRO_6000")
	q.Model, q.Engine = of("model", "Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-30B-A3B", "gpt2"), of("engine", "vllm", "sglang", "trtllm", "none")
	q.TP, q.PP, q.DP = number("tp", 1, 1, 2, 4), number("pp", 1, 1, 2, 4), number("dp", 1, 1, 2, 4)
	q.Input, q.Output, q.Concurrency = number("input", 128, 1024, 8192), number("output", 16, 128, 512), number("clients", 1, 4, 16, 64, 128)
	sys, _ := hardware.Catalogue.Find(q.System)
	limit := math.Round(limitOf(t, sys) * rapid.Float64Range(0.3, 1).Draw(t, "limit"))
	q.PowerLimit = strconv.FormatFloat(limit, 'g', -1, 64)
	return q
}

// simulated is the estimate of a question and a simulation of its load; nil: it cannot be served.
func simulated(t *rapid.T, e *Estimator, q *question.Question) (*Answer, *simulate.Record) {
	a, err := e.Answer(q)
	if err != nil || a.Energy == nil {
		return nil, nil
	}
	service, _, err := NewService(&question.Query{Question: *q}, workload.Lengths{Input: q.Input, Output: q.Output}, nil, func(int) error { return nil })
	if err != nil {
		return nil, nil
	}
	load := a.Load.Traffic()
	load.Steady, load.Requests, load.Strata = true, max(60, 2*q.Concurrency), max(8, 2*q.Concurrency)
	service.Options.Settle(&load)
	got, err := simulate.Run(t.Context(), service.Options, load.Source())
	if errors.Is(err, simulate.ErrTooLong) {
		return nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, got
}

// limitOf is the power limit of a system file.
func limitOf(t *rapid.T, file []byte) float64 {
	var sys struct {
		Power struct {
			Limit float64 `json:"limit_W"`
		}
	}
	if err := json.Unmarshal(file, &sys); err != nil || sys.Power.Limit == 0 {
		t.Fatalf("no power limit: %v", err)
	}
	return sys.Power.Limit
}
