package estimate_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/experts"
	"throughline/hardware"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
	"throughline/search"
)

// rounding is the relative difference of two numbers that are equal on paper.
const rounding = 1e-12

func drawnEstimate(t *rapid.T, p *estimate.Problem, pl plan.Plan) evaluated {
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	var out estimate.Estimate
	e.Evaluate(&pl, &out)
	return evaluated{out, e.Detail(&pl), e.Operators(&pl)}
}

// drawnPlan is a problem of either phase with one of its plans.
func drawnPlan(t *rapid.T, steps bool) (*search.Problem, plan.Plan) {
	p := draw.Problem(t, draw.Phase(t), rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "procs"), steps)
	pl := draw.Plan(t, p)
	pl.Batch.Count = rapid.IntRange(1, 3).Draw(t, "count")
	pl.Batch.Size = rapid.IntRange(1, 200).Draw(t, "size")
	pl.Overlap = plan.Overlap(rapid.IntRange(0, int(plan.OverlapCount)-1).Draw(t, "overlap"))
	if rapid.Bool().Draw(t, "uneven") {
		p.Visited = &experts.Popularity{Spread: 0.46, Blocks: 0.27}
	}
	return p, pl
}

// checkUntil checks a property until nothing is missing among its cases: what one plan in a hundred
// has may not be in the first.
func checkUntil[T any](t *testing.T, missing func() []T, property func(*rapid.T)) {
	t.Helper()
	for range 30 {
		if long.Check(t, property); t.Failed() || len(missing()) == 0 {
			return
		}
	}
	t.Errorf("%v was never drawn", missing())
}

func notLess(t *rapid.T, what string, smaller, larger float64) {
	if larger < smaller*(1-rounding) {
		t.Fatalf("%s falls from %v to %v", what, smaller, larger)
	}
}

func equal(t *rapid.T, what string, got, want float64) {
	if math.Abs(got-want) > rounding*math.Abs(want) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// TestTimeNeverFallsWithTheBatch, nor does the rate: where no efficiency depends on the size of the
// work.
func TestTimeNeverFallsWithTheBatch(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, false)
		small := drawnEstimate(t, &p.Problem, pl)
		pl.Batch.Size += rapid.SampledFrom([]int{1, 2, 10, 1000}).Draw(t, "more")
		large := drawnEstimate(t, &p.Problem, pl)
		notLess(t, "step time", small.StepTime, large.StepTime)
		notLess(t, "latency", small.Latency, large.Latency)
		notLess(t, "throughput", small.Throughput, large.Throughput)
		notLess(t, "request rate", small.Requests, large.Requests)
	})
}

// TestMemoryNeverFalls with the batch, the prompt or the answer.
func TestMemoryNeverFalls(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		less := drawnEstimate(t, &p.Problem, pl)
		more := rapid.IntRange(1, 100).Draw(t, "more")
		switch rapid.SampledFrom([]string{"size", "count", "input", "output"}).Draw(t, "of") {
		case "size":
			pl.Batch.Size += more
		case "count":
			pl.Batch.Count += more
		case "input":
			p.Lengths.Input += more
		case "output":
			p.Lengths.Output += more
		}
		grown := drawnEstimate(t, &p.Problem, pl)
		notLess(t, "memory", less.Memory.Total(), grown.Memory.Total())
		notLess(t, "cache", less.Memory.Cache, grown.Memory.Cache)
		notLess(t, "space without cache", less.Memory.WithoutCache(), grown.Memory.WithoutCache())
	})
}

// worsened is a copy of a system with half of something.
func worsened(s *hardware.System, what string) *hardware.System {
	out := *s
	out.Networks = slices.Clone(s.Networks)
	out.Matrix, out.Vector = maps.Clone(s.Matrix), maps.Clone(s.Vector)
	switch what {
	case "memory bandwidth":
		out.Memory.GBps /= 2
	case "inner network":
		out.Networks[0].Bandwidth /= 2
	case "outer network":
		out.Networks[1].Bandwidth /= 2
	case "matrix tflops":
		for k, e := range out.Matrix {
			e.TFlops /= 2
			out.Matrix[k] = e
		}
	case "vector tflops":
		for k, e := range out.Vector {
			e.TFlops /= 2
			out.Vector[k] = e
		}
	}
	return &out
}

// TestWorseHardwareIsNeverFaster: half of any rate makes nothing faster.
func TestWorseHardwareIsNeverFaster(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		before := drawnEstimate(t, &p.Problem, pl)
		what := rapid.SampledFrom([]string{"memory bandwidth", "inner network", "outer network", "matrix tflops", "vector tflops"}).Draw(t, "what")
		worse := p.Problem
		worse.System = worsened(p.System, what)
		after := drawnEstimate(t, &worse, pl)
		notLess(t, "step time", before.StepTime, after.StepTime)
		notLess(t, "stage time", before.StageTime, after.StageTime)
		notLess(t, "transfer between stages", before.TransferTime, after.TransferTime)
		notLess(t, "drafting", before.DraftTime, after.DraftTime)
		notLess(t, "the ends of the model", before.EndsTime, after.EndsTime)
		notLess(t, "latency", before.Latency, after.Latency)
		notLess(t, "transfer of the cache", before.KV.Time, after.KV.Time)
		notLess(t, "request rate, from the worse system on,", after.Requests, before.Requests)
		notLess(t, "throughput, from the worse system on,", after.Throughput, before.Throughput)
		if before.Memory != after.Memory {
			t.Fatalf("memory changes from %+v to %+v", before.Memory, after.Memory)
		}
	})
}

