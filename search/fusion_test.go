package search_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// bothPhases evaluates plans in both phases.
type bothPhases struct {
	prefill, decode *estimate.Evaluator
	capacity        float64
}

func newBothPhases(t *rapid.T, p *search.FusedProblem) bothPhases {
	prefill, err := estimate.NewEvaluator(&p.Prefill.Problem)
	if err != nil {
		t.Fatal(err)
	}
	decode, err := estimate.NewEvaluator(&p.Decode.Problem)
	if err != nil {
		t.Fatal(err)
	}
	return bothPhases{prefill, decode, p.Decode.Assume.Usable(p.Decode.System.Memory.GiB)}
}

// roomBeside reports whether a prefill fits beside the cache of a decode. The processors hold the
// draft module, if the decode has one, in both phases.
func (b bothPhases) roomBeside(decode *estimate.Estimate, prefill plan.Plan) bool {
	prefill.Drafts = decode.Plan.Drafts
	m := b.prefill.MemoryOf(&prefill)
	return m.WithoutCache()+decode.Memory.Cache <= b.capacity
}

// decodes are the decode batches of a plan that are in time, fit, and leave room for a prefill of
// one.
func (b bothPhases) decodes(p *search.Problem, pl plan.Plan) (out []estimate.Estimate) {
	consider := func(batch plan.Batch) (fits bool) {
		var e estimate.Estimate
		pl.Batch = batch
		b.decode.Evaluate(&pl, &e)
		one := pl
		one.Batch = plan.Batch{Count: 1, Size: 1}
		if e.Memory.Total() > b.capacity || !b.roomBeside(&e, one) {
			return false
		}
		if p.Limit == 0 || e.Latency <= p.Limit {
			out = append(out, e)
		}
		return true
	}
	if p.Batches != nil {
		for _, batch := range p.Batches {
			consider(batch)
		}
		return out
	}
	for size := 1; consider(plan.Batch{Count: 1, Size: size}); size++ {
	}
	return out
}

// prefills are the prefill batches beside a decode that are in time, fit, and are not larger than
// its batch.
func (b bothPhases) prefills(p *search.Problem, decode *estimate.Estimate) (out []estimate.Estimate) {
	pl := decode.Plan
	pl.Drafts = 0
	for size := 1; size <= decode.Plan.Batch.Size*decode.Plan.Batch.Count; size++ {
		var e estimate.Estimate
		pl.Batch = plan.Batch{Count: 1, Size: size}
		b.prefill.Evaluate(&pl, &e)
		if b.roomBeside(decode, pl) && (p.Limit == 0 || e.Latency <= p.Limit) {
			out = append(out, e)
		}
	}
	return out
}

