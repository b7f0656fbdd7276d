package estimate_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/estimate"
	"throughline/experts"
	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
	"throughline/workload"
)

// TestOverlapGains: where no efficiency depends on the size of the work, two micro-batches gain at
// most what the exchanges between experts take, a single batch too; without an exchange neither
// gains anything.
func TestOverlapGains(t *testing.T) {
	gains := map[plan.Overlap]int{}
	for range 5 { // some draws have no exchange that is worth hiding
		if long.Check(t, func(t *rapid.T) { gainOfOverlap(t, gains) }); gains[plan.TwoBatch]*gains[plan.SingleBatch] > 0 {
			break
		}
	}
	for o := plan.TwoBatch; o < plan.OverlapCount; o++ {
		if gains[o] == 0 && !testing.Short() { // a short test draws too few
			t.Errorf("%v never gains", o)
		}
	}
}

// gainOfOverlap draws a problem and counts which overlaps gain.
func gainOfOverlap(t *rapid.T, gains map[plan.Overlap]int) {
	p := draw.Problem(t, draw.Phase(t), rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "procs"), false)
	pl := draw.Plan(t, p)
	pl.Batch.Size = rapid.SampledFrom([]int{1, 20, 1000, 100000}).Draw(t, "size")
	off := drawnEstimate(t, &p.Problem, pl)
	exchange := 0.0
	ops := stageOf(off.Operators)
	stages := max(ops[0].Times/ops[0].Repeat, float64(pl.Attention.PP)) // all wait for the longest
	for i := range ops {
		if ops[i].Exchanges() {
			exchange += stages * ops[i].Repeat * ops[i].Exposed
		}
	}
	for _, pl.Overlap = range []plan.Overlap{plan.TwoBatch, plan.SingleBatch} {
		on := drawnEstimate(t, &p.Problem, pl)
		notLess(t, "step time less the exchanges", off.StepTime-exchange, on.StepTime)
		if exchange == 0 && on.StepTime < off.StepTime*(1-rounding) {
			t.Fatalf("%v gains %v s of nothing", pl.Overlap, off.StepTime-on.StepTime)
		}
		if on.StepTime < off.StepTime*(1-rounding) {
			gains[pl.Overlap]++
		}
		if on.Uncovered < 0 || (on.Uncovered-2)*exchange > rounding*on.StepTime {
			t.Fatalf("%v of the exchanges are waited for", on.Uncovered)
		}
	}
}

// TestOverlapBySize: DeepSeek-V3 on 32 H200: with half batches that are less efficient, two
// micro-batches lose in small steps and gain in large ones, as SGLang found
// (lmsys.org/blog/2025-05-05-large-scale-ep: x0.73 at 32 sequences, x1.26 at 256).
func TestOverlapBySize(t *testing.T) {
	p := caseProblem(t, 3)
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	gain := func(batch int) float64 {
		pl := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 32, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 32, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
			Batch:  plan.Batch{Count: 1, Size: batch},
		}
		var off, on estimate.Estimate
		e.Evaluate(&pl, &off)
		pl.Overlap = plan.TwoBatch
		e.Evaluate(&pl, &on)
		if off.Memory.Weights != on.Memory.Weights || off.Memory.Cache != on.Memory.Cache {
			t.Errorf("memory changes from %+v to %+v", off.Memory, on.Memory)
		}
		return off.StepTime / on.StepTime
	}
	if small, large := gain(8), gain(256); small > 0.8 || large < 1.1 {
		t.Errorf("x%.2f with 8 sequences, x%.2f with 256", small, large)
	}
}

