package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestTouchedExperts: the plan of TestExperts: two groups of two slices, 12 tokens in all, which
// visit 2 of the 10 copies of routed experts: 0.8^12 = 0.068719476736 of them are missed. Of the 7
// experts on a processor, 5 copies of routed ones and 2 of the shared one, 7 − 5·0.068719476736 =
// 6.65640261632 are read; all are kept.
func TestTouchedExperts(t *testing.T) {
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4},
		Batch:     three,
		Redundant: 2,
	}
	const read = 6.65640261632
	as := assume.Reference
	as.TouchedExperts = true
	list := physically(as, expertModel(model.Gated), fused, p, decode)
	compare(t, only(list, op.ExpertGateUp, op.ExpertActivation, op.ExpertDown), times(2, []row{
		product(op.ExpertGateUp, 2*27*8*4, read*8*4, 27*(8+4), 0, 27*4, 27/read, 4, 8),
		vector(op.ExpertActivation, 3*54, 0, 2*54, 54),
		product(op.ExpertDown, 2*27*2*8, read*2*8, 27*(2+8), 0, 27*8, 27/read, 8, 2),
	}))
	bytes(t, "gate and up in memory", find(t, list, op.ExpertGateUp).Resident, 7*8*4*2)
	bytes(t, "down in memory", find(t, list, op.ExpertDown).Resident, 7*2*8*2)
	filled := p
	filled.ExpertInputs = 3 // 8 and 2 inputs become 9 and 3
	list = physically(as, expertModel(model.Gated), fused, filled, decode)
	bytes(t, "gate and up filled up", find(t, list, op.ExpertGateUp).Resident, 7*9*4*2)
	bytes(t, "down filled up", find(t, list, op.ExpertDown).Resident, 7*3*8*2)

	// Alone, a token of one processor visits 2 of 8: a quarter of them, and the shared one.
	one := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, SharedPerCard: true},
		Batch:  plan.Batch{Count: 1, Size: 1},
	}
	list = physically(as, expertModel(model.Gated), fused, one, decode)
	bytes(t, "of one token", find(t, list, op.ExpertDown).Weights, (2+1)*4*8*2)
}

// TestBusiestRank: as above, 6 tokens of a group visit 12 experts on average. Chance gives the
// busier of two ranks 0.5894557978·√(12·8/9) more, 13.9251545742; with the 6 visits of the shared
// expert and half as many more for the capacity 29.8877318613. What is sent stays the same, as does
// the shape of the product.
func TestBusiestRank(t *testing.T) {
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4},
		Batch:     three,
		Redundant: 2,
	}
	as := assume.Reference
	as.Imbalance = true
	list := physically(as, expertModel(model.Gated), fused, p, decode)
	const busiest = 29.887731861314215
	compare(t, only(list, op.Dispatch, op.SliceGather, op.ExpertGateUp, op.ExpertActivation, op.Combine), times(2, []row{
		exchange(op.Dispatch, 72, 2, 4, 2*72*2, 72*2, 3, 2, 8),
		comm(op.SliceGather, hardware.AllGather, busiest*8, 2, 2, 0, 0, 0),
		product(op.ExpertGateUp, 2*busiest*8*4, 7*8*4, busiest*(8+4), 0, busiest*4, 27.0/7, 4, 8),
		vector(op.ExpertActivation, 3*busiest*2, 0, 2*busiest*2, busiest*2),
		exchange(op.Combine, 72, 2, 4, 2*72*2, 72*2, 3, 2, 8),
	}))
	// One group has no busiest.
	p.Experts = plan.ExpertSplit{EP: 1, TP: 4, DP: 1}
	list = physically(as, expertModel(model.Gated), fused, p, decode)
	bytes(t, "one group", find(t, list, op.ExpertDown).Flops, 2*54*1*8) // 3·3·4·1.5 tokens, width 1
}

// TestSharedWidth: a shared expert three times as wide counts as three: 3·(2 + 3)·2·1.5 = 45
// tokens; of 7 experts on a processor the 2 replicas of it count as 6. On every card, it is 1 of 6,
// and counts as 3.
func TestSharedWidth(t *testing.T) {
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4},
		Batch:     three,
		Redundant: 2,
	}
	m := expertModel(model.Gated)
	m.Experts.SharedWidth = 12
	as := assume.Reference
	list := physically(as, m, fused, p, decode)
	compare(t, only(list, op.Dispatch, op.ExpertDown), times(2, []row{
		exchange(op.Dispatch, 72, 2, 4, 2*72*2, 72*2, 3, 2, 8),
		product(op.ExpertDown, 2*45*2*8, 11*2*8, 45*(2+8), 0, 45*8, 45.0/11, 8, 2),
	}))
	p.SharedPerCard = true
	bytes(t, "on every card", find(t, physically(as, m, fused, p, decode), op.ExpertDown).Weights, 8*2*8*2)
	// The shared ones are read in any case: 8 − 5·0.068719476736.
	as.TouchedExperts = true
	bytes(t, "of which are read", find(t, physically(as, m, fused, p, decode), op.ExpertDown).Weights, 7.65640261632*2*8*2)
}

