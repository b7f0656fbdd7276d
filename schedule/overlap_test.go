package schedule_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/cost"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// layer is the times of a layer: attention, dispatch, experts, combine and what follows, in
// seconds; of the units the exchanges take a share.
type layer struct{ attention, dispatch, experts, combine, rest, share float64 }

// stage is a stage of so many equal layers, behind so many dense ones whose feed-forward block
// takes as long as the experts.
func (l layer) stage(layers, dense int, overlap plan.Overlap) *schedule.Work {
	all, moe := float64(layers+dense), float64(layers)
	send := func(k op.Kind) op.Op {
		return op.Op{Kind: k, Class: op.Comm, Repeat: moe, Span: 2, Collective: hardware.AllToAll, Shape: kernel.Shape{Group: 2}}
	}
	p := schedule.Pass{
		Overlap: overlap,
		Ops: []op.Op{
			{Kind: op.FusedAttention, Class: op.BMM, Repeat: all}, {Kind: op.GateUp, Class: op.Linear, Repeat: float64(dense)},
			send(op.Dispatch), {Kind: op.ExpertUp, Class: op.Linear, Repeat: moe}, send(op.Combine), {Kind: op.MLPResidual, Class: op.Vector, Repeat: moe},
		},
		Busy: []cost.Busy{
			{Time: l.attention}, {Time: l.experts}, {Time: l.dispatch, Displaced: l.share * l.dispatch}, {Time: l.experts},
			{Time: l.combine, Displaced: l.share * l.combine}, {Time: l.rest},
		},
		Comms:     []uint8{2, 4},
		Runs:      []op.Run{{From: 0, To: 1, Block: op.AttentionBlock, Layers: layers + dense}},
		Computing: all*l.attention + float64(dense)*l.experts + moe*(l.experts+l.rest),
	}
	block := func(legs ...schedule.Leg) {
		b := schedule.Block{Run: p.Runs[len(p.Runs)-1], Count: len(legs)}
		copy(b.Legs[:], legs)
		p.Blocks = append(p.Blocks, b)
	}
	block(schedule.Leg{Computing: l.attention})
	if dense > 0 {
		p.Runs = append(p.Runs, op.Run{From: 1, To: 2, Block: op.MLPBlock, Layers: dense, Leading: true})
		block(schedule.Leg{Computing: l.experts})
	}
	p.Runs = append(p.Runs, op.Run{From: 2, To: 6, Block: op.MLPBlock, Layers: layers})
	block(schedule.Leg{Exchange: l.dispatch, Taken: l.share}, schedule.Leg{Computing: l.experts, Exchange: l.combine, Taken: l.share}, schedule.Leg{Computing: l.rest})
	return &schedule.Work{Stages: 1, Batches: 1, Layers: p}
}

// TestTwoBatches: on a fast network the exchanges of either micro-batch hide behind the computation
// of the other: two times 3 + 4 + 1 s. On a slow one, the first waits for its tokens until 9 s,
// when the second may send its own; it has them at 15, computes for 4 s, and for 1 s more after the
// rest of the first.
func TestTwoBatches(t *testing.T) {
	r := rules(0, 0)
	for _, c := range []struct {
		layer
		want, uncovered float64
	}{
		{layer{3, 2, 4, 1, 1, 0}, 16, 0},
		{layer{3, 6, 4, 1, 1, 0}, 21, 5.0 / 14},
		// What is computed beside an exchange takes a third longer where that takes a quarter of
		// the units. The second attention and the first experts still end before the network is
		// free; the second experts and the first rest have a second of an exchange beside them
		// each.
		{layer{3, 6, 4, 1, 1, 0.25}, 21 + 2*0.25, 5.5 / 14},
		{layer{3, 0, 4, 0, 1, 0}, 16, 1},
	} {
		w := c.stage(1, 0, plan.TwoBatch)
		near(t, "two micro-batches", r.Step(w, nil).Step, c.want)
		share, pace := w.Uncovered()
		near(t, "what is not covered", share, c.uncovered)
		near(t, "the pace", pace, 1)
	}
}

// TestSlowedTurn: beside an exchange that takes a quarter of the units, what is computed takes a
// third longer, and no more when the exchange outlasts it: 3 s of attention from 3 to 7 s beside a
// dispatch of 6 s; where half of it leaves those units free by itself, 3.5 s.
func TestSlowedTurn(t *testing.T) {
	r := rules(0, 0)
	w := layer{3, 6, 4, 1, 1, 0.25}.stage(1, 0, plan.TwoBatch)
	second := func() (start, end float64) {
		var rec schedule.Recorder
		r.Step(w, &rec)
		for _, s := range rec.Spans {
			if s.Op == 0 && s.Micro == 1 {
				return s.Start, s.End
			}
		}
		t.Fatal("the second micro-batch has no attention")
		return 0, 0
	}
	start, end := second()
	near(t, "the start", start, 3)
	near(t, "the end", end, 3+4)
	w.Layers.Blocks[0].Legs[0].Polite = 1.5
	_, end = second()
	near(t, "the end of what is half slowed", end, 3+3.5)
}

