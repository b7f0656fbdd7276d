package schedule_test

import (
	"math/rand/v2"
	"testing"

	"throughline/cost"
	"throughline/hardware"
	"throughline/internal/test/golden"
	"throughline/op"
	"throughline/plan"
	"throughline/schedule"
)

// TestSums: steps of drawn layers, with and without exchanges that overlap, in pipelines and alone,
// with every other part that a step may have, and when each of them runs.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	r := rand.New(rand.NewPCG(33, 1))
	some := func(most float64) float64 { return most * max(0, r.Float64()-0.3) }
	for i := range 400 {
		rules := rules([]float64{0, 0.5, 1}[i%3], some(0.5), some(0.5))
		overlap := plan.Overlap(r.IntN(int(plan.OverlapCount)))
		w := layer{1 + some(9), some(9), 1 + some(9), some(9), some(4), some(0.5)}.stage(1+r.IntN(12), r.IntN(3), overlap)
		name := overlap.String()
		if overlap == plan.NoOverlap {
			w.Layers = pass(float64(1+r.IntN(9)), int32(2<<r.IntN(5)))
		}
		for j := range w.Layers.Blocks {
			for k := range w.Layers.Blocks[j].Count {
				l := &w.Layers.Blocks[j].Legs[k]
				l.Polite, l.Longer, l.Contended = some(l.Computing), some(0.5), some(0.5)
				l.Beside, l.Parts = some(l.Computing), float64(r.IntN(3))
			}
		}
		w.Stages, w.Batches, w.Drafts, w.Pipelined = 1+r.IntN(3), 1+r.IntN(3), r.IntN(3), r.IntN(2) == 0
		w.Underway, w.Filled, w.Last = 1+r.IntN(w.Stages), 1-some(0.5), 1-some(0.5)
		w.Draft, w.Layers.Apart = pass(1, 2), some(0.2)
		w.Ends = schedule.Pass{Computing: 5, Ops: []op.Op{{Repeat: 1}, {Repeat: 1}}, Busy: []cost.Busy{{Time: 1}, {Time: 4}}}
		w.HandOn, w.Pipe = some(3), hardware.Members{Group: w.Stages, Span: 1 << r.IntN(6)}
		w.Second, w.Beside, w.Cache, w.Depth = some(200), some(1), some(200), 1+r.IntN(8)
		w.Moving, w.Launching = some(3), some(600)
		sums.Fields(name, rules.Step(w, nil))
		share, pace := w.Uncovered()
		sums.Add(name, "uncovered", share)
		sums.Add(name, "pace", pace)
		for j := range w.Layers.Blocks {
			computing, exchange := w.Layers.Blocks[j].Least(overlap)
			sums.Add(name, "least computing", computing)
			sums.Add(name, "least exchange", exchange)
		}
		var rec schedule.Recorder
		sums.Fields(name+" recorded", rules.Step(w, &rec))
		for _, s := range rec.Spans {
			sums.Fields(name+" spans", s)
		}
		addTotals(sums, &rules, &w.Layers)
	}
	sums.Check(t, "testdata/sums.tsv")
}

// addTotals adds the sums over the operators of a pass, by what bounds them.
func addTotals(sums golden.Sums, rules *schedule.Rules, p *schedule.Pass) {
	var totals schedule.Totals
	for i := range p.Ops {
		o := p.Ops[i]
		o.Flops, o.Weights, o.Cache = float64(i), 2, 3
		c := cost.Cost{Busy: p.Busy[i], Compute: 1, Memory: 2, Sent: 5, Bound: cost.Bound(i % 2)}
		totals.Add(&o, &c, 3, rules.Exposed(&o, c.Busy))
		sums.Add("lanes", rules.LaneOf(&o).String(), 1)
	}
	sums.Fields("totals", totals)
	sums.Add("totals", "time", totals.Time())
	sums.Add("totals", "exposed", totals.Exposed())
}
