package estimate_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/plan"
	"throughline/schedule"
)

// TestOperatorsAddUp: the operators of any step of a small model add up to the step, engine by
// engine and bound by bound, and to its shares.
func TestOperatorsAddUp(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := draw.Problem(t, draw.Phase(t), rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "procs"), true)
		if rapid.Bool().Draw(t, "second tier") {
			p.System.Memory2 = &hardware.SecondMemory{GiB: 1, GBps: rapid.Float64Range(1e-3, 10).Draw(t, "GBps of it"), Efficiency: hardware.SizeTable{{Efficiency: 1}}}
			p.Offload = estimate.Offload{Weights: rapid.Float64Range(0, 1).Draw(t, "weights"), Cache: rapid.Float64Range(0, 1).Draw(t, "cache")}
		}
		pl := draw.Plan(t, p)
		pl.Batch = plan.Batch{Count: rapid.IntRange(1, 3).Draw(t, "count"), Size: rapid.IntRange(1, 200).Draw(t, "size")}
		pl.Overlap = plan.Overlap(rapid.IntRange(0, int(plan.OverlapCount)-1).Draw(t, "overlap"))
		launch := rapid.SampledFrom([]float64{0, 1e-4, 1}).Draw(t, "launch")
		pl.Launch, pl.PromptLaunch = launch, launch
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		step := e.Contents(&pl)
		rows := step.Operators
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*step.StepTime {
				t.Fatalf("%s: %v s, want %v of a step of %v", what, got, want, step.StepTime)
			}
		}
		byBlock, total := map[string]float64{}, 0.0
		for i := range rows {
			byBlock[rows[i].Block] += rows[i].Takes()
			total += rows[i].Takes()
		}
		near("rows", total, step.StepTime)
		near("the host", byBlock["host"], step.LaunchTime)
		near("the second tier", byBlock["memory"], step.OffloadTime)
		near("the pipeline", byBlock["pipeline"], step.TransferTime+step.WaitTime)
		near("drafts", byBlock["draft"], step.DraftTime)
		near("ends", byBlock["ends"], step.EndsTime)

		sum, shares := estimate.Sum(rows), step.Shares
		near("sums", sum.Step(), step.StepTime)
		near("computing", sum.Compute+sum.Memory+sum.Static, shares.Compute+shares.Memory)
		near("communication", sum.Comm, shares.Communication)
		near("waiting", sum.Waiting, shares.Waiting+shares.Offload)
		near("engines", sum.Engines[estimate.Cube].Time+sum.Engines[estimate.Vector].Time+sum.Engines[estimate.Comm].Time+sum.Waiting, step.StepTime)
	})
}

// TestWaitingForTheHost: a step of operators that a host takes a second each to launch waits for it
// almost all the time.
func TestWaitingForTheHost(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		p := draw.Problem(t, draw.Phase(t), 1, false)
		pl := draw.Plan(t, p)
		pl.Launch, pl.PromptLaunch = 1, 1
		e, err := estimate.NewEvaluator(&p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		rows := e.Contents(&pl).Operators
		at := slices.IndexFunc(rows, func(o estimate.Operator) bool { return o.Name == "waiting for launches" })
		if at < 0 {
			t.Fatalf("no row among %d", len(rows))
		}
		r := &rows[at]
		if r.Block != "host" || !r.Waits() || r.BoundBy() != "" || r.Lane != schedule.Waiting || r.Times != 1 || math.Abs(r.End-r.Start-r.Exposed) > 1e-9*r.Exposed {
			t.Fatalf("%+v", r)
		}
		var others float64
		for i := range rows {
			if i != at {
				others = max(others, rows[i].End)
			}
		}
		if others > r.Start*(1+1e-9) {
			t.Fatalf("something ends at %v s, when the host has been waited for from %v s on", others, r.Start)
		}
	})
}
