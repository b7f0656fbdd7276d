package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// expertModel has 8 routed experts of width 4 in every second layer; a token visits 2 of them and
// the shared one. The experts have room for half as many tokens more. Of the 6 layers a stage has
// 3: 2 of experts, 1 dense.
func expertModel(kind model.MLPKind) *model.Model {
	return &model.Model{
		Hidden: 8, Layers: 6, FeedForward: 16, MLP: kind,
		Attention: model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2},
		Experts:   model.Experts{Routed: 8, TopK: 2, Shared: 1, Width: 4, CapacityFactor: 1.5, Interval: 2},
	}
}

// TestExperts: 4 processors, 3 sequences on each, so 12 in the attention batch. Two groups of
// experts, each cut into two slices of width 2: 8 + 2 redundant + 4 shared replicas are 7 on a
// processor. The experts of a processor see 3·3 visits·2 slices·1.5 = 27 tokens; 3·3·8 = 72
// elements leave it.
func TestExperts(t *testing.T) {
	p := plan.Plan{
		Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4},
		Batch:     three,
		Redundant: 2,
	}
	t.Run("decode", func(t *testing.T) {
		list := lower(expertModel(model.Gated), model.Settings{Flash: true}, p, decode)
		compare(t, list.Of(op.MLPBlock), append(
			times(1, []row{norm12}, gatedHalf12),
			times(2, []row{
				norm3,
				product(op.Router, 2*12*8*8, 8*8, 12*(8+8), 0, 12*8, 12, 8, 8), // on the tokens of attention
				vector(op.GateWeights, 93, 0, 2*93, 93),                        // 31 each
				exchange(op.Dispatch, 72, 2, 4, 2*72*2, 72*2, 3, 2, 8),
				comm(op.SliceGather, hardware.AllGather, 27*8, 2, 2, 0, 0, 0),
				product(op.ExpertGateUp, 2*27*8*4, 7*8*4, 27*(8+4), 0, 27*4, 27.0/7, 4, 8),
				vector(op.ExpertActivation, 3*54, 0, 2*54, 54),
				vector(op.ExpertGateMultiply, 54, 0, 2*54, 54),
				product(op.ExpertDown, 2*27*2*8, 7*2*8, 27*(2+8), 0, 27*8, 27.0/7, 8, 2),
				comm(op.SliceScatter, hardware.ReduceScatter, 27*8, 2, 2, 0, 0, 0),
				exchange(op.Combine, 72, 2, 4, 2*72*2, 72*2, 3, 2, 8),
				vector(op.ExpertWeighting, 216, 0, 2*216, 216),
				vector(op.MLPResidual, 24, 0, 3*24, 24),
			})...))
	})
	// 4 tokens of each sequence, 12 on a processor, 48 in attention; 108 for the experts. Plain
	// experts.
	t.Run("plain prefill", func(t *testing.T) {
		list := lower(expertModel(model.Plain), model.Settings{Flash: true}, p, prefill)
		compare(t, list.Of(op.MLPBlock), append(
			times(1, []row{
				vector(op.MLPNorm, 7*384, 8, 2*384, 384),
				product(op.Up, 2*48*8*8, 8*8, 48*(8+8), 0, 384, 48, 8, 8),
				vector(op.Activation, 8*384, 0, 2*384, 384),
				product(op.Down, 2*48*8*8, 8*8, 48*(8+8), 0, 384, 48, 8, 8),
				comm(op.MLPAllReduce, hardware.AllReduce, 384, 2, 2, 192, 768, 384),
				vector(op.MLPResidual, 384, 0, 3*384, 384),
			}),
			times(2, []row{
				norm12,
				product(op.Router, 2*48*8*8, 8*8, 48*(8+8), 0, 48*8, 48, 8, 8),
				vector(op.GateWeights, 372, 0, 2*372, 372),
				exchange(op.Dispatch, 288, 2, 4, 2*288*2, 288*2, 12, 2, 8),
				comm(op.SliceGather, hardware.AllGather, 108*8, 2, 2, 0, 0, 0),
				product(op.ExpertUp, 2*108*8*2, 7*8*2, 108*(8+2), 0, 108*2, 108.0/7, 2, 8),
				vector(op.ExpertActivation, 8*216, 0, 2*216, 216),
				product(op.ExpertDown, 2*108*2*8, 7*2*8, 108*(2+8), 0, 108*8, 108.0/7, 8, 2),
				comm(op.SliceScatter, hardware.ReduceScatter, 108*8, 2, 2, 0, 0, 0),
				exchange(op.Combine, 288, 2, 4, 2*288*2, 288*2, 12, 2, 8),
				vector(op.ExpertWeighting, 864, 0, 2*864, 864),
				vector(op.MLPResidual, 96, 0, 3*96, 96),
			})...))
	})
	// The shared expert on every card: (8 + 2)/4 does not divide, so 12 routed and redundant in 4
	// groups: 3 and 1 shared. The experts are whole: no slices, 3·3·1.5 = 13.5 tokens; only 3·2·8 =
	// 48 elements leave a processor.
	t.Run("shared per card, whole experts", func(t *testing.T) {
		p := p
		p.Experts, p.Redundant, p.SharedPerCard = plan.ExpertSplit{EP: 4, TP: 1, DP: 1}, 4, true
		list := lower(expertModel(model.Gated), model.Settings{Flash: true}, p, decode)
		compare(t, list.Of(op.MLPBlock)[7:], times(2, []row{
			norm3,
			product(op.Router, 2*12*8*8, 8*8, 12*(8+8), 0, 12*8, 12, 8, 8),
			vector(op.GateWeights, 93, 0, 2*93, 93),
			exchange(op.Dispatch, 48, 4, 4, 2*48*4, 48*4, 3, 2, 8),
			product(op.ExpertGateUp, 2*13.5*8*8, 4*8*8, 13.5*(8+8), 0, 13.5*8, 13.5/4, 8, 8),
			vector(op.ExpertActivation, 3*54, 0, 2*54, 54),
			vector(op.ExpertGateMultiply, 54, 0, 2*54, 54),
			product(op.ExpertDown, 2*13.5*4*8, 4*4*8, 13.5*(4+8), 0, 13.5*8, 13.5/4, 8, 4),
			exchange(op.Combine, 48, 4, 4, 2*48*4, 48*4, 3, 2, 8),
			vector(op.ExpertWeighting, 108, 0, 2*108, 108),
			vector(op.MLPResidual, 24, 0, 3*24, 24),
		}))
	})
	t.Run("every layer", func(t *testing.T) {
		m := expertModel(model.Gated)
		m.Experts.Interval = 1
		list := lower(m, model.Settings{Flash: true}, p, decode)
		for _, o := range list.All() {
			if o.Repeat != 3 || o.Kind == op.GateUp {
				t.Errorf("%s in %v layers; all 3 have experts", o.Kind, o.Repeat)
			}
		}
	})
}

