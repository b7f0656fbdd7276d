package op_test

import (
	"math"
	"slices"
	"testing"

	"throughline/assume"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestMamba: 4 heads of 3 elements with a state of 2 each, in 2 groups that share B and C, on two
// ranks: 2 heads and one group each. x, B and C are 6 + 2 + 2 = 10 wide; with the gate, 6, and the
// step of each head, 2, the input is projected to 18. The state of a sequence is 2·3·2 elements and
// 3 tokens of 10, of 4 bytes, read and written: 2·3·168/5 cached elements. The norm is over a group
// of heads.
func TestMamba(t *testing.T) {
	m := dense(model.Attention{Kind: model.Mamba, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, model.Plain)
	compare(t, physically(bare, m, fused, twoRanks, decode).Of(op.AttentionBlock), times(2, []row{
		inputNorm3,
		product(op.LinearInput, 2*3*8*18, 8*18, 3*(8+18), 0, 3*18, 3, 18, 8),
		vector(op.ShortConvolution, 8*30, 0, 2*30, 30),
		product(op.LinearState, 3*2*4*6, 0, 3*(10+6), 2*3*168.0/5, 18, 3, 3, 2),
		vector(op.LinearNorm, 7*18, 6, 2*18, 18),
		vector(op.AttentionGateMultiply, 18, 0, 3*18, 18),
		product(op.OutputProjection, 2*3*6*8, 6*8, 3*(6+8), 0, 24, 3, 8, 6), reduce3, residual3,
	}))
	// 64 tokens of a chunk, 2·2 + 2·3 each, and 4·6 for the state: 664 per head.
	compare(t, only(physically(bare, m, fused, twoRanks, prefill), op.LinearState), times(2, []row{
		product(op.LinearState, 12*2*664, 0, 12*(10+6), 2*3*168.0/5, 72, 12, 3, 2),
	}))
	// Engines make no gates of it in a kernel of their own, and a state that a context of a million
	// tokens does not grow.
	if n := len(only(physically(assume.Physical, m, fused, twoRanks, decode), op.LinearGates)); n != 0 {
		t.Errorf("%d kernels of gates", n)
	}
	if got, want := m.CacheBytes(2, 1e6, 2), m.CacheBytes(2, 1, 2); got != want {
		t.Errorf("%v bytes after a million tokens, %v after one", got, want)
	}
}

// TestKimiDelta: on two ranks 2 of 4 heads of 2 elements; queries, keys and values 4 wide each. A
// decay for each channel goes through a rank of 5, the output gate through one of 3, which both
// ranks have all of: 12 + 2 for the strengths + 5 + 3 = 22.
func TestKimiDelta(t *testing.T) {
	m := dense(model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 4, HeadDim: 2, DecayRank: 5, GateRank: 3}, model.Gated)
	list := physically(assume.Physical, m, fused, twoRanks, decode)
	compare(t, only(list, op.LinearInput, op.LinearDecay, op.LinearGate), times(2, []row{
		product(op.LinearInput, 2*3*8*22, 8*22, 3*(8+22), 0, 3*22, 3, 22, 8),
		product(op.LinearDecay, 2*3*5*4, 5*4, 3*(5+4), 0, 3*4, 3, 4, 5),
		product(op.LinearGate, 2*3*3*4, 3*4, 3*(3+4), 0, 3*4, 3, 4, 3),
	}))
	// Two decays and one strength of each head are widened from 3 bytes to 4.
	bytes(t, "gates", find(t, list, op.LinearGates).Moved, 3*2*3*(3+4))
}

// TestMixerOnly: of 6 layers 2 have no feed-forward block. A stage of 3 has two with one, so that
// none is too light.
func TestMixerOnly(t *testing.T) {
	m := groupQuery()
	m.Layers, m.MixerOnly = 6, 2
	list := physically(assume.Physical, m, fused, oneRank, decode)
	if a, f := find(t, list, op.QKV).Repeat, find(t, list, op.Down).Repeat; a != 3 || f != 2 {
		t.Errorf("%v times attention and %v feed-forward blocks", a, f)
	}
}

// TestCapsAndPostNorms: norms behind both blocks, of 3·8 elements; three kernels over the logits of
// 3 tokens; three operations on each of the 3·4·10 scores besides the five of softmax.
func TestCapsAndPostNorms(t *testing.T) {
	m := groupQuery()
	m.PostNorms, m.LogitCap, m.Attention.ScoreCap, m.Vocab = true, true, true, 10
	list := physically(assume.Physical, m, fused, oneRank, decode)
	compare(t, only(list, op.AttentionPostNorm, op.MLPPostNorm, op.Softmax), times(2, []row{
		vector(op.Softmax, 8*3*4*10, 0, 0, 0),
		vector(op.AttentionPostNorm, 7*24, 8, 2*24, 24), vector(op.MLPPostNorm, 7*24, 8, 2*24, 24),
	}))
	l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
	var ends op.List
	l.Ends(&oneRank, batch(&l, m, &oneRank, decode), &ends)
	compare(t, only(&ends, op.LogitCap), times(3, []row{vector(op.LogitCap, 30, 0, 60, 30)}))
}

// wholeModel is a step of one sequence on one processor, all weights of two bytes.
func wholeModel(t *testing.T, m *model.Model, set *model.Settings, g op.Group) (weights, flops, state float64) {
	t.Helper()
	bytes := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2}
	as := bare
	as.TouchedExperts, as.Imbalance = false, false
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, SharedPerCard: true, Pipelined: true},
		Batch:  plan.Batch{Count: 1, Size: 1},
	}
	l := op.NewLowerer(m, set, &bytes, &as)
	for _, lower := range []func(*plan.Plan, *op.Step, *op.List){l.Stage, l.Ends} {
		var list op.List
		lower(&p, batch(&l, m, &p, g), &list)
		for _, o := range list.All() {
			weights += o.Repeat * o.Resident / 2
			if o.Class == op.Linear {
				flops += o.Repeat * o.Flops
			}
			if o.Kind == op.LinearState {
				state += o.Repeat * o.Cache / 2
			}
		}
	}
	return weights, flops, state
}

