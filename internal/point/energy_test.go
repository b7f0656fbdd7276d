package point

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/question"
	"throughline/op"
)

func askLimit(t *testing.T, system string, limit float64) (*Answer, error) {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Engine, q.Concurrency, q.Input, q.Output = "Llama-3.1-8B", system, "vllm", 64, 1024, 1024
	if limit > 0 {
		q.PowerLimit = strconv.FormatFloat(limit, 'g', -1, 64) + "W"
	}
	return NewExaminer().Answer(&q)
}

// TestPowerLimit: the limit as delivered, or a higher one, changes nothing; lower ones are never
// faster, draw no more than they allow, and slow prompts, which compute, down more than the decode
// steps of few clients, which wait for memory.
func TestPowerLimit(t *testing.T) {
	free, err := askLimit(t, "H200", 0)
	if err != nil {
		t.Fatal(err)
	}
	if e := free.Energy; e.Limit != 700 || e.Origin != hardware.MeasuredPower {
		t.Errorf("as delivered: %+v", e)
	}
	last := free
	for _, limit := range []float64{900, 700, 600, 500, 400, 300} {
		a, err := askLimit(t, "H200", limit)
		if err != nil {
			t.Fatal(err)
		}
		if limit >= 700 {
			if *a.Seen != *free.Seen {
				t.Errorf("at %g W clients see %+v, not %+v", limit, a.Seen, free.Seen)
			}
			continue
		}
		if a.Seen.TPOT < last.Seen.TPOT || a.Seen.TTFT < last.Seen.TTFT || a.Energy.Watts >= last.Energy.Watts || a.Energy.Watts > limit {
			t.Errorf("at %g W: TTFT %g, TPOT %g, %g W after %g, %g, %g W", limit, a.Seen.TTFT, a.Seen.TPOT, a.Energy.Watts, last.Seen.TTFT, last.Seen.TPOT, last.Energy.Watts)
		}
		slower := func(phase op.Phase) float64 {
			return a.Sides[phase].Step.StepTime / free.Sides[phase].Step.StepTime
		}
		if prefill, decode := slower(op.Prefill), slower(op.Decode); prefill < decode || limit >= 600 && decode > 1.05 {
			t.Errorf("at %g W prompts take %g and decode steps %g times as long", limit, prefill, decode)
		}
		last = a
	}
	if last.Energy.Output >= free.Energy.Output {
		t.Errorf("at 300 W %g J per token, no less than %g", last.Energy.Output, free.Energy.Output)
	}
}

// TestEnergyAddsUp: the joules of operators are those of the step, and joules per token those of
// all processors per second.
func TestEnergyAddsUp(t *testing.T) {
	a, err := askLimit(t, "H200", 500)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Phases {
		sum := 0.0
		for j := range a.Phases[i].Operators {
			sum += a.Phases[i].Operators[j].Joules
		}
		drawn := a.Phases[i].Drawn
		if math.Abs(sum/drawn.Joules-1) > 1e-9 || drawn.Watts() > 500 || drawn.Seconds != a.Phases[i].StepTime {
			t.Errorf("operators take %g J of %g J, at %g W", sum, drawn.Joules, drawn.Watts())
		}
	}
	tokens := a.Seen.Requests * float64(a.Load.Lengths.Output)
	if got := a.Energy.Watts * float64(a.Deployment.Procs()) / tokens; math.Abs(got/a.Energy.Output-1) > 1e-9 {
		t.Errorf("%g J per token, %g W of all processors per token and second", a.Energy.Output, got)
	}
}

// TestWaitingStagesAddUp: of a pipeline that one client leaves idle in part, operators have what
// processors draw while other stages run them.
func TestWaitingStagesAddUp(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Concurrency, q.PP = "Llama-3.1-8B", "H200", "vllm", 1, 4
	a, err := NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Phases {
		sum := 0.0
		for j := range a.Phases[i].Operators {
			sum += a.Phases[i].Operators[j].Joules
		}
		if drawn := a.Phases[i].Drawn; math.Abs(sum/drawn.Joules-1) > 1e-9 {
			t.Errorf("%v: operators take %g J of %g J, at %g W", a.Phases[i].Phase, sum, drawn.Joules, drawn.Watts())
		}
	}
}