// TestPaceWithoutExchange: products that leave their units to exchanges which take no time still
// take a third longer, and so does the step.
func TestPaceWithoutExchange(t *testing.T) {
	r := rules(0, 0)
	w := schedule.Work{Stages: 1, Batches: 1, Layers: schedule.Pass{
		Overlap: plan.TwoBatch, Runs: []op.Run{{Block: op.AttentionBlock, Layers: 2}},
		Blocks: []schedule.Block{{Run: op.Run{Block: op.AttentionBlock, Layers: 2}, Legs: [3]schedule.Leg{{Computing: 3, Polite: 3, Longer: 1}}, Count: 1}},
	}}
	near(t, "a step", r.Step(&w, nil).Step, 2*2*4)
	_, pace := w.Uncovered()
	near(t, "the pace", pace, 4./3)
}

// TestPolite: products that leave exchanges a quarter of the units take a third longer at all
// times, and are not slowed again; an exchange that takes 1 s longer beside computation holds up
// what waits for it. Of 3 s of attention 1.5 are products: it takes 3.5 s, of which 1.5 are slowed.
func TestPolite(t *testing.T) {
	r := rules(0, 0)
	w := layer{3, 4, 0, 0, 0, 0.25}.stage(1, 0, plan.TwoBatch)
	attention, dispatch := &w.Layers.Blocks[0].Legs[0], &w.Layers.Blocks[1].Legs[0]
	attention.Polite, attention.Longer = 1.5, 0.5
	dispatch.Contended = 1
	// The first dispatch ends at 3.5 + 5, the second 5 later.
	near(t, "a layer", r.Step(w, nil).Step, 3.5+5+5)
	dispatch.Exchange, dispatch.Contended = 0.5, 0
	// The second attention has 0.5 s of the first dispatch beside it: 0.25 · 0.5 · 1.5/3.5 longer.
	near(t, "a fast network", r.Step(w, nil).Step, 3.5+3.5+0.25*0.5*1.5/3.5+0.5)
}

// TestSingleBatch: 4 s of tokens on their way hide behind 3 s of shared experts; 6 s of results
// leave in two parts, the second of them after the last product of 4 s: 3 s hide less what they
// take from the product.
func TestSingleBatch(t *testing.T) {
	r := rules(0, 0)
	w := layer{3, 4, 5, 6, 1, 0.25}.stage(2, 0, plan.SingleBatch)
	legs := &w.Layers.Blocks[1].Legs
	legs[0].Beside, legs[0].Taken = 3, 0
	legs[1].Beside, legs[1].Parts = 4, 2
	near(t, "a layer", r.Step(w, nil).Step/2, 3+1+5+(6-2)+0.25*2+1)
	legs[1].Beside = 100
	near(t, "a layer that waits for the last part", r.Step(w, nil).Step/2, 3+1+5+3+0.25*3+1)
}

// TestOverlapLaws: two micro-batches never take less than their computation or their exchanges, nor
// more than all of it in a row and what the exchanges take from computation; layers that are not
// worked out one by one take what they take in the timeline; and there both micro-batches run
// everything once in every layer, one thing at a time on each lane.
func TestOverlapLaws(t *testing.T) {
	r := rules(0, 0)
	long.Check(t, func(t *rapid.T) {
		time := func(name string) float64 { return rapid.Float64Range(0.01, 10).Draw(t, name) }
		l := layer{time("attention"), time("dispatch"), time("experts"), time("combine"), time("rest"), rapid.Float64Range(0, 0.5).Draw(t, "share")}
		layers, dense := rapid.IntRange(1, 60).Draw(t, "layers"), rapid.IntRange(0, 3).Draw(t, "dense")
		w := l.stage(layers, dense, plan.TwoBatch)
		n := float64(layers)
		computing, exchanging := 2*w.Layers.Computing, 2*n*(l.dispatch+l.combine)
		got := r.Step(w, nil).Step
		if got < max(computing, exchanging)*(1-1e-9) || got > (computing+exchanging*(1+l.share))*(1+1e-9) {
			t.Fatalf("%v s of %v computing and %v exchanging", got, computing, exchanging)
		}
		var rec schedule.Recorder
		if step := r.Step(w, &rec).Step; math.Abs(step-got) > 1e-9*got {
			t.Fatalf("%v s with a recorder, %v without", step, got)
		}
		free, exposed, end := map[schedule.Lane]float64{}, 0.0, 0.0
		count := map[[3]int]int{}
		for _, s := range rec.Spans {
			lane := s.Lane
			if lane == schedule.Vector {
				lane = schedule.Matrix // one stream computes
			}
			if s.Start < free[lane]-1e-9*got {
				t.Fatalf("%+v starts while its lane is busy until %v", s, free[lane])
			}
			free[lane] = s.End
			exposed += s.Exposed
			end = max(end, s.End)
			count[[3]int{s.Op, s.Layer, s.Micro}]++
		}
		if math.Abs(exposed-got) > 1e-9*got || math.Abs(end-got) > 1e-9*got {
			t.Fatalf("%v s exposed, the last ends at %v, of %v", exposed, end, got)
		}
		if want := 2 * (layers + dense + dense + 4*layers); len(count) != want {
			t.Fatalf("%d operators of layers and micro-batches, want %d", len(count), want)
		}
	})
}