// TestNarrowExperts: routed experts see 4 of 8 elements; the shared one, of the same width, sees
// all 8 and counts as two: 3·(2 + 2)·2·1.5 = 36 tokens, 5 + 2·2 experts. A token sends 2·4 + 8 = 16
// elements.
func TestNarrowExperts(t *testing.T) {
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4},
		Batch:     three,
		Redundant: 2,
	}
	m := expertModel(model.Gated)
	m.Experts.Hidden = 4
	list := lower(m, fused, p, decode)
	compare(t, list.Of(op.MLPBlock)[8:], times(2, []row{
		product(op.Router, 2*12*8*8, 8*8, 12*(8+8), 0, 12*8, 12, 8, 8), // on whole tokens
		vector(op.GateWeights, 93, 0, 2*93, 93),
		product(op.ExpertNarrow, 2*3*8*4, 8*4, 3*(8+4), 0, 12, 3, 4, 8),
		exchange(op.Dispatch, 48, 2, 4, 2*48*2, 48*2, 3, 2, 4),
		comm(op.SliceGather, hardware.AllGather, 36*4, 2, 2, 0, 0, 0),
		product(op.ExpertGateUp, 2*36*4*4, 9*4*4, 36*(4+4), 0, 36*4, 4, 4, 4),
		vector(op.ExpertActivation, 3*72, 0, 2*72, 72),
		vector(op.ExpertGateMultiply, 72, 0, 2*72, 72),
		product(op.ExpertDown, 2*36*2*4, 9*2*4, 36*(2+4), 0, 36*4, 4, 4, 2),
		comm(op.SliceScatter, hardware.ReduceScatter, 36*4, 2, 2, 0, 0, 0),
		exchange(op.Combine, 48, 2, 4, 2*48*2, 48*2, 3, 2, 4),
		product(op.ExpertWiden, 2*3*4*8, 4*8, 3*(4+8), 0, 24, 3, 8, 4),
		vector(op.ExpertWeighting, 144, 0, 2*144, 144),
		vector(op.MLPResidual, 24, 0, 3*24, 24),
	}))
	// On every card the shared expert stays where it is: 2·4 elements are sent.
	p.SharedPerCard = true
	bytes(t, "message", find(t, lower(m, fused, p, decode), op.Dispatch).Moved, 3*8*7)
}

// TestSparePairs: of two ranks that gather 3 tokens of 2 experts each, one has places for 3 pairs
// that the other computes: zeros of both products, 2·4 and 8 wide, are written and read,
// activations of 4 written. Those of its own are part of the block.
func TestSparePairs(t *testing.T) {
	as := assume.Physical
	as.Imbalance = false
	m := expertModel(model.Gated)
	m.Experts.Routed, m.Experts.Interval = 8, 1
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
		Batch:     three,
		Behaviour: plan.Behaviour{Gathered: true},
	}
	list := physically(as, m, fused, p, decode)
	own := find(t, list, op.ExpertWeighting)
	p.SparePairs = true
	spare := find(t, physically(as, m, fused, p, decode), op.ExpertWeighting)
	bytes(t, "others' places", spare.Moved, 3*(2*(2*4+8)+4)*precision.Activation)
	bytes(t, "all places", spare.Activations, own.Activations+spare.Moved)
	p.Experts, p.Gathered = plan.ExpertSplit{EP: 1, TP: 2, DP: 1}, true
	if cut := find(t, physically(as, m, fused, p, decode), op.ExpertWeighting); cut.Moved != cut.Activations {
		t.Errorf("experts that are cut have places for others: %v of %v bytes", cut.Moved, cut.Activations)
	}
}