// TestContextParallel: a prompt of 4 tokens in 3 parts: of the 12 tokens of 3 sequences each part
// computes 4. All keys and values come by: each part is sent on twice, 4 tokens of keys and values.
func TestContextParallel(t *testing.T) {
	whole := op.Group{Phase: op.Prefill, New: 4, Context: 4}
	t.Run("group-query", func(t *testing.T) {
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 1, CP: 3}}, Batch: three}
		m := groupQuery()
		m.Attention.Gated = false
		ring := comm(op.RingExchange, hardware.PointToPoint, 4*2*4, 3, 3, 0, 0, 0)
		ring.repeat = 2 * 2
		compare(t, lower(m, model.Settings{Flash: true}, p, whole).All(), times(2, []row{
			vector(op.InputNorm, 7*32, 8, 2*32, 32),
			product(op.QKV, 2*4*8*16, 8*16, 4*(8+16), 0, 4*16, 4, 16, 8),
			vector(op.QueryHeadNorm, 7*32, 2, 2*32, 32),
			vector(op.KeyHeadNorm, 7*16, 2, 2*16, 16),
			ring,
			// 4 tokens, 4 heads, 4 of context: 64 scores. Keys and values of 3 whole sequences of
			// 4, 4 wide.
			product(op.FusedAttention, 4*64*2, 0, 32+32, 48+48, 32, 4, 4, 2),
			vector(op.Softmax, 5*64, 0, 0, 0),
			product(op.OutputProjection, 2*4*8*8, 8*8, 4*(8+8), 0, 32, 4, 8, 8),
			vector(op.AttentionResidual, 32, 0, 3*32, 32),
			vector(op.MLPNorm, 7*32, 8, 2*32, 32),
			product(op.GateUp, 2*4*8*32, 8*32, 4*(8+32), 0, 4*32, 4, 32, 8),
			vector(op.Activation, 3*64, 0, 2*64, 64),
			vector(op.GateMultiply, 64, 0, 3*64, 64),
			product(op.Down, 2*4*16*8, 16*8, 4*(16+8), 0, 32, 4, 8, 16),
			vector(op.MLPResidual, 32, 0, 3*32, 32),
		}))
	})
	// The latent and the rotary key are passed on, 4 + 1 elements; the ranks of two tensor-parallel
	// ones lie between.
	t.Run("latent", func(t *testing.T) {
		m := dense(model.Attention{Kind: model.Latent, Heads: 4, QueryRank: 6, KVRank: 4, NopeDim: 3, RopeDim: 1, ValueDim: 5}, model.Gated)
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 3}}, Batch: three}
		ring := comm(op.RingExchange, hardware.PointToPoint, 4*5, 3, 6, 0, 0, 0)
		ring.repeat = 2 * 2
		list := lower(m, model.Settings{Absorb: true, Flash: true}, p, whole)
		compare(t, only(list, op.RingExchange), []row{ring})
	})
	// Of a prompt of 9 tokens 3 are cached, by all three parts alike. Each part computes 3·6/3 = 6
	// tokens, but sends on the keys and values of its share of the whole context, 3·9/3 = 9 tokens.
	t.Run("cached", func(t *testing.T) {
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 1, CP: 3}}, Batch: three}
		ring := comm(op.RingExchange, hardware.PointToPoint, 9*2*4, 3, 3, 0, 0, 0)
		ring.repeat = 2 * 2
		list := lower(groupQuery(), model.Settings{Flash: true}, p, op.Group{Phase: op.Prefill, New: 6, Context: 9})
		compare(t, only(list, op.RingExchange, op.OutputProjection), append(
			[]row{ring}, times(2, []row{product(op.OutputProjection, 2*6*8*8, 8*8, 6*(8+8), 0, 48, 6, 8, 8)})...))
	})
	// In an expert model 3 sequences on a processor are 3·2·3 = 18 in attention, so 18·4/3 = 24
	// tokens in a part, and 12 in the experts of a processor.
	t.Run("experts", func(t *testing.T) {
		p := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 3}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 3}, SharedReplicas: 4},
			Batch:  three,
		}
		list := lower(expertModel(model.Gated), model.Settings{Flash: true}, p, whole)
		compare(t, only(list, op.OutputProjection, op.Router, op.Dispatch), append(
			times(6, []row{product(op.OutputProjection, 2*24*4*8, 4*8, 24*(4+8), 0, 24*8, 24, 8, 4)}),
			times(3, []row{
				product(op.Router, 2*24*8*8, 8*8, 24*(8+8), 0, 24*8, 24, 8, 8),
				exchange(op.Dispatch, 288, 2, 2, 2*288*2, 288*2, 12, 2, 8),
			})...))
	})
}

