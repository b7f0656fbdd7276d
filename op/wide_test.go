package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestWide: dense layers and the output projection of two attention replicas, of one processor
// each, with 3 tokens each. In every replica there is all of them; split over both, a rank has half
// of the width and half of the vocabulary of 10 for 6 tokens, which are gathered, 6·8 elements, and
// whose sums are scattered; of the logits 6·10 are gathered.
func TestWide(t *testing.T) {
	as := assume.Physical
	as.Imbalance, as.TouchedExperts = false, false
	m := expertModel(model.Gated)
	m.Experts.Routed, m.Experts.Interval, m.FirstDense, m.Vocab = 8, 1, 1, 10
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
		Batch:  three,
	}
	ends := func(p plan.Plan) *op.List {
		l := op.NewLowerer(m, &fused, &precision, &as)
		var list op.List
		l.Ends(&p, batch(&l, m, &p, decode), &list)
		return &list
	}
	narrow, narrowEnds := physically(as, m, fused, p, decode), ends(p)
	if n := len(only(narrow, op.MLPGather, op.MLPScatter)) + len(only(narrowEnds, op.HeadGather, op.LogitsGather)); n != 0 {
		t.Errorf("%d collectives around parts that every replica has", n)
	}
	p.WideDense, p.WideHead = true, true
	wide, wideEnds := physically(as, m, fused, p, decode), ends(p)
	const tokens = 3 // of a replica
	for kind, c := range map[op.Kind]hardware.Collective{op.MLPGather: hardware.AllGather, op.MLPScatter: hardware.ReduceScatter} {
		o := find(t, wide, kind)
		bytes(t, kind.String(), o.Moved, 2*tokens*8*precision.Comm)
		if o.Collective != c || o.Group != 2 || o.Repeat != 1 {
			t.Errorf("%s by %v over %d, %v times", kind, o.Collective, o.Group, o.Repeat)
		}
	}
	bytes(t, "dense weights of a rank", find(t, wide, op.Down).Resident, find(t, narrow, op.Down).Resident/2)
	bytes(t, "dense operations of a rank", find(t, wide, op.Down).Flops, find(t, narrow, op.Down).Flops)
	bytes(t, "tokens to the head", find(t, wideEnds, op.HeadGather).Moved, 2*tokens*8*precision.Comm)
	bytes(t, "logits", find(t, wideEnds, op.LogitsGather).Moved, 2*tokens*10*precision.Comm)
	bytes(t, "head of a rank", find(t, wideEnds, op.OutputHead).Resident, find(t, narrowEnds, op.OutputHead).Resident/2)
	// A prompt of which only a part is computed has the same weights.
	var list op.List
	l := op.NewLowerer(m, &fused, &precision, &as)
	part := op.Group{Phase: op.Prefill, New: 2, Context: 10}
	l.Ends(&p, batch(&l, m, &p, part), &list)
	var whole, chunk float64
	for _, o := range wideEnds.All() {
		whole += o.Resident
	}
	for _, o := range list.All() {
		chunk += o.Resident
	}
	bytes(t, "weights of the ends with a part of a prompt", chunk, whole)
	// One replica: there is nobody to share with.
	p.Attention, p.Experts = plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, plan.ExpertSplit{EP: 1, TP: 1, DP: 1}
	if n := len(only(physically(as, m, fused, p, decode), op.MLPGather, op.MLPScatter)) + len(only(ends(p), op.HeadGather, op.LogitsGather)); n != 0 {
		t.Errorf("%d collectives of one replica", n)
	}
}
