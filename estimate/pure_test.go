package estimate_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
	"throughline/workload"
)

// TestPure: what is said about a plan depends on nothing that was asked before, and nobody's values
// are changed.
func TestPure(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		fresh := drawnEstimate(t, &p.Problem, pl)
		problem, asked := p.Problem, pl
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		other := draw.Plan(t, p)
		other.Batch.Size = rapid.IntRange(1, 99).Draw(t, "other size")
		longer := workload.Lengths{Input: p.Lengths.Input + 7, Output: 5}
		out := estimate.Estimate{WaitTime: 1, OffloadTime: 2, KV: estimate.Transfer{Bytes: 3}} // whatever was there
		out.Memory.Second = 4
		var step op.Step
		e.Add(&step, drawnGroup(t, draw.Phase(t), 0))
		for _, ask := range []func(){
			func() {}, func() { e.Evaluate(&other, &out) }, func() { e.Detail(&other) }, func() { e.Operators(&other) }, func() { e.At(longer).Evaluate(&other, &out) },
			func() { e.Step(&other, &step) }, func() { e.Contents(&other) }, func() { e.AppendCuts(nil, &other, 100) },
			func() { e.MemoryOf(&other) },
		} {
			ask()
			e.Evaluate(&pl, &out)
			if out != fresh.Estimate {
				t.Fatalf("%+v, at first %+v", out, fresh.Estimate)
			}
			ask()
			if ops := e.Operators(&pl); !reflect.DeepEqual(ops, fresh.Operators) {
				t.Fatalf("%+v, at first %+v", ops, fresh.Operators)
			}
			ask()
			if d := e.Detail(&pl); !reflect.DeepEqual(d, fresh.Detail) {
				t.Fatalf("%+v, at first %+v", d, fresh.Detail)
			}
		}
		e.At(longer).Evaluate(&other, &out)
		q := p.Problem
		q.Lengths = longer
		if want := drawnEstimate(t, &q, other); out != want.Estimate {
			t.Fatalf("%+v at other lengths, for such a problem %+v", out, want.Estimate)
		}
		if !reflect.DeepEqual(problem, p.Problem) || asked != pl {
			t.Fatal("the problem or the plan was changed")
		}
	})
}

// TestTimelines: on a lane one thing runs at a time; the last ends with the step, and the cache
// that is handed over; what spans expose adds up to the same.
func TestTimelines(t *testing.T) {
	parts := map[schedule.Part]int{}
	missing := func() (out []schedule.Part) {
		for part := range schedule.PartCount {
			if parts[part] == 0 && part != schedule.SecondPart && part != schedule.RanksPart { // no drawn system has a second tier or kernels
				out = append(out, part)
			}
		}
		return out
	}
	check := func(t *rapid.T) {
		p, pl := drawnPlan(t, true)
		pl.Captured, pl.Launch = rapid.IntRange(0, 100).Draw(t, "captured"), rapid.SampledFrom([]float64{0, 1e-4, 1}).Draw(t, "launch")
		got := drawnEstimate(t, &p.Problem, pl)
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		free := map[schedule.Lane]float64{}
		var exposed, last float64
		layers := map[[4]int]bool{}
		for _, s := range e.Contents(&pl).Spans {
			parts[s.Part]++
			const rounding = 1e-9
			// Of two micro-batches one may exchange tokens while another collective holds the other
			// up.
			shared := pl.Overlap == plan.TwoBatch && s.Lane >= schedule.Network && pl.Attention.TP*pl.Attention.Context()*pl.Experts.TP > 1
			if s.Start < free[s.Lane]-rounding*got.StepTime && !shared || s.End < s.Start || s.Exposed > s.End-s.Start+rounding*got.StepTime {
				t.Fatalf("%+v, the lane is free at %v", s, free[s.Lane])
			}
			free[s.Lane] = s.End
			exposed += s.Exposed
			last = max(last, s.End)
			if s.Part == schedule.LayersPart {
				layers[[4]int{s.Batch, s.Stage, s.Layer, s.Micro}] = true
			}
		}
		near := func(what string, got, want float64) {
			if d := got - want; d > 1e-9*want || d < -1e-9*want {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		near("the last end", last, got.StepTime+got.KV.Exposed)
		near("what is exposed", exposed, got.StepTime+got.KV.Exposed)
		depth := (p.Model.Layers + pl.Attention.PP - 1) / pl.Attention.PP
		if len(layers) != pl.Batch.Count*pl.Attention.PP*depth*int(pl.Overlap.Batches()) {
			t.Fatalf("%d layers of %d batches, %d stages and %d layers", len(layers), pl.Batch.Count, pl.Attention.PP, depth)
		}
	}
	checkUntil(t, missing, check)
}