// TestGathered: the two tensor-parallel ranks of a replica have all 3 tokens of a decode step and
// add up what their experts make of them: 3·8 elements are reduced, nothing is sent to experts. Of
// the shared expert a rank holds half. Between two data-parallel ranks of one processor the 2·3
// tokens are gathered, and each gets its own back.
func TestGathered(t *testing.T) {
	as := assume.Physical
	as.Imbalance, as.TouchedExperts = false, false
	m := expertModel(model.Gated)
	m.Experts.Routed, m.Experts.Interval = 8, 1
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
		Batch:  three,
	}
	sent := physically(as, m, fused, p, decode)
	p.Gathered = true
	list := physically(as, m, fused, p, decode)
	tokens := find(t, list, op.MLPNorm).Flops / (7 * 8)
	if n := len(only(list, op.Dispatch, op.Combine, op.SliceGather, op.SliceScatter)); n != 0 {
		t.Errorf("%d exchanges", n)
	}
	o := find(t, list, op.MLPAllReduce)
	bytes(t, "reduced", o.Moved, tokens*8*precision.Comm)
	if o.Collective != hardware.AllReduce || o.Group != 2 {
		t.Errorf("reduced by %v over %d", o.Collective, o.Group)
	}
	// 4 routed experts, and half of the shared one. Where tokens are sent, that is a block of its
	// own: 3 tokens over 2 processors, 8 · 4 and 4 · 8 elements or twice as many of a gate, whole
	// on each.
	whole := find(t, sent, op.ExpertDown).Resident
	bytes(t, "experts of a rank", find(t, list, op.ExpertDown).Resident, whole*4.5/4)
	if len(only(list, op.SharedDown)) != 0 {
		t.Error("a shared expert of its own among gathered tokens")
	}
	up, down := find(t, sent, op.SharedGateUp), find(t, sent, op.SharedDown)
	bytes(t, "shared expert", up.Resident+down.Resident, (whole+find(t, sent, op.ExpertGateUp).Resident)/4)
	if want := find(t, sent, op.Router).M / 2; up.M != want || down.M != want {
		t.Errorf("%v and %v tokens in the shared expert, want %v", up.M, down.M, want)
	}

	p.Attention = plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}
	list = physically(as, m, fused, p, decode)
	tokens = find(t, list, op.MLPNorm).Flops / (7 * 8)
	for kind, collective := range map[op.Kind]hardware.Collective{op.Dispatch: hardware.AllGather, op.Combine: hardware.ReduceScatter} {
		o := find(t, list, kind)
		bytes(t, kind.String(), o.Moved, 2*tokens*8*precision.Comm)
		if o.Collective != collective || o.Group != 2 {
			t.Errorf("%s by %v over %d", kind, o.Collective, o.Group)
		}
	}
	// By an all-reduce of the same buffer: only with prompts, and only where the engine does so.
	p.Reduced = plan.PromptSteps
	prompts := op.Group{Phase: op.Prefill, New: 10, Context: 10, Ends: true}
	for _, c := range []struct {
		group      op.Group
		collective hardware.Collective
	}{{decode, hardware.AllGather}, {prompts, hardware.AllReduce}} {
		list = physically(as, m, fused, p, c.group)
		tokens = find(t, list, op.MLPNorm).Flops / (7 * 8)
		o := find(t, list, op.Dispatch)
		bytes(t, "gathered tokens", o.Moved, 2*tokens*8*precision.Comm)
		if back := find(t, list, op.Combine).Collective; o.Collective != c.collective || (back == hardware.AllReduce) != (c.collective == hardware.AllReduce) {
			t.Errorf("tokens come by %v and go by %v, want %v", o.Collective, back, c.collective)
		}
	}
}

// TestLeadingDense: of 6 layers the first 2 are dense. One stage has 4 of experts; of four stages
// the fullest has 2 layers, and all but the first have experts throughout. The reference tool knows
// none of it.
func TestLeadingDense(t *testing.T) {
	m := expertModel(model.Gated)
	m.Experts.Interval, m.FirstDense = 1, 2
	for _, c := range []struct {
		as             assume.Assumptions
		pp             int
		dense, experts float64
	}{{assume.Physical, 1, 2, 4}, {assume.Physical, 2, 0, 3}, {assume.Physical, 4, 0, 2}, {assume.Reference, 1, 0, 6}, {assume.Reference, 4, 0, 2}} {
		p := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: c.pp, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, SharedReplicas: 4, Pipelined: c.as.Pipelined},
			Batch:  three,
		}
		var dense, experts float64
		for _, o := range physically(c.as, m, fused, p, decode).All() {
			switch o.Kind {
			case op.GateUp:
				dense = o.Repeat
			case op.ExpertGateUp:
				experts = o.Repeat
			}
		}
		if dense != c.dense || experts != c.experts {
			t.Errorf("%s, pp %d: %v dense and %v expert layers, want %v and %v", c.as.Name, c.pp, dense, experts, c.dense, c.experts)
		}
	}
}
