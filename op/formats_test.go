package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestModules: a small expert model whose attention has 8 bits, experts four with scales, and the
// rest 16. Products read weights and inputs of their module and write 2 bytes; what lies between
// them has 2.
func TestModules(t *testing.T) {
	m := &model.Model{
		Name: "modules", Hidden: 8, Layers: 1, Vocab: 100,
		Attention: model.Attention{Kind: model.GroupQuery, Heads: 2, KVHeads: 1, HeadDim: 4},
		Experts:   model.Experts{Routed: 4, TopK: 2, Shared: 1, Width: 6, CapacityFactor: 1, Interval: 1},
	}
	prec := plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 2, Residual: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"}
	prec.Modules[model.ExpertModule] = plan.Product{Weight: 0.5, Activation: 2, Type: "bfloat16"}
	prec.Modules[model.SharedModule] = plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}
	prec.Modules[model.EndModule] = plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}
	as := assume.Physical
	as.TouchedExperts, as.Imbalance = false, false
	l := op.NewLowerer(m, &model.Settings{Flash: true}, &prec, &as)
	p := &plan.Plan{
		Layout: plan.Layout{
			Attention: plan.Split{DP: 1, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1},
			SharedPerCard: true, SharedReplicas: 1, Pipelined: true,
		},
		Batch:     plan.Batch{Count: 1, Size: 3},
		Behaviour: plan.Behaviour{Gathered: true},
	}
	var step op.Step
	l.Add(&step, &op.Group{Phase: op.Decode, Sequences: 3, New: 1, Context: 10})
	var list op.List
	l.Stage(p, &step, &list)
	found := map[op.Kind]op.Op{}
	for _, o := range list.All() {
		found[o.Kind] = o
	}
	l.Ends(p, &step, &list)
	for _, o := range list.All() {
		found[o.Kind] = o
	}
	const tokens = 3.
	for _, c := range []struct {
		kind                 op.Kind
		module               model.Module
		weights, activations float64
	}{
		{op.InputNorm, model.AttentionModule, 8 * 2, 2 * tokens * 8 * 2},
		{op.QKV, model.AttentionModule, 8 * 16 * 1, tokens * (8*1 + 16*2)},
		{op.OutputProjection, model.AttentionModule, 8 * 8 * 1, tokens * (8*1 + 8*2)},
		{op.AttentionResidual, model.AttentionModule, 0, 3 * tokens * 8 * 2},
		{op.Router, model.EndModule, 8 * 4 * 2, tokens * (8 + 4) * 2},
		// Four experts of half a byte and a shared one of two bytes, which is as much as four: 8 of
		// 8 × 12.
		{op.ExpertGateUp, model.ExpertModule, 8 * 8 * 12 * 0.5, tokens * 3 * (8 + 12) * 2},
		{op.ExpertDown, model.ExpertModule, 8 * 6 * 8 * 0.5, tokens * 3 * (6 + 8) * 2},
		{op.OutputHead, model.EndModule, 8 * 100 * 2, tokens * (8 + 100) * 2},
		{op.FinalNorm, model.AttentionModule, 8 * 2, 2 * tokens * 8 * 2},
	} {
		o, ok := found[c.kind]
		if !ok {
			t.Errorf("no %s", c.kind)
			continue
		}
		if o.Module != c.module || o.Weights != c.weights || o.Activations != c.activations {
			t.Errorf("%s: module %v, %g weights, %g activations; want %v, %g, %g", c.kind, o.Module, o.Weights, o.Activations, c.module, c.weights, c.activations)
		}
	}
	if e := found[op.Embedding]; e.Resident != 8*100*2 {
		t.Errorf("an embedding of %g bytes", e.Resident)
	}
}

// TestNothingEnds: of a chunk of a prompt that does not end no token is wanted. Its last norm has
// no rows, and still a number.
func TestNothingEnds(t *testing.T) {
	m := &model.Model{Hidden: 8, Layers: 1, FeedForward: 8, Vocab: 10, Attention: model.Attention{Kind: model.MultiHead, Heads: 2, KVHeads: 2, HeadDim: 4}}
	prec := plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 1}
	l := op.NewLowerer(m, &model.Settings{}, &prec, &assume.Physical)
	var step op.Step
	l.Add(&step, &op.Group{Phase: op.Prefill, Sequences: 1, New: 4, Context: 4})
	var list op.List
	l.Ends(&plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}}}, &step, &list)
	for _, o := range list.All() {
		if o.Kind == op.FinalNorm && o.Rows != 1 {
			t.Errorf("a norm of %g rows", o.Rows)
		}
	}
}
