package advice

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// scan fails where the highest request rate falls by more than a share as a number of the hardware grows. Batches are whole, and
// faster prefills let more sequences decode at a time: so at a limit on the time per output token a little may be lost.
func scan(t rapid.TB, sys *hardware.System, p hardware.Parameter, times float64, steps int, share float64, best func(*hardware.System) (float64, string)) {
	t.Helper()
	rate, what := 0.0, ""
	for v := p.Of(sys); steps > 0; v, steps = v*times, steps-1 {
		r, now := best(p.With(sys, v))
		if r < rate*(1-share) {
			t.Fatalf("with %s of %v %v requests/s, with less %v:\n%s\n%s", p.Name, v, r, rate, now, what)
		}
		if r > rate {
			rate, what = r, now
		}
	}
}

// ran is the request rate of a run of a runtime file.
func ran(t rapid.TB, r *jobfile.Run) (float64, string) {
	t.Helper()
	_, c, err := Run(context.Background(), r, 2)
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return 0, "nothing"
	}
	return c.Seen.Requests, describe(c)
}

// asRun is a question as a run of a runtime file, on a system.
func asRun(l *question.Loaded, mode string, procs int, sys *hardware.System) *jobfile.Run {
	problem := func(phase op.Phase) search.Problem {
		return search.Problem{Procs: procs, SharedPerCard: true, Problem: estimate.Problem{
			Model: l.Shape, Settings: l.Settings, System: sys, Lengths: l.Lengths, Precision: l.Precision, Assume: l.Assumptions, Phase: phase,
		}}
	}
	return &jobfile.Run{
		Mode: mode, Model: l.Shape, Settings: l.Settings, Lengths: l.Lengths, Limits: l.Limits(), Precision: l.Precision, Procs: procs,
		Prefill: problem(op.Prefill), Decode: problem(op.Decode),
	}
}

// drawnPart is a number of a system that more of is better.
func drawnPart(t *rapid.T, sys *hardware.System) hardware.Parameter {
	name := rapid.SampledFrom([]string{"mem1.GBps", "mem1.GiB", "networks[0].bandwidth", "matrix.bfloat16.tflops"}).Draw(t, "part")
	p, ok := sys.Parameter(name)
	if !ok {
		t.Skip("has none")
	}
	return p
}

// TestRunServesNoLessOnBetterHardware: as bandwidth, compute, memory or links grow, the best of a run never falls.
func TestRunServesNoLessOnBetterHardware(t *testing.T) {
	long.Some(t, draws(25), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		mode := rapid.SampledFrom([]string{jobfile.Fusion, jobfile.Split}).Draw(t, "mode")
		times := rapid.Float64Range(1.005, 1.1).Draw(t, "times")
		scan(t, l.Decode, drawnPart(t, l.Decode), times, 12, level, func(s *hardware.System) (float64, string) {
			return ran(t, asRun(l, mode, o.GPUs, s))
		})
	})
}

// TestPlanServesNoLessOnBetterHardware: nor does the end of the frontier of a plan.
func TestPlanServesNoLessOnBetterHardware(t *testing.T) {
	long.Some(t, draws(10), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4})
		o.Objective = Throughput
		scan(t, l.Decode, drawnPart(t, l.Decode), rapid.Float64Range(1.005, 1.1).Draw(t, "times"), 8, grade-1, func(s *hardware.System) (float64, string) {
			better := *l
			better.Prefill, better.Decode = s, s
			got, err := Give(context.Background(), &better, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Frontier) == 0 {
				return 0, "nothing"
			}
			c := &got.Frontier[len(got.Frontier)-1]
			return c.Seen.Requests, describe(c)
		})
	})
}

// TestRunFindsTheBestBatch: DeepSeek-V3 on 32 cards of 11 to 11.5 TB/s within 20 ms does no less than with batches that are given, and more with more.
func TestRunFindsTheBestBatch(t *testing.T) {
	s := question.Default()
	s.Model, s.System, s.GPUs, s.Input, s.Output, s.TPOT, s.Formats.Weights = "DeepSeek-V3", "H200", 32, 4000, 1000, 20, "fp8"
	l, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	l.Precision = plan.Precision{
		Weight: 1, Activation: 1, Cache: 1, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16",
	}
	sys := l.Decode.Clone()
	sys.Memory.GiB, sys.Memory.GBps = 256, 11000
	bandwidth, _ := sys.Parameter("mem1.GBps")
	scan(t, sys, bandwidth, 11500./11000, 2, 0, func(s *hardware.System) (float64, string) {
		given := asRun(l, jobfile.Split, 32, s)
		given.Prefill.SharedPerCard, given.Decode.SharedPerCard = false, false
		best, what := ran(t, given)
		for _, size := range []int{128, 136, 138, 192} {
			given.Decode.Batches = []plan.Batch{{Count: 1, Size: size}}
			if r, with := ran(t, given); r > best*(1+level) {
				t.Errorf("%v requests/s with a batch that is given, %s; %v without, %s", r, with, best, what)
			}
		}
		return best, what
	})
}

// TestEveryBatchIsConsidered: no batch of the contender that serves the most serves more. There is no limit on the time to the first
// token, which goes up and down a little as batches grow.
func TestEveryBatchIsConsidered(t *testing.T) {
	long.Some(t, draws(15), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		o.Objective, o.Engines = Throughput, []*engine.Engine{engine.Generic}
		a := newAdviser(context.Background(), l, o)
		a.everyBatch, a.limits.TTFT = true, nil
		f, err := a.newField(rapid.SampledFrom([]Mode{Aggregated, Disaggregated}).Draw(t, "mode"), o.GPUs)
		if err == nil {
			err = f.weigh()
		}
		if err != nil || f.fullest.contender == nil {
			t.Skip("nothing to launch")
		}
		best := &f.fullest
		for size := 1; size <= min(3000, best.contender.decode.curve.Largest); size++ {
			w := weighed{field: f, contender: best.contender, batch: plan.Batch{Count: 1, Size: size}}
			d := w.contender.deployment(f, w.batch)
			if w.seen, err = f.workers[0].predictors[0].Predict(&d, w.load(&d)); err == nil && f.within(&w) && w.seen.Requests > best.seen.Requests*(1+level) {
				t.Fatalf("%v requests/s at batch %d, %v at %d", w.seen.Requests, size, best.seen.Requests, best.batch.Size)
			}
		}
	})
}