// TestSequenceParallel: of 4 tokens each of two ranks normalises 2, 16 elements. All 32 are
// gathered in front of the tensor-parallel parts, and added up and scattered behind them.
func TestSequenceParallel(t *testing.T) {
	m := dense(model.Attention{Kind: model.MultiHead, Heads: 4, KVHeads: 4, HeadDim: 2}, model.Plain)
	four := plan.Batch{Count: 1, Size: 4}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, SequenceParallel: true}, Batch: four}
	compare(t, lower(m, model.Settings{Flash: true}, p, decode).All(), times(2, []row{
		vector(op.InputNorm, 7*16, 8, 2*16, 16),
		comm(op.AttentionGather, hardware.AllGather, 32, 2, 2, 0, 16+32, 32),
		product(op.QKV, 2*4*8*12, 8*12, 4*(8+12), 0, 4*12, 4, 12, 8),
		// 4 tokens, 2 heads, 10 of context: 80 scores; keys and values of 4 sequences of 10, 4
		// wide.
		product(op.FusedAttention, 4*80*2, 0, 16+16, 160+160, 16, 4, 10, 2),
		vector(op.Softmax, 5*80, 0, 0, 0),
		product(op.OutputProjection, 2*4*4*8, 4*8, 4*(4+8), 0, 32, 4, 8, 4),
		comm(op.AttentionScatter, hardware.ReduceScatter, 32, 2, 2, 16, 32+16, 16),
		vector(op.AttentionResidual, 16, 0, 3*16, 16),
		vector(op.MLPNorm, 7*16, 8, 2*16, 16),
		comm(op.MLPGather, hardware.AllGather, 32, 2, 2, 0, 16+32, 32),
		product(op.Up, 2*4*8*8, 8*8, 4*(8+8), 0, 32, 4, 8, 8),
		vector(op.Activation, 8*32, 0, 2*32, 32),
		product(op.Down, 2*4*8*8, 8*8, 4*(8+8), 0, 32, 4, 8, 8),
		comm(op.MLPScatter, hardware.ReduceScatter, 32, 2, 2, 16, 32+16, 16),
		vector(op.MLPResidual, 16, 0, 3*16, 16),
	}))

	t.Run("prefill in two parts", func(t *testing.T) {
		// 4 sequences of 4 tokens in two parts: 8 tokens, 64 elements; 32 between the parts of each
		// rank.
		p := p
		p.Attention.CP = 2
		list := lower(m, model.Settings{Flash: true}, p, op.Group{Phase: op.Prefill, New: 4, Context: 4})
		compare(t, only(list, op.InputNorm, op.AttentionGather, op.AttentionScatter, op.AttentionResidual), times(2, []row{
			vector(op.InputNorm, 7*32, 8, 2*32, 32),
			comm(op.AttentionGather, hardware.AllGather, 64, 2, 2, 0, 32+64, 64),
			comm(op.AttentionScatter, hardware.ReduceScatter, 64, 2, 2, 32, 64+32, 32),
			vector(op.AttentionResidual, 32, 0, 3*32, 32),
		}))
	})
	t.Run("one rank", func(t *testing.T) {
		p := p
		p.Attention.TP = 1
		for _, o := range lower(m, model.Settings{Flash: true}, p, decode).All() {
			if o.Class == op.Comm {
				t.Errorf("%s with one rank", o.Kind)
			}
		}
	})
}