// TestRanks: DeepSeek-V3 on 32 H200: in prefill ranks wait for the slowest of them, 13.9% of what
// they compute, as the barriers of three profiles over 32 ranks show (cost/kernels.go); less among
// fewer, and not in decode.
func TestRanks(t *testing.T) {
	problem := *caseProblem(t, 3)
	problem.Phase = op.Prefill
	e, err := estimate.NewEvaluator(&problem)
	if err != nil {
		t.Fatal(err)
	}
	share := func(ranks int, overlap plan.Overlap) float64 {
		pl := plan.Plan{
			Layout:  plan.Layout{Attention: plan.Split{DP: ranks, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: ranks, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
			Batch:   plan.Batch{Count: 1, Size: 4},
			Overlap: overlap,
		}
		var out estimate.Estimate
		e.Evaluate(&pl, &out)
		exposed, computing := 0.0, 0.0
		for _, s := range e.Contents(&pl).Spans {
			exposed += s.Exposed
			if s.Part == schedule.LayersPart && s.Lane < schedule.Network {
				computing += s.Exposed
			}
		}
		if math.Abs(exposed-out.StepTime) > 1e-9*out.StepTime {
			t.Errorf("%d ranks, %v: spans of %v s make a step of %v", ranks, overlap, exposed, out.StepTime)
		}
		return out.RanksTime / computing
	}
	for _, c := range []struct {
		ranks   int
		overlap plan.Overlap
		want    float64
	}{
		{32, plan.NoOverlap, 0.1386}, {16, plan.NoOverlap, 0.1386 * 1.77 / 2.07}, {8, plan.NoOverlap, 0.1386 * 1.42 / 2.07},
		// Beside an exchange computation takes longer, which is no difference between ranks.
		{32, plan.TwoBatch, 0.134},
	} {
		if got := share(c.ranks, c.overlap); math.Abs(got-c.want) > 0.002 {
			t.Errorf("%d ranks wait for %.4f of what they compute with overlap %v, want %.4f", c.ranks, got, c.overlap, c.want)
		}
	}
	decode, err := estimate.NewEvaluator(caseProblem(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	var out estimate.Estimate
	if decode.Evaluate(&plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 32, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 32, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
		Batch:  plan.Batch{Count: 1, Size: 64},
	}, &out); out.RanksTime != 0 {
		t.Errorf("%v s of waiting in decode", out.RanksTime)
	}
}

// TestTunedExchange: DeepSeek-V3 on 4 GB200, 16000 tokens of each: a token goes to 3 · 0.90 others,
// 320 MB in 8 bits and 620 in 16, which take 0.55 and 1.00 ms of a layer at 1.546 and 1.454 times
// their bytes over 900 GB/s. As measured, on few units, they take twice as long. Beside another
// batch, on a Hopper and in decode an engine that could give them more changes nothing.
func TestTunedExchange(t *testing.T) {
	step := func(system string, phase op.Phase, overlap plan.Overlap, tuned bool) (whole, exchange float64) {
		problem := *caseProblem(t, 3)
		problem.System, problem.Phase = builtin.System(t, system), phase
		problem.Lengths = workload.Lengths{Input: 2000, Output: 1}
		e, err := estimate.NewEvaluator(&problem)
		if err != nil {
			t.Fatal(err)
		}
		pl := plan.Plan{
			Layout:    plan.Layout{Attention: plan.Split{DP: 4, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 4, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
			Batch:     plan.Batch{Count: 1, Size: 8},
			Overlap:   overlap,
			Behaviour: plan.Behaviour{TunedExchange: tuned},
		}
		var out estimate.Estimate
		e.Evaluate(&pl, &out)
		for _, o := range stageOf(e.Operators(&pl)) {
			if o.Exchanges() {
				exchange += o.Repeat * o.Time
			}
		}
		return out.StepTime, exchange
	}
	faster, alone := step("GB200_NVL72", op.Prefill, plan.NoOverlap, true)
	slower, measured := step("GB200_NVL72", op.Prefill, plan.NoOverlap, false)
	copies := 16000 * 3 * 0.9029 * 7168
	want := 58 * (copies*1.03125*1.546 + copies*2*1.454) / 900e9
	if math.Abs(alone/want-1) > 0.05 {
		t.Errorf("%v s of exchange, want about %v", alone, want)
	}
	if ratio := measured / alone; ratio < 1.9 || ratio > 2.5 {
		t.Errorf("few units take %v times as long", ratio)
	}
	if got, want := slower-faster, measured-alone; math.Abs(got-want) > 1e-9*slower {
		t.Errorf("a step takes %v s longer, its exchanges %v", got, want)
	}
	for _, c := range []struct {
		system  string
		phase   op.Phase
		overlap plan.Overlap
	}{{"GB200_NVL72", op.Prefill, plan.TwoBatch}, {"H200", op.Prefill, plan.NoOverlap}, {"GB200_NVL72", op.Decode, plan.NoOverlap}} {
		a, _ := step(c.system, c.phase, c.overlap, true)
		if b, _ := step(c.system, c.phase, c.overlap, false); a != b {
			t.Errorf("%+v: %v and %v s", c, a, b)
		}
	}
}

// sliced is 16 replicas of attention with slices of all experts, whose tokens an all-reduce
// gathers.
func sliced(batch int) plan.Plan {
	return plan.Plan{
		Layout: plan.Layout{
			Attention: plan.Split{DP: 16, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 16, DP: 1},
			SharedPerCard: true, Pipelined: true,
		},
		Behaviour: plan.Behaviour{Gathered: true, Reduced: plan.AllSteps},
		Batch:     plan.Batch{Count: 1, Size: batch},
	}
}

// TestLaunches: DeepSeek-V3 on 16 replicas with slices of all experts, whose tokens an all-reduce
// gathers: beyond the tokens that are captured, a step takes at least what its launches take. Of
// each of 61 layers 12 of attention; of 3 dense ones 7; of 58 with experts 18, of them 4 to gather
// tokens and 3 to bring back results; and embedding, norm, output head and sampling.
func TestLaunches(t *testing.T) {
	e, err := estimate.NewEvaluator(caseProblem(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	const launches = 61*12 + 3*7 + 58*18 + 4
	pl := sliced(10)
	var free, captured, launched, quick estimate.Estimate
	e.Evaluate(&pl, &free)
	pl.Captured, pl.Launch = 160, 1
	e.Evaluate(&pl, &captured)
	pl.Batch.Size = 11 // 176 tokens
	e.Evaluate(&pl, &launched)
	pl.Launch = 1e-9
	e.Evaluate(&pl, &quick)
	if captured.StepTime != free.StepTime || captured.LaunchTime != 0 || quick.LaunchTime != 0 {
		t.Errorf("%v s captured, %v without a limit; waits for %v and %v s", captured.StepTime, free.StepTime, captured.LaunchTime, quick.LaunchTime)
	}
	if launched.StepTime != launches || launched.LaunchTime != launches-quick.StepTime {
		t.Errorf("%v launches, of which %v s are waited for, want %d", launched.StepTime, launched.LaunchTime, launches)
	}
}

// TestDraftLaunches: the plan of TestLaunches with two drafts. Each launches a projection, a layer
// with experts, and embedding, norm, output head and sampling once more.
func TestDraftLaunches(t *testing.T) {
	p := caseProblem(t, 3)
	p.Acceptance = []float64{0.5, 0.5}
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	pl := sliced(10)
	pl.Captured, pl.Launch = 1, 1
	launches := func(drafts int) float64 {
		var out estimate.Estimate
		pl.Drafts = drafts
		e.Evaluate(&pl, &out)
		return out.StepTime
	}
	if got, want := launches(2)-launches(0), 2.0*(1+12+18+4); got != want {
		t.Errorf("%v launches of two drafts, by hand %v", got, want)
	}
}

// TestPromptLaunches: what is captured of decode steps says nothing of those with prompts. The plan
// of TestLaunches with a prompt on each replica: keys and values of latent attention are expanded,
// in place of queries that absorb that and values behind it, so that there are as many launches; a
// second each.
func TestPromptLaunches(t *testing.T) {
	p := caseProblem(t, 3)
	p.Phase = op.Prefill
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	pl := sliced(1)
	pl.Captured, pl.Launch = 1, 1
	step := func() (out estimate.Estimate) { e.Evaluate(&pl, &out); return out }
	free := step()
	pl.CapturedPrompts, pl.PromptLaunch = 16*p.Lengths.Input, 1
	captured := step()
	pl.CapturedPrompts--
	launched := step()
	if free.LaunchTime != 0 || captured.StepTime != free.StepTime || captured.LaunchTime != 0 {
		t.Errorf("%v s captured, %v without launches", captured.StepTime, free.StepTime)
	}
	const launches = 61*12 + 3*7 + 58*18 + 4
	if launched.StepTime != launches || math.Abs(launched.LaunchTime-(launches-free.StepTime)) > 1e-9 {
		t.Errorf("%v launches, of which %v s are waited for, want %d", launched.StepTime, launched.LaunchTime, launches)
	}
}

// TestPieces: a captured step of graphs that end at every attention takes the host a second for
// each of 61 layers; one that is not captured takes none of these, and launches the shared experts
// of 58 layers by themselves.
func TestPieces(t *testing.T) {
	e, err := estimate.NewEvaluator(caseProblem(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	pl := plan.Plan{
		Layout: plan.Layout{
			Attention: plan.Split{DP: 1, PP: 1, TP: 16, CP: 1}, Experts: plan.ExpertSplit{EP: 16, TP: 1, DP: 1},
			SharedPerCard: true, Pipelined: true,
		},
		Behaviour: plan.Behaviour{Gathered: true, Captured: 8, Launch: 1, Facts: plan.Facts{PieceSeconds: 1}},
		Batch:     plan.Batch{Count: 1, Size: 8},
	}
	var pieces, launched, apart estimate.Estimate
	e.Evaluate(&pl, &pieces)
	pl.Batch.Size = 9
	e.Evaluate(&pl, &launched)
	pl.SharedLaunches = 5
	e.Evaluate(&pl, &apart)
	if pieces.StepTime != 61 || apart.StepTime-launched.StepTime != 5*58 || launched.StepTime < 61*11 {
		t.Errorf("%v s in pieces, %v launched, %v with shared experts apart", pieces.StepTime, launched.StepTime, apart.StepTime)
	}
}

// TestOverlapDoesNotAllocate, nor does it change what plans without one do.
func TestOverlapDoesNotAllocate(t *testing.T) {
	p := caseProblem(t, 3)
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	plans := randomPlans(t, p.Model, 64, true)
	var out, before, after estimate.Estimate
	e.Evaluate(&plans[0], &before)
	for i := range plans {
		plans[i].Overlap = plan.Overlap(i % int(plan.OverlapCount))
	}
	for i := range plans { // the balance of experts is worked out once
		e.Evaluate(&plans[i], &out)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() { e.Evaluate(&plans[i%64], &out); i++ }); n != 0 {
		t.Errorf("%v allocations per evaluation, want 0", n)
	}
	if e.Evaluate(&plans[0], &after); before != after {
		t.Errorf("%+v before, %+v after plans with overlap", before, after)
	}
	var step op.Step
	e.Add(&step, op.Group{Phase: op.Prefill, Sequences: 1, New: 50, Context: 60})
	if one, two := e.Step(&plans[0], &step), e.Step(&plan.Plan{
		Layout: plan.Layout{
			Attention: plans[0].Attention, Experts: plans[0].Experts,
			SharedReplicas: plans[0].SharedReplicas, SharedPerCard: plans[0].SharedPerCard, Pipelined: true,
		},
		Redundant: plans[0].Redundant,
		Overlap:   plan.SingleBatch,
		Batch:     plans[0].Batch,
	}, &step); one != two {
		t.Errorf("a prefill takes %+v, with the overlap of a decode %+v", one, two)
	}
}

// TestBusiest: the busiest of 32 ranks has 1 / 0.80 of the mean in prefill of two prompts on each,
// whose copies of experts are placed by node, as published of DeepSeek-V3
// (lmsys.org/blog/2025-05-05-large-scale-ep); on one node of 32, where placement is global, less,
// and less with more prompts, which differ in what they prefer. Layers differ, and their mean is
// that. Ranks that are alike have no layers that differ.
func TestBusiest(t *testing.T) {
	as := &assume.Physical
	served := &experts.Popularity{Spread: as.ExpertSpread, Blocks: as.ExpertBlocks}
	busiest := func(prompts, node int, overlap plan.Overlap, visited *experts.Popularity) (float64, []float64) {
		problem := *caseProblem(t, 3)
		problem.Phase, problem.Visited, problem.Lengths = op.Prefill, visited, workload.Lengths{Input: 4096, Output: 1}
		grouped := *problem.Model
		grouped.Experts.Groups, grouped.Experts.TopGroups = 8, 4
		problem.Model = &grouped
		system := *problem.System
		system.Networks = slices.Clone(system.Networks)
		system.Networks[0].Size = node
		problem.System = &system
		e, err := estimate.NewEvaluator(&problem)
		if err != nil {
			t.Fatal(err)
		}
		return e.Busiest(&plan.Plan{
			Layout:    plan.Layout{Attention: plan.Split{DP: 32, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 32, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
			Redundant: 32,
			Batch:     plan.Batch{Count: 1, Size: prompts},
			Overlap:   overlap,
		})
	}
	byNode, layers := busiest(2, 8, plan.NoOverlap, served)
	global, _ := busiest(2, 32, plan.NoOverlap, served)
	if math.Abs(1/byNode-0.80) > 0.01 || !(global < 0.98*byNode) {
		t.Errorf("%v by node, %v over all", byNode, global)
	}
	if slices.Min(layers) > byNode-0.01 || slices.Max(layers) < byNode+0.01 {
		t.Errorf("%v in a layer, %v in all", layers, byNode)
	}
	if halves, parts := busiest(4, 8, plan.TwoBatch, served); halves != byNode || !slices.Equal(parts, layers) {
		t.Errorf("%v of halves of two prompts, %v of two: %v and %v by layer", halves, byNode, parts, layers)
	}
	last := math.Inf(1)
	for prompts := 1; prompts <= 64; prompts++ {
		now, layers := busiest(prompts, 8, plan.NoOverlap, served)
		mean := 0.0
		for _, l := range layers {
			mean += l / float64(len(layers))
		}
		if math.Abs(mean-now) > 0.003 { // of which the mean is on a curve between numbers of visits
			t.Errorf("%v in a layer, %v in all, with %d prompts", layers, now, prompts)
		}
		if before := float64(prompts - 1); now >= last || now*float64(prompts) <= last*before {
			t.Errorf("%v of the mean with %d prompts, %v with one less", now, prompts, last)
		}
		last = now
	}
	if even, layers := busiest(2, 8, plan.NoOverlap, nil); even > 1.03 || layers != nil {
		t.Errorf("%v and %v where all are visited alike", even, layers)
	}
}

// BenchmarkOverlap is a full evaluation of plans whose exchange overlaps: with experts that are
// visited alike, and with those of the physical assumptions in service, of which the plans have
// redundant copies.
func BenchmarkOverlap(b *testing.B) {
	as := assume.Physical
	for _, c := range []struct {
		name    string
		overlap plan.Overlap
		visited *experts.Popularity
	}{
		{"two-batch", plan.TwoBatch, nil},
		{"single-batch", plan.SingleBatch, nil},
		{"two-batch/served", plan.TwoBatch, &experts.Popularity{Spread: as.ExpertSpread, Blocks: as.ExpertBlocks}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := caseProblem(b, 3)
			p.Visited = c.visited
			e, err := estimate.NewEvaluator(p)
			if err != nil {
				b.Fatal(err)
			}
			plans := randomPlans(b, p.Model, 4096, true)
			for i := range plans {
				plans[i].Overlap = c.overlap
			}
			evaluateAll(b, e, plans)
		})
	}
}
