package schedule_test

import (
	"fmt"
	"math"
	"testing"

	"throughline/cost"
	"throughline/hardware"
	"throughline/op"
	"throughline/schedule"
)

func rules(overlap float64, usage ...float64) schedule.Rules {
	s := &hardware.System{CollectiveOverlap: overlap}
	size := 4
	for _, u := range usage {
		s.Networks = append(s.Networks, hardware.Network{Size: size, ProcessorUsage: u})
		size *= 8
	}
	return schedule.NewRules(s)
}

// pass is a layer of a product of 3 s, an all-reduce over so many processors that keeps the network
// busy for 4 s and takes 1 s of computation with it, and a norm of 2 s; of such layers there are so
// many.
func pass(layers float64, span int32) schedule.Pass {
	return schedule.Pass{
		Computing: layers * (3 + 2), Comms: []uint8{1},
		Ops: []op.Op{
			{Kind: op.QKV, Class: op.Linear, Unit: op.MatrixUnit, Repeat: layers},
			{Kind: op.AttentionAllReduce, Class: op.Comm, Unit: op.VectorUnit, Repeat: layers, Span: span},
			{Kind: op.MLPNorm, Class: op.Vector, Unit: op.VectorUnit, Repeat: layers},
		},
		Busy: []cost.Busy{{Time: 3}, {Time: 4, Displaced: 1}, {Time: 2}},
		Runs: []op.Run{{From: 0, To: 2, Block: op.AttentionBlock, Layers: int(layers)}, {From: 2, To: 3, Block: op.MLPBlock, Layers: int(layers)}},
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, by hand %v", what, got, want)
	}
}

// TestOverlap: of 4 s on the network computation hides a share, which costs it a share of 1 s.
func TestOverlap(t *testing.T) {
	for overlap, want := range map[float64]float64{0: 3 + 4 + 2, 0.5: 3 + 2 + 0.5 + 2, 1: 3 + 1 + 2} {
		r := rules(overlap, 0.25)
		near(t, "a layer", r.Step(&schedule.Work{Stages: 1, Batches: 1, Layers: pass(1, 2)}, nil).Step, want)
	}
}

// TestSilent: collectives add nothing where all of them are hidden and need no computation, on
// their level and on those within.
func TestSilent(t *testing.T) {
	for _, c := range []struct {
		overlap float64
		usage   []float64
		span    int32
		want    bool
	}{
		{1, []float64{0, 0}, 4, true}, {1, []float64{0, 0}, 32, true}, {1, []float64{0, 0}, 33, false},
		{1, []float64{0, 0.1}, 4, true}, {1, []float64{0, 0.1}, 5, false}, {1, []float64{0.1, 0}, 4, false},
		{1, []float64{0.1, 0}, 32, false}, {0.9, []float64{0, 0}, 4, false},
	} {
		r := rules(c.overlap, c.usage...)
		if got := r.Silent(&op.Op{Class: op.Comm, Span: c.span}); got != c.want {
			t.Errorf("%+v: silent is %v", c, got)
		}
	}
}