// TestDraft: the hidden state and an embedding, 16 elements of 3 tokens, become 8; then comes one
// layer, whatever the tokens of the step that verifies the drafts.
func TestDraft(t *testing.T) {
	m := groupQuery()
	l := op.NewLowerer(m, &model.Settings{Flash: true}, &precision, &assume.Reference)
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 1, CP: 1}, Drafts: 2}, Batch: three}
	var list op.List
	l.Draft(&p, batch(&l, m, &p, op.Group{Phase: op.Decode, New: 3, Context: 10}), &list)
	compare(t, list.All(), times(1, []row{
		product(op.DraftProjection, 2*3*16*8, 16*8, 3*(16+8), 0, 24, 3, 8, 16),
		inputNorm3,
		product(op.QKV, 2*3*8*16, 8*16, 3*(8+16), 0, 3*16, 3, 16, 8),
		vector(op.QueryHeadNorm, 7*24, 2, 2*24, 24),
		vector(op.KeyHeadNorm, 7*12, 2, 2*12, 12),
		product(op.FusedAttention, 4*120*2, 0, 24+24, 120+120, 24, 3, 10, 2),
		vector(op.Softmax, 5*120, 0, 0, 0),
		product(op.AttentionGate, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8),
		vector(op.AttentionGateSigmoid, 2*24, 0, 2*24, 24),
		vector(op.AttentionGateMultiply, 24, 0, 3*24, 24),
		product(op.OutputProjection, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8), residual3,
		norm3,
		product(op.GateUp, 2*3*8*32, 8*32, 3*(8+32), 0, 3*32, 3, 32, 8),
		vector(op.Activation, 3*48, 0, 2*48, 48),
		vector(op.GateMultiply, 48, 0, 3*48, 48),
		product(op.Down, 2*3*16*8, 16*8, 3*(16+8), 0, 24, 3, 8, 16),
		vector(op.MLPResidual, 24, 0, 3*24, 24),
	}))
	if n := len(list.Of(op.AttentionBlock)); n != 12 {
		t.Errorf("%d operators in the attention block, want 12: the projection belongs to it", n)
	}

	// The one layer of a model with experts in every second has experts.
	m = expertModel(model.Gated)
	l = op.NewLowerer(m, &model.Settings{Flash: true}, &precision, &assume.Reference)
	p.Experts, p.SharedReplicas = plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, 4
	l.Draft(&p, batch(&l, m, &p, decode), &list)
	if n := len(only(&list, op.GateUp)); n != 0 {
		t.Error("the draft layer is dense")
	}
	// 3 on each of the 2 processors of a replica: 6 tokens through attention, 3·3·8 = 72 elements
	// from a processor.
	compare(t, only(&list, op.DraftProjection, op.Dispatch), times(1, []row{
		product(op.DraftProjection, 2*6*16*8, 16*8, 6*(16+8), 0, 48, 6, 8, 16),
		exchange(op.Dispatch, 72, 2, 2, 2*72*2, 72*2, 3, 2, 8),
	}))
}