// TestNoParallelismNoTraffic: a degree of one sends nothing.
func TestNoParallelismNoTraffic(t *testing.T) {
	unseen := map[string]bool{"tensor": true, "sequence": true, "context": true, "expert": true}
	missing := func() []string { return slices.Sorted(maps.Keys(unseen)) }
	checkUntil(t, missing, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		got := drawnEstimate(t, &p.Problem, pl)
		none := func(what string, traffic op.Traffic, absent bool) {
			c := got.Comm[traffic]
			if absent && c != (schedule.Comm{}) {
				t.Fatalf("%s: %+v without such parallelism", what, c)
			}
			if !absent && c.Bytes == 0 {
				t.Fatalf("%s: nothing is sent in %v", what, &pl)
			}
			if !absent {
				delete(unseen, what)
			}
		}
		tp, cp := pl.Attention.TP > 1, pl.Attention.Context() > 1
		sequence := pl.SequenceParallel && (p.Phase == op.Prefill || !p.Assume.Engine) // engines spread steps with prompts alone
		none("tensor", op.TensorTraffic, !tp || sequence)
		none("sequence", op.SequenceTraffic, !tp || !sequence)
		none("context", op.ContextTraffic, !cp)
		none("expert", op.ExpertTraffic, pl.Experts.EP <= 1 && pl.Experts.TP <= 1)
		if pl.Attention.PP == 1 && got.TransferTime != 0 {
			t.Fatalf("one stage hands its results on in %v s", got.TransferTime)
		}
	})
}

// TestTotalsAgree: throughput times time is tokens, and the parts of a stage add up.
func TestTotalsAgree(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		got := drawnEstimate(t, &p.Problem, pl)
		batches := 1.0
		if pl.Pipelined {
			batches = float64(pl.Attention.PP)
		}
		sequences := batches * float64(pl.Batch.Count*pl.Batch.Size*pl.Attention.DP)
		if p.Model.IsMoE() && !pl.Pipelined {
			sequences = float64(pl.Batch.Count * pl.Batch.Size * pl.Attention.Procs())
		}
		if p.Phase == op.Prefill {
			equal(t, "prompt tokens of a step", got.Throughput*got.StepTime, sequences*float64(p.Lengths.Input))
			equal(t, "requests of a step", got.Requests*math.Max(got.StepTime, batches*got.KV.Time), sequences)
			equal(t, "time to the first token", got.Latency, got.StepTime+got.KV.Exposed)
		} else {
			a := append(slices.Clone(p.Acceptance), 0)
			tokens := []float64{1, 1 + a[0], 1 + a[0] + a[0]*a[1]}[pl.Drafts]
			equal(t, "tokens of a step", got.Throughput*got.StepTime, sequences*tokens)
			equal(t, "tokens of the time per token", got.Throughput*got.Latency, sequences)
			equal(t, "requests", got.Requests*float64(p.Lengths.Output), got.Throughput)
		}

		// Operator by operator.
		ops := stageOf(got.Operators)
		var time, bytes, flops float64
		for i := range ops {
			n := pl.Overlap.Batches() * ops[i].Repeat
			time += n * ops[i].Exposed
			bytes += n * ops[i].Bytes()
			flops += n * ops[i].Flops
		}
		s := &got.Stage
		blocks := s.Block[op.AttentionBlock].Time() + s.Block[op.MLPBlock].Time()
		equal(t, "stage time", blocks, time)
		equal(t, "stage time of the search", got.StageTime, time)
		equal(t, "bytes", s.Block[op.AttentionBlock].Bytes+s.Block[op.MLPBlock].Bytes, bytes)
		equal(t, "flops", s.Block[op.AttentionBlock].Flops+s.Block[op.MLPBlock].Flops, flops)
		var classes float64
		for c := range op.Comm {
			classes += s.ClassTime(c)
		}
		equal(t, "stage time by class", classes+s.Exposed(), blocks)
		equal(t, "stage time by bound", s.BoundBy(0)+s.BoundBy(1)+s.Exposed(), blocks)
		filled, _ := pl.Filled(p.Model.Layers)
		var exposed float64
		for _, c := range got.Comm {
			exposed += c.Exposed
		}
		equal(t, "exposed communication", exposed, filled*float64(pl.Batch.Count*pl.Attention.PP)*s.Exposed())
		equal(t, "step time", got.StepTime, filled*float64(pl.Batch.Count*pl.Attention.PP)*blocks+got.TransferTime+got.DraftTime+got.EndsTime+got.WaitTime+got.RanksTime+got.MovingTime+got.LaunchTime)
		if !pl.Pipelined && got.WaitTime != 0 || !p.Assume.Ends && got.EndsTime != 0 {
			t.Fatalf("%v s of waiting, %v s at the ends under %s", got.WaitTime, got.EndsTime, p.Assume.Name)
		}
	})
}

// TestExposedTransfer: of the transfer of the cache at most all is exposed, at least the last
// layer.
func TestExposedTransfer(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := draw.Problem(t, op.Prefill, 8, true)
		p.Handover = &estimate.Handover{System: draw.System(t, true), Span: rapid.IntRange(2, 16).Draw(t, "handover span")}
		pl := draw.Plan(t, p)
		pl.Batch.Size = rapid.IntRange(1, 200).Draw(t, "size")
		got := drawnEstimate(t, &p.Problem, pl).KV
		layers := float64((p.Model.Layers + pl.Attention.PP - 1) / pl.Attention.PP)
		if got.Time <= 0 || got.Exposed > got.Time || got.Hidden() < 0 || got.Exposed < got.Time/layers*(1-rounding) {
			t.Fatalf("%+v of %v layers", got, layers)
		}
	})
}