// TestPipeline: two batches of three stages of 9 s each, 1 s from stage to stage, ends of 5 s and
// two drafts of 9 s. All in a row: 2·3·9 + 2·3·1 + 2·2·9 + 2·5. With a batch in every stage, the
// last stage is busy for 2·(9 + 5 + 18) s of each batch, three times that in all; between the
// stages 6 s of it pass anyway.
func TestPipeline(t *testing.T) {
	r := rules(0, 0)
	w := schedule.Work{
		Stages: 3, Batches: 2, Drafts: 2, Layers: pass(1, 2), Draft: pass(1, 2), HandOn: 1, Pipe: hardware.Members{Group: 3, Span: 3},
		Ends: schedule.Pass{Computing: 5, Ops: []op.Op{{Repeat: 1}, {Repeat: 1}}, Busy: []cost.Busy{{Time: 1}, {Time: 4}}},
	}
	got := r.Step(&w, nil)
	near(t, "a step", got.Step, 54+6+36+10)
	near(t, "waiting", got.Wait, 0)
	w.Pipelined, w.Underway, w.Filled, w.Last = true, 3, 1, 1
	got = r.Step(&w, nil)
	near(t, "waiting in a pipeline", got.Wait, 2*(36+10)-6)
	near(t, "a step of a pipeline", got.Step, 3*2*(9+5+18))
	// A batch by itself waits for none. Two take 2·2·32 s of the last stage, more than the 106 s of
	// one on its way.
	for under, want := range []float64{1: 106, 2: 2 * 2 * (9 + 5 + 18)} {
		if w.Underway = under; under > 0 {
			got = r.Step(&w, nil)
			near(t, fmt.Sprintf("a step of %d under way", under), got.Step, want)
			near(t, fmt.Sprintf("waiting of %d under way", under), got.Wait, want-106)
		}
	}
	w.Underway = 3

	// 8 layers in three stages, 3 + 3 + 2, of 9, 9 and 6 s: the last still sets the pace, with 2·(6
	// + 23).
	w.Filled, w.Last = 8./9, 2./3
	got = r.Step(&w, nil)
	near(t, "a step with a last stage of fewer layers", got.Step, 3*2*(6+5+18))
	// 2 + 3 + 3: the last is the fullest, too, and only the first waits for longer.
	w.Last = 1
	near(t, "a step with a first stage of fewer layers", r.Step(&w, nil).Step, 3*2*(9+5+18))
	// Without drafts, with ends of 1 s and half a second between stages: 6 + 1 is less than the 9 s
	// of the fullest, for which the two batches wait, whose ways are 8 layers of 3 s, 1.5 s of
	// handing on and 1 s of ends.
	w.HandOn, w.Drafts, w.Ends, w.Last = 0.5, 0, schedule.Pass{Computing: 1, Ops: []op.Op{{Repeat: 1}, {Repeat: 1}}, Busy: []cost.Busy{{Time: 0.2}, {Time: 0.8}}}, 2./3
	var rec schedule.Recorder
	got = r.Step(&w, &rec)
	near(t, "a step at the pace of the fullest stage", got.Step, 3*2*9)
	near(t, "waiting for it", got.Wait, 3*2*9-2*(8*3+1.5+1))
	near(t, "the end of what was recorded", rec.Spans[len(rec.Spans)-1].End, got.Step)
}

// TestSecondTier: a stage computes for 9 s; what it reads from the second tier takes 5 or 12.
func TestSecondTier(t *testing.T) {
	r := rules(0, 0)
	w := schedule.Work{Stages: 2, Batches: 3, Layers: pass(1, 2), Second: 5, Beside: 1}
	near(t, "waiting for a fast tier", r.Step(&w, nil).Second, 0)
	w.Second = 12
	near(t, "waiting for a slow one", r.Step(&w, nil).Second, 2*3*3)

	// Stages that are full to 5/6 on average take 7.5 s, and wait for 3 s as the fullest does: the
	// reading ends with the step.
	w = schedule.Work{Stages: 2, Batches: 1, Layers: pass(1, 2), Second: 12, Beside: 1, Pipelined: true, Underway: 1, Filled: 5. / 6, Last: 1}
	var rec schedule.Recorder
	near(t, "a step of stages that are not equally full", r.Step(&w, &rec).Step, 2*(7.5+3))
	near(t, "the end of reading", rec.Spans[len(rec.Spans)-1].End, 2*(7.5+3))
}

// TestCache: four layers of 9 s. The cache of three of them leaves behind the computation of the
// others.
func TestCache(t *testing.T) {
	r := rules(0, 0)
	w := schedule.Work{Stages: 1, Batches: 1, Layers: pass(4, 2), Depth: 4}
	for sending, want := range map[float64]float64{8: 2, 36: 9, 40: 40 - 27} {
		w.Cache = sending
		near(t, "what remains", r.Step(&w, nil).Cache, want)
	}
}