// TestFusedIsExact compares the search with trying every plan and every batch: first the best
// decode batch, then the best prefill batch beside it.
func TestFusedIsExact(t *testing.T) {
	found, withDrafts, given := 0, 0, 0
	long.Check(t, func(t *rapid.T) {
		prefill, decode := draw.Pair(t, rapid.SampledFrom([]int{1, 2, 3, 4, 6}).Draw(t, "procs"), true)
		p := &search.FusedProblem{Prefill: prefill, Decode: decode}
		both := newBothPhases(t, p)
		plans := p.Decode.Plans()
		if rapid.Bool().Draw(t, "given batches") {
			for range rapid.IntRange(1, 3).Draw(t, "batches") {
				p.Decode.Batches = append(p.Decode.Batches, plan.Batch{
					Count: rapid.IntRange(1, 2).Draw(t, "count"), Size: rapid.IntRange(1, 12).Draw(t, "size"),
				})
			}
			p.Prefill.Batches = p.Decode.Batches
		}
		// Limits around what some plan takes.
		if some := both.decodes(&p.Decode, plans[rapid.IntRange(0, len(plans)-1).Draw(t, "limiting plan")]); len(some) > 0 {
			d := some[rapid.IntRange(0, len(some)-1).Draw(t, "limiting decode")]
			if rapid.Bool().Draw(t, "limited decode") {
				p.Decode.Limit = d.Latency * rapid.Float64Range(0.9, 1.1).Draw(t, "decode slack")
			}
			if of := both.prefills(&p.Prefill, &d); rapid.Bool().Draw(t, "limited prefill") && len(of) > 0 {
				p.Prefill.Limit = of[rapid.IntRange(0, len(of)-1).Draw(t, "limiting prefill")].Latency * rapid.Float64Range(0.9, 1.1).Draw(t, "prefill slack")
			}
		}

		var want search.Outcome
		for _, pl := range plans {
			d, ok := bestOf(p.Decode.Batches != nil, both.decodes(&p.Decode, pl))
			if !ok {
				continue
			}
			f, ok := bestOf(false, both.prefills(&p.Prefill, &d))
			if !ok {
				continue
			}
			// Every request takes its share of the processors' time in both phases.
			if rate := 1 / (1/d.Requests + 1/f.Requests); rate > want.Requests {
				want.Requests, want.Prefill.Best, want.Decode.Best = rate, f, d
			}
		}

		got, err := search.Fused(context.Background(), p, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got.Found() != (want.Requests > 0) {
			t.Fatalf("found %v, want %v requests/s with %+v and %+v", got.Found(), want.Requests, want.Decode.Best.Plan, want.Prefill.Best.Plan)
		}
		if !got.Found() {
			return
		}
		found++
		if slices.ContainsFunc(plans, func(pl plan.Plan) bool { return pl.Drafts > 0 }) { // they win too rarely to be counted on
			withDrafts++
		}
		if p.Decode.Batches != nil {
			given++
		}
		if math.Abs(got.Requests-want.Requests) > 1e-12*want.Requests {
			t.Fatalf("%v requests/s with %+v and %+v, want %v with %+v and %+v", got.Requests, got.Decode.Best.Plan, got.Prefill.Best.Plan,
				want.Requests, want.Decode.Best.Plan, want.Prefill.Best.Plan)
		}
		if got.Decode.Best.Plan != want.Decode.Best.Plan || got.Prefill.Best.Plan != want.Prefill.Best.Plan {
			t.Fatalf("%+v and %+v, want %+v and %+v", got.Decode.Best.Plan, got.Prefill.Best.Plan, want.Decode.Best.Plan, want.Prefill.Best.Plan)
		}
	})
	// A short test draws too few problems to tell.
	if !testing.Short() && (found < 20 || withDrafts == 0 || given == 0) {
		t.Errorf("only %d problems had a solution, %d of them with drafts, %d with given batches", found, withDrafts, given)
	}
}

// bestOf is the best of some batches; of given ones the first with the highest rate.
func bestOf(given bool, estimates []estimate.Estimate) (out estimate.Estimate, found bool) {
	if !given {
		return best(estimates)
	}
	for i := range estimates {
		if estimates[i].Requests > out.Requests {
			out, found = estimates[i], true
		}
	}
	return out, found
}

// onePerSecond is both phases on a chip of one byte per second that computes in no time, with a
// model of one layer of 88 bytes of weights (4 of the norm, 32 of qkv, 16 of the output, 4 + 16 +
// 16 of the plain feed-forward block). With m tokens of s sequences that attend to c it takes 88 +
// 92·m + 4·s·c seconds: 48 + 44 bytes of activations per token, keys and values of 2 elements each.
// The largest result is that of qkv, 8·m. A request has 10 tokens and 4 of output.
func onePerSecond(batches ...plan.Batch) *search.FusedProblem {
	one := hardware.SizeTable{{AtLeast: 0, Efficiency: 1}}
	network := hardware.Network{Bandwidth: 1, Efficiency: 1, Topology: "switch", Size: 8, MessageSize: one}
	for c := range network.Ops {
		network.Ops[c] = hardware.CollectiveRate{Scale: 1, Lowest: 1}
	}
	decode := search.Problem{
		Problem: estimate.Problem{
			Model: &model.Model{
				Hidden: 4, Layers: 1, FeedForward: 4, MLP: model.Plain,
				Attention: model.Attention{Kind: model.GroupQuery, Heads: 2, KVHeads: 1, HeadDim: 2},
			},
			Settings: &model.Settings{Flash: true},
			System: &hardware.System{
				Matrix: map[string]hardware.MatrixEngine{"float8": {TFlops: 1e30, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}},
				Vector: map[string]hardware.VectorEngine{"float8": {TFlops: 1e30, Calibration: 1, Efficiency: one}},
				Memory: hardware.Memory{
					GiB: 1, GBps: 1, Calibration: 1, Efficiency: one,
					Attention: hardware.PhaseFactor{Decode: 1, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 1, Prefill: 1},
				},
				Networks: []hardware.Network{network},
			},
			Lengths: workload.Lengths{Input: 10, Output: 4},
			Precision: plan.Precision{
				Weight: 1, Activation: 1, Cache: 1, Comm: 1,
				MatrixType: "float8", AttentionType: "float8", VectorType: "float8",
			},
			Assume: &assume.Assumptions{FlopsPerTFlop: 1, BytesPerGB: 1, FusedAttentionAtMatrixType: true, MemoryFraction: 1},
		},
		Procs: 1, Batches: batches,
	}
	prefill := decode
	prefill.Phase = op.Prefill
	return &search.FusedProblem{Prefill: prefill, Decode: decode}
}

// TestSharedRate: batches of one. Prefill: 88 + 920 + 40 = 1048 s. Decode with a context of 10 +
// 4/2 + 1 = 13: 88 + 92 + 52 = 232 s for each of 4 tokens, 928 s. So a request takes 1976 s of the
// processor.
func TestSharedRate(t *testing.T) {
	got, err := search.Fused(context.Background(), onePerSecond(plan.Batch{Count: 1, Size: 1}), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"time to the first token", got.Prefill.Best.Latency, 1048},
		{"time per token", got.Decode.Best.Latency, 232},
		{"request rate", got.Requests, 1.0 / 1976},
		{"prefill rate", got.Prefill.Rate(), 1.0 / 1048},
		{"decode rate", got.Decode.Rate(), 1.0 / 928},
		{"spare processors", float64(got.Spare(1)), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-12*c.want {
			t.Errorf("%s is %v, want %v", c.what, c.got, c.want)
		}
	}
	if !got.Shared || !got.Found() {
		t.Errorf("shared %v, found %v", got.Shared, got.Found())
	}
}

// TestDecodeLeavesRoomForPrefill: a sequence takes 14·4 = 56 bytes of cache, a prefill of one 88 +
// 8·10 = 168 bytes. In 300 bytes a decode of three fits, 88 + 24 + 168 = 280, but no prefill beside
// it, 168 + 168. Two leave room, 112 + 168.
func TestDecodeLeavesRoomForPrefill(t *testing.T) {
	for name, batches := range map[string][]plan.Batch{
		"searched": nil,
		"given":    {{Count: 1, Size: 3}, {Count: 1, Size: 2}},
	} {
		p := onePerSecond(batches...)
		p.Decode.System.Memory.GiB = 300.0 / (1 << 30)
		got, err := search.Fused(context.Background(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if b := got.Decode.Best.Plan.Batch.Size; !got.Found() || b != 2 {
			t.Errorf("%s: found %v, a decode batch of %d, want 2", name, got.Found(), b)
		}
	}
}