// TestOperatorsHoldAllParameters: what the operators of every built-in model hold are its
// parameters, and products with weights take two operations for each parameter that a token uses:
// no operator is missing. Filters of convolutions and what else belongs to no product, norm or
// embedding are less than a thousandth.
func TestOperatorsHoldAllParameters(t *testing.T) {
	for _, name := range model.Catalogue.Names() {
		m, set := builtin.Model(t, name)
		set.Redundant, set.SharedReplicas, set.SharedPerCard = 0, m.Experts.Shared, m.Experts.Shared > 0
		weights, flops, state := wholeModel(t, m, set, op.Group{Phase: op.Decode, New: 1, Context: 1})
		total, active := m.Params()
		mixing := 2 * float64(m.Layers) * m.MixParams()
		if off := (weights - 2*mixing - total) / total; math.Abs(off) > 1e-3 {
			t.Errorf("%s: operators hold %.4g B, of %.4g B parameters (%+.2f%%)", name, weights/1e9, total/1e9, 100*off)
		}
		if !m.Tied {
			active -= m.EmbeddingParams() // looked up, not multiplied
		}
		if off := (flops/2 - mixing - active) / active; math.Abs(off) > 1e-3 {
			t.Errorf("%s: a token is multiplied with %.4g B, of %.4g B active parameters (%+.2f%%)", name, flops/2e9, active/1e9, 100*off)
		}
		var states float64
		for kind, layers := range m.AttentionLayers(m.Layers) {
			if a := m.AttentionOf(kind); a.IsLinear() && a.Kind != model.ShortConv {
				states += float64(layers) * a.State(1)
			}
		}
		if state != states {
			t.Errorf("%s: a step reads a state of %v bytes, a sequence has %v", name, state, states)
		}
	}
}

// TestLinearInputs: queries, keys, values and output gate of gated delta attention in one product,
// with the gates of heads apart, or all four apart; together they have the same weights.
func TestLinearInputs(t *testing.T) {
	m, set := builtin.Model(t, "Qwen3-Next-80B-A3B")
	// Keys and queries of 16 heads and values and gate of 32, 128 wide each, and two gates of each
	// of the 32.
	const mixed, gate, heads = 2*16*128 + 32*128, 32 * 128, 32
	for inputs, want := range map[int][]float64{0: {mixed + gate + 2*heads}, 2: {mixed + gate, 2 * heads}, 4: {mixed, gate, heads, heads}} {
		p := oneRank
		p.Experts, p.SharedPerCard = plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, true
		p.LinearInputs = inputs
		l := op.NewLowerer(m, set, &precision, &assume.Physical)
		var list op.List
		l.Stage(&p, batch(&l, m, &p, decode), &list)
		var got []float64
		for _, o := range list.All() {
			if o.Kind == op.LinearInput || o.Kind == op.LinearHeadGates {
				got = append(got, o.N)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d inputs: %g wide, want %g", inputs, got, want)
		}
	}
}