// TestTimeline: two layers, half of the 4 s on the outer network hidden, which takes half a second
// of computation. It starts 2 s before the product has ended.
func TestTimeline(t *testing.T) {
	r := rules(0.5, 0, 0.25)
	var rec schedule.Recorder
	w := schedule.Work{Stages: 1, Batches: 1, Layers: pass(2, 8), Second: 7, Beside: 1, Cache: 8, Depth: 2}
	got := r.Step(&w, &rec)
	const network = schedule.Network + 1
	want := []schedule.Span{
		{Op: 0, Lane: schedule.Matrix, Start: 0, End: 3, Exposed: 3},
		{Op: 1, Lane: network, Start: 1, End: 5.5, Exposed: 2.5},
		{Op: 2, Lane: schedule.Vector, Start: 5.5, End: 7.5, Exposed: 2},
		{Op: 0, Lane: schedule.Matrix, Layer: 1, Start: 7.5, End: 10.5, Exposed: 3},
		{Op: 1, Lane: network, Layer: 1, Start: 8.5, End: 13, Exposed: 2.5},
		{Op: 2, Lane: schedule.Vector, Layer: 1, Start: 13, End: 15, Exposed: 2},
		{Part: schedule.SecondPart, Lane: schedule.Second, Layer: -1, Start: 0, End: 7},
		{Part: schedule.CachePart, Lane: schedule.Handover, Layer: -1, Start: 11, End: 19, Exposed: 4},
	}
	if len(rec.Spans) != len(want) {
		t.Fatalf("%d spans: %+v", len(rec.Spans), rec.Spans)
	}
	for i := range want {
		if rec.Spans[i] != want[i] {
			t.Errorf("span %d is %+v, by hand %+v", i, rec.Spans[i], want[i])
		}
	}
	near(t, "the step", got.Step, 15)
	near(t, "the rest of the cache", got.Cache, 4)
	for lane, name := range map[schedule.Lane]string{schedule.Matrix: "matrix", network: "network 1", schedule.Waiting: "waiting"} {
		if lane.String() != name {
			t.Errorf("lane %d is called %q", lane, lane)
		}
	}
}

// TestBusyNetwork: what does not fit behind the computation of its layer starts when the network is
// free.
func TestBusyNetwork(t *testing.T) {
	r := rules(1, 0)
	var rec schedule.Recorder
	r.Step(&schedule.Work{Stages: 1, Batches: 1, Layers: schedule.Pass{
		Computing: 3, Comms: []uint8{0, 2},
		Ops: []op.Op{
			{Kind: op.Dispatch, Class: op.Comm, Repeat: 1, Span: 2},
			{Kind: op.ExpertUp, Class: op.Linear, Repeat: 1},
			{Kind: op.Combine, Class: op.Comm, Repeat: 1, Span: 2},
		},
		Busy: []cost.Busy{{Time: 4}, {Time: 3}, {Time: 4}},
		Runs: []op.Run{{From: 0, To: 0, Block: op.AttentionBlock, Layers: 1}, {From: 0, To: 3, Block: op.MLPBlock, Layers: 1}},
	}}, &rec)
	if first, last := rec.Spans[0], rec.Spans[2]; first.End != 0 || last.Start != 0 || last.End != 3 {
		t.Errorf("%+v", rec.Spans)
	}
}

// TestOrderOfLayers: of seven layers two have the other attention, spread evenly, and the first two
// are dense.
func TestOrderOfLayers(t *testing.T) {
	kinds := []op.Kind{op.FusedAttention, op.LinearState, op.GateUp, op.ExpertUp}
	layers := []int{2, 5, 2, 5}
	var p schedule.Pass
	for i, k := range kinds {
		p.Ops = append(p.Ops, op.Op{Kind: k, Class: op.Linear, Repeat: float64(layers[i])})
		p.Busy = append(p.Busy, cost.Busy{Time: 1})
		b := op.AttentionBlock
		if i > 1 {
			b = op.MLPBlock
		}
		p.Runs = append(p.Runs, op.Run{From: i, To: i + 1, Block: b, Layers: layers[i], Leading: i == 2})
	}
	r := rules(0, 0)
	var rec schedule.Recorder
	r.Step(&schedule.Work{Stages: 1, Batches: 1, Layers: p}, &rec)
	var attention, mlp string
	for _, s := range rec.Spans {
		if s.Op < 2 {
			attention += []string{"f", "l"}[s.Op]
		} else {
			mlp += []string{"d", "e"}[s.Op-2]
		}
	}
	if attention != "lflllfl" || mlp != "ddeeeee" {
		t.Errorf("attention %s, feed-forward %s", attention, mlp)
	}
}