// TestLaunchesUnderALimit: a prompt whose launches take longer than its work draws no more than the
// limit, and loses no time to it while its work hides behind them.
func TestLaunchesUnderALimit(t *testing.T) {
	last := 0.0
	for _, limit := range []string{"750W", "400W", "338W"} {
		q := question.Default()
		q.Model, q.System, q.Engine, q.Phase, q.Batch, q.Input, q.PowerLimit = "Qwen3-8B", "MI300X", "sglang", question.Prefill, 1, 100, limit
		a, err := NewExaminer().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		step := a.Phases[0]
		if watts, most := step.Drawn.Watts(), step.Problem.System.Limit(); watts > most {
			t.Errorf("%s: %g W", limit, watts)
		}
		if limit != "750W" && step.Drawn.Clock == 1 {
			t.Errorf("%s: at the full clock", limit)
		}
		if last > 0 && math.Abs(step.StepTime/last-1) > 1e-9 {
			t.Errorf("%s: %g s after %g", limit, step.StepTime, last)
		}
		last = step.StepTime
	}
}

// TestTotalsDraw: a step without its operators takes the same energy as the sum over them, also in
// a pipeline, whose processors wait for other stages, and beside collectives.
func TestTotalsDraw(t *testing.T) {
	for _, plan := range []question.Fixed{{TP: 1, PP: 1, DP: 1}, {TP: 4, PP: 2, DP: 1}, {TP: 1, PP: 1, DP: 8}} {
		q := question.Default()
		q.Model, q.System, q.Engine, q.Concurrency = "Qwen3-30B-A3B", "H200", "sglang", 64
		q.TP, q.PP, q.DP = plan.TP, plan.PP, plan.DP
		brief, err := NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		full, err := NewExaminer().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range full.Phases {
			a, b := brief.Phases[i].Drawn, full.Phases[i].Drawn
			if math.Abs(a.Joules/b.Joules-1) > 1e-9 || a.Clock != b.Clock {
				t.Errorf("dp%d pp%d tp%d, %v: %+v, by operators %+v", plan.DP, plan.PP, plan.TP, full.Phases[i].Phase, a, b)
			}
		}
	}
}

// TestSeveralLimits: each is answered as by itself, and the first is the answer. Fewer watts take
// less energy before they take more.
func TestSeveralLimits(t *testing.T) {
	q := question.Default()
	q.Model, q.System, q.Engine, q.Concurrency, q.PowerLimit = "Llama-3.1-8B", "H200", "vllm", 64, "600W,400,200"
	q.Input, q.Output = 1024, 1024
	a, err := NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := askLimit(t, "H200", 400)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Limited) != 3 || *a.Seen != *a.Limited[0].Seen || *a.Limited[1].Seen != *alone.Seen || *a.Limited[1].Energy != *alone.Energy {
		t.Fatalf("%d answers", len(a.Limited))
	}
	if j := func(i int) float64 { return a.Limited[i].Energy.Output }; j(1) >= j(0) || j(1) >= j(2) {
		t.Errorf("%g, %g and %g J per token", j(0), j(1), j(2))
	}
}

// TestUnknownPower: a system without the block has no watts, and refuses a limit.
func TestUnknownPower(t *testing.T) {
	if a, err := askLimit(t, "H20_96G", 0); err != nil || a.Energy != nil || a.Phases[0].Drawn != nil {
		t.Errorf("%v, %v", a.Energy, err)
	}
	if _, err := askLimit(t, "H20_96G", 300); err == nil || !strings.Contains(err.Error(), "power-limit") || !strings.Contains(err.Error(), "H20_96G has no block \"power\"") {
		t.Errorf("%v", err)
	}
}

// TestFasterMemoryUnderALimit: memory beyond what the limit can feed shortens answers no further,
// and lengthens none.
func TestFasterMemoryUnderALimit(t *testing.T) {
	last := math.Inf(1)
	for _, change := range []string{"sys.mem1.GBps=4800", "sys.mem1.GBps=8000", "sys.mem1.GBps=16000", "sys.mem1.GBps=480000"} {
		q := question.Default()
		q.Model, q.System, q.Engine, q.Concurrency, q.Input, q.Output, q.Changed = "Llama-3.1-8B", "H200", "vllm", 32, 1024, 1024, change
		a, err := NewExaminer().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Seen.TPOT > last {
			t.Errorf("%s: TPOT %g after %g", change, a.Seen.TPOT, last)
		}
		last = a.Seen.TPOT
	}
}
