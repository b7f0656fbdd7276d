package op_test

import (
	"math"
	"testing"
	"unsafe"

	"throughline/assume"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// A weight takes 2 bytes, an activation 3, a cached element 5, a sent one 7: a number in the wrong
// place shows.
var precision = plan.Precision{Weight: 2, Activation: 3, Cache: 5, Comm: 7}

// row is what an operator must do. Sizes are in elements.
type row struct {
	kind                                op.Kind
	flops                               float64
	weights, activations, cache, output float64
	m, n, k                             float64
	collective                          hardware.Collective
	message                             float64
	group, span                         int32
	repeat                              float64
}

// A product with weights or with the cache; a vector operator; a communication.
func product(kind op.Kind, flops, weights, activations, cache, output, m, n, k float64) row {
	return row{kind: kind, flops: flops, weights: weights, activations: activations, cache: cache, output: output, m: m, n: n, k: k}
}

func vector(kind op.Kind, flops, weights, activations, output float64) row {
	return row{kind: kind, flops: flops, weights: weights, activations: activations, output: output}
}

func comm(kind op.Kind, c hardware.Collective, message float64, group, span int32, flops, activations, output float64) row {
	return row{
		kind: kind, collective: c, message: message, group: group, span: span,
		flops: flops, activations: activations, output: output,
	}
}

// An exchange of tokens of a width, each of which visits topk experts.
func exchange(kind op.Kind, message float64, group, span int32, activations, output, tokens, topk, width float64) row {
	r := comm(kind, hardware.AllToAll, message, group, span, 0, activations, output)
	r.m, r.n, r.k = tokens, topk, width
	return r
}

func times(repeat float64, parts ...[]row) []row {
	var out []row
	for _, rows := range parts {
		for _, r := range rows {
			if r.repeat == 0 {
				r.repeat = repeat
			}
			out = append(out, r)
		}
	}
	return out
}

func compare(t *testing.T, got []op.Op, want []row) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d operators, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, w := &got[i], &want[i]
		message := 0.0
		if g.Class == op.Comm {
			message = g.Moved
		}
		if g.Kind != w.kind {
			t.Fatalf("operator %d is %q, want %q", i, g.Kind, w.kind)
		}
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"flops", g.Flops, w.flops}, {"weight bytes", g.Weights, 2 * w.weights},
			{"activation bytes", g.Activations, 3 * w.activations}, {"cache bytes", g.Cache, 5 * w.cache},
			{"bytes of result", g.Output, 3 * w.output}, {"message bytes", message, 7 * w.message},
			{"rows", g.M, w.m}, {"columns", g.N, w.n}, {"inner size", g.K, w.k}, {"repetitions", g.Repeat, w.repeat},
		} {
			if math.Abs(c.got-c.want) > 1e-12*math.Abs(c.want) {
				t.Errorf("%s: %v %s, want %v", g.Kind, c.got, c.what, c.want)
			}
		}
		if g.Group != w.group || g.Span != w.span || g.Collective != w.collective {
			t.Errorf("%s: collective %d in a group of %d within %d, want %d, %d, %d", g.Kind, g.Collective, g.Group, g.Span, w.collective, w.group, w.span)
		}
	}
}

// batch is a step of the sequences of a plan, all alike.
func batch(l *op.Lowerer, m *model.Model, p *plan.Plan, g op.Group) *op.Step {
	g.Sequences = float64(p.Sequences(m.IsMoE()))
	var s op.Step
	l.Add(&s, &g)
	return &s
}

func lower(m *model.Model, set model.Settings, p plan.Plan, g op.Group) *op.List {
	l := op.NewLowerer(m, &set, &precision, &assume.Reference)
	var list op.List
	l.Stage(&p, batch(&l, m, &p, g), &list)
	return &list
}

// Three sequences in all tests of attention. A decode step has one token each, 3 tokens, which
// attend to 10. A prefill has 4 new tokens of 5, the first being cached: 12 tokens, which attend to
// 5.
var (
	decode  = op.Group{Phase: op.Decode, New: 1, Context: 10}
	prefill = op.Group{Phase: op.Prefill, New: 4, Context: 5, Ends: true}
	three   = plan.Batch{Count: 1, Size: 3}
)

// Hidden width 8 and feed-forward width 16 in all of them. Three layers over two stages are two in
// the fuller one.
func dense(a model.Attention, kind model.MLPKind) *model.Model {
	return &model.Model{Hidden: 8, Layers: 3, FeedForward: 16, Attention: a, MLP: kind}
}

// What is the same in several tests: norms and residuals of 3·8 or 12·8 elements, and for two
// tensor-parallel ranks the all-reduce of as many, and the feed-forward blocks of width 16/2 = 8.
var (
	norm3        = vector(op.MLPNorm, 7*24, 8, 2*24, 24)
	norm12       = vector(op.MLPNorm, 7*96, 8, 2*96, 96)
	inputNorm3   = vector(op.InputNorm, 7*24, 8, 2*24, 24)
	inputNorm12  = vector(op.InputNorm, 7*96, 8, 2*96, 96)
	latentNorm3  = vector(op.AttentionInputNorm, 7*24, 8, 2*24, 24)
	latentNorm12 = vector(op.AttentionInputNorm, 7*96, 8, 2*96, 96)

	// A half of the sums is made by each of the two.
	reduce3  = comm(op.AttentionAllReduce, hardware.AllReduce, 24, 2, 2, 12, 48, 24)
	reduce12 = comm(op.AttentionAllReduce, hardware.AllReduce, 96, 2, 2, 48, 192, 96)

	residual3  = vector(op.AttentionResidual, 24, 0, 3*24, 24)
	residual12 = vector(op.AttentionResidual, 96, 0, 3*96, 96)

	gatedHalf3 = []row{
		product(op.GateUp, 2*3*8*16, 8*16, 3*(8+16), 0, 3*16, 3, 16, 8),
		vector(op.Activation, 3*24, 0, 2*24, 24),
		vector(op.GateMultiply, 24, 0, 3*24, 24),
		product(op.Down, 2*3*8*8, 8*8, 3*(8+8), 0, 3*8, 3, 8, 8),
		comm(op.MLPAllReduce, hardware.AllReduce, 24, 2, 2, 12, 48, 24),
		vector(op.MLPResidual, 24, 0, 3*24, 24),
	}
	gatedHalf12 = []row{
		product(op.GateUp, 2*12*8*16, 8*16, 12*(8+16), 0, 12*16, 12, 16, 8),
		vector(op.Activation, 3*96, 0, 2*96, 96),
		vector(op.GateMultiply, 96, 0, 3*96, 96),
		product(op.Down, 2*12*8*8, 8*8, 12*(8+8), 0, 12*8, 12, 8, 8),
		comm(op.MLPAllReduce, hardware.AllReduce, 96, 2, 2, 48, 192, 96),
		vector(op.MLPResidual, 96, 0, 3*96, 96),
	}
)

// TestMultiHead: 4 heads of 2 elements on two ranks: 2 heads each, queries, keys and values 4 wide.
// A plain feed-forward block. Scores: 3·2·10 = 60 in decode, 12·2·5 = 120 in prefill.
func TestMultiHead(t *testing.T) {
	m := dense(model.Attention{Kind: model.MultiHead, Heads: 4, KVHeads: 4, HeadDim: 2}, model.Plain)
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}}, Batch: three}

	head3 := []row{inputNorm3, product(op.QKV, 2*3*8*12, 8*12, 3*(8+12), 0, 3*12, 3, 12, 8)}
	tail3 := []row{
		product(op.OutputProjection, 2*3*4*8, 4*8, 3*(4+8), 0, 24, 3, 8, 4), reduce3, residual3,
		norm3,
		product(op.Up, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8),
		vector(op.Activation, 8*24, 0, 2*24, 24), // GELU
		product(op.Down, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8),
		comm(op.MLPAllReduce, hardware.AllReduce, 24, 2, 2, 12, 48, 24),
		vector(op.MLPResidual, 24, 0, 3*24, 24),
	}
	head12 := []row{inputNorm12, product(op.QKV, 2*12*8*12, 8*12, 12*(8+12), 0, 12*12, 12, 12, 8)}
	tail12 := []row{
		product(op.OutputProjection, 2*12*4*8, 4*8, 12*(4+8), 0, 96, 12, 8, 4), reduce12, residual12,
		norm12,
		product(op.Up, 2*12*8*8, 8*8, 12*(8+8), 0, 96, 12, 8, 8),
		vector(op.Activation, 8*96, 0, 2*96, 96),
		product(op.Down, 2*12*8*8, 8*8, 12*(8+8), 0, 96, 12, 8, 8),
		comm(op.MLPAllReduce, hardware.AllReduce, 96, 2, 2, 48, 192, 96),
		vector(op.MLPResidual, 96, 0, 3*96, 96),
	}
	for name, c := range map[string]struct {
		flash bool
		step  op.Group
		want  []row
	}{
		"decode fused": {true, decode, times(2, head3, []row{
			// Queries in and results out, 3·4 each; keys and values of 3 sequences of 10, 4 wide.
			product(op.FusedAttention, 4*60*2, 0, 12+12, 120+120, 12, 3, 10, 2),
			vector(op.Softmax, 5*60, 0, 0, 0),
		}, tail3)},
		"decode": {false, decode, times(2, head3, []row{
			product(op.Scores, 2*60*2, 0, 12+60, 120, 60, 3, 10, 2),
			vector(op.Softmax, 5*60, 0, 2*60, 60),
			product(op.Values, 2*60*2, 0, 60+12, 120, 12, 3, 2, 10),
		}, tail3)},
		"prefill fused": {true, prefill, times(2, head12, []row{
			// Queries and results 12·4; keys and values are read once per sequence: 3 of 5, 4 wide.
			product(op.FusedAttention, 4*120*2, 0, 48+48, 60+60, 48, 12, 5, 2),
			vector(op.Softmax, 5*120, 0, 0, 0),
		}, tail12)},
		"prefill": {false, prefill, times(2, head12, []row{
			product(op.Scores, 2*120*2, 0, 48+120, 60, 120, 12, 5, 2),
			vector(op.Softmax, 5*120, 0, 2*120, 120),
			product(op.Values, 2*120*2, 0, 120+48, 60, 48, 12, 2, 5),
		}, tail12)},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, lower(m, model.Settings{Flash: c.flash}, p, c.step).All(), c.want)
		})
	}
}

// TestMultiQuery: as multi-head, but each of the two ranks keeps the one key/value head, 2 wide.
func TestMultiQuery(t *testing.T) {
	m := dense(model.Attention{Kind: model.MultiQuery, Heads: 4, KVHeads: 1, HeadDim: 2}, model.Gated)
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}}, Batch: three}

	head3 := []row{inputNorm3, product(op.QKV, 2*3*8*8, 8*8, 3*(8+8), 0, 3*8, 3, 8, 8)}
	tail3 := append([]row{
		product(op.OutputProjection, 2*3*4*8, 4*8, 3*(4+8), 0, 24, 3, 8, 4), reduce3, residual3, norm3,
	}, gatedHalf3...)
	head12 := []row{inputNorm12, product(op.QKV, 2*12*8*8, 8*8, 12*(8+8), 0, 12*8, 12, 8, 8)}
	tail12 := append([]row{
		product(op.OutputProjection, 2*12*4*8, 4*8, 12*(4+8), 0, 96, 12, 8, 4), reduce12, residual12, norm12,
	}, gatedHalf12...)
	for name, c := range map[string]struct {
		flash bool
		step  op.Group
		want  []row
	}{
		"decode fused": {true, decode, times(2, head3, []row{
			// Keys and values: 3 sequences of 10, 2 wide.
			product(op.FusedAttention, 4*60*2, 0, 12+12, 60+60, 12, 3, 10, 2),
			vector(op.Softmax, 5*60, 0, 0, 0),
		}, tail3)},
		"decode": {false, decode, times(2, head3, []row{
			product(op.Scores, 2*60*2, 0, 12+60, 60, 60, 3, 10, 2),
			vector(op.Softmax, 5*60, 0, 2*60, 60),
			product(op.Values, 2*60*2, 0, 60+12, 60, 12, 3, 2, 10),
		}, tail3)},
		"prefill fused": {true, prefill, times(2, head12, []row{
			product(op.FusedAttention, 4*120*2, 0, 48+48, 30+30, 48, 12, 5, 2),
			vector(op.Softmax, 5*120, 0, 0, 0),
		}, tail12)},
		"prefill": {false, prefill, times(2, head12, []row{
			product(op.Scores, 2*120*2, 0, 48+120, 30, 120, 12, 5, 2),
			vector(op.Softmax, 5*120, 0, 2*120, 120),
			product(op.Values, 2*120*2, 0, 120+48, 30, 48, 12, 2, 5),
		}, tail12)},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, lower(m, model.Settings{Flash: c.flash}, p, c.step).All(), c.want)
		})
	}
}

// groupQuery has 4 query heads and 2 key/value heads of 2 elements, norms of both and a gate on the
// output.
func groupQuery() *model.Model {
	return dense(model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 2, HeadDim: 2, QKNorm: true, Gated: true}, model.Gated)
}

// TestGroupQuery: all heads on one rank: queries 8 wide, keys and values 4. The feed-forward block
// is 16 wide. Scores: 3·4·10 = 120 in decode, 12·4·5 = 240 in prefill.
func TestGroupQuery(t *testing.T) {
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 1, CP: 1}}, Batch: three}
	head3 := []row{
		inputNorm3,
		product(op.QKV, 2*3*8*16, 8*16, 3*(8+16), 0, 3*16, 3, 16, 8),
		vector(op.QueryHeadNorm, 7*24, 2, 2*24, 24),
		vector(op.KeyHeadNorm, 7*12, 2, 2*12, 12),
	}
	tail3 := []row{
		product(op.AttentionGate, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8),
		vector(op.AttentionGateSigmoid, 2*24, 0, 2*24, 24),
		vector(op.AttentionGateMultiply, 24, 0, 3*24, 24),
		product(op.OutputProjection, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8), residual3,
		norm3,
		product(op.GateUp, 2*3*8*32, 8*32, 3*(8+32), 0, 3*32, 3, 32, 8),
		vector(op.Activation, 3*48, 0, 2*48, 48), // SiLU
		vector(op.GateMultiply, 48, 0, 3*48, 48),
		product(op.Down, 2*3*16*8, 16*8, 3*(16+8), 0, 24, 3, 8, 16),
		vector(op.MLPResidual, 24, 0, 3*24, 24),
	}
	head12 := []row{
		inputNorm12,
		product(op.QKV, 2*12*8*16, 8*16, 12*(8+16), 0, 12*16, 12, 16, 8),
		vector(op.QueryHeadNorm, 7*96, 2, 2*96, 96),
		vector(op.KeyHeadNorm, 7*48, 2, 2*48, 48),
	}
	tail12 := []row{
		product(op.AttentionGate, 2*12*8*8, 8*8, 12*(8+8), 0, 96, 12, 8, 8),
		vector(op.AttentionGateSigmoid, 2*96, 0, 2*96, 96),
		vector(op.AttentionGateMultiply, 96, 0, 3*96, 96),
		product(op.OutputProjection, 2*12*8*8, 8*8, 12*(8+8), 0, 96, 12, 8, 8), residual12,
		norm12,
		product(op.GateUp, 2*12*8*32, 8*32, 12*(8+32), 0, 12*32, 12, 32, 8),
		vector(op.Activation, 3*192, 0, 2*192, 192),
		vector(op.GateMultiply, 192, 0, 3*192, 192),
		product(op.Down, 2*12*16*8, 16*8, 12*(16+8), 0, 96, 12, 8, 16),
		vector(op.MLPResidual, 96, 0, 3*96, 96),
	}
	for name, c := range map[string]struct {
		flash bool
		step  op.Group
		want  []row
	}{
		"decode fused": {true, decode, times(2, head3, []row{
			product(op.FusedAttention, 4*120*2, 0, 24+24, 120+120, 24, 3, 10, 2),
			vector(op.Softmax, 5*120, 0, 0, 0),
		}, tail3)},
		"decode": {false, decode, times(2, head3, []row{
			product(op.Scores, 2*120*2, 0, 24+120, 120, 120, 3, 10, 2),
			vector(op.Softmax, 5*120, 0, 2*120, 120),
			product(op.Values, 2*120*2, 0, 120+24, 120, 24, 3, 2, 10),
		}, tail3)},
		"prefill fused": {true, prefill, times(2, head12, []row{
			product(op.FusedAttention, 4*240*2, 0, 96+96, 60+60, 96, 12, 5, 2),
			vector(op.Softmax, 5*240, 0, 0, 0),
		}, tail12)},
		"prefill": {false, prefill, times(2, head12, []row{
			product(op.Scores, 2*240*2, 0, 96+240, 60, 240, 12, 5, 2),
			vector(op.Softmax, 5*240, 0, 2*240, 240),
			product(op.Values, 2*240*2, 0, 240+96, 60, 96, 12, 2, 5),
		}, tail12)},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, lower(groupQuery(), model.Settings{Flash: c.flash}, p, c.step).All(), c.want)
		})
	}
}

// TestLatent: 4 heads on two ranks, 2 each; query rank 6, latent rank 4, heads of 3 + 1 elements,
// values of 5. Queries are 2·(3 + 1) = 8 wide, the result 2·5 = 10, what is cached 4 + 1 = 5.
// Scores: 60 in decode, 120 in prefill.
func TestLatent(t *testing.T) {
	m := dense(model.Attention{Kind: model.Latent, Heads: 4, QueryRank: 6, KVRank: 4, NopeDim: 3, RopeDim: 1, ValueDim: 5}, model.Gated)
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}}, Batch: three}
	head3 := []row{
		product(op.QueryDown, 2*3*8*6, 8*6, 3*(8+6), 0, 18, 3, 6, 8),
		vector(op.QueryDownNorm, 7*18, 6, 2*18, 18),
		product(op.QueryUp, 2*3*6*8, 6*8, 3*(6+8), 0, 24, 3, 8, 6),
		product(op.LatentDown, 2*3*8*5, 8*5, 3*(8+5), 0, 15, 3, 5, 8),
		vector(op.LatentNorm, 7*12, 4, 2*12, 12),
		vector(op.LatentSplit, 15, 0, 2*15, 15),
		vector(op.KeyRotate, 3, 0, 2*3, 3),
	}
	tail3 := append([]row{
		product(op.OutputProjection, 2*3*10*8, 10*8, 3*(10+8), 0, 24, 3, 8, 10), reduce3, residual3,
		latentNorm3, norm3, // both norms of the layer stand in front of the feed-forward block
	}, gatedHalf3...)
	head12 := []row{
		product(op.QueryDown, 2*12*8*6, 8*6, 12*(8+6), 0, 72, 12, 6, 8),
		vector(op.QueryDownNorm, 7*72, 6, 2*72, 72),
		product(op.QueryUp, 2*12*6*8, 6*8, 12*(6+8), 0, 96, 12, 8, 6),
		product(op.LatentDown, 2*12*8*5, 8*5, 12*(8+5), 0, 60, 12, 5, 8),
		vector(op.LatentNorm, 7*48, 4, 2*48, 48),
		vector(op.LatentSplit, 60, 0, 2*60, 60),
		vector(op.KeyRotate, 12, 0, 2*12, 12),
	}
	tail12 := append([]row{
		product(op.OutputProjection, 2*12*10*8, 10*8, 12*(10+8), 0, 96, 12, 8, 10), reduce12, residual12,
		latentNorm12, norm12,
	}, gatedHalf12...)

	// Expanded: 3·10 = 30 tokens of context, in prefill 3·5 = 15, become keys and values of 2·(3 +
	// 5) = 16 elements; the keys that attention reads are 2·(3 + 1) = 8 wide with the rotary part,
	// the values 2·5 = 10.
	expand3 := []row{
		product(op.LatentUp, 2*30*4*16, 4*16, 30*16, 30*5, 30*16, 30, 16, 4),
		vector(op.QueryConcat, 24, 0, 2*24, 24),
	}
	expand12 := []row{
		product(op.LatentUp, 2*15*4*16, 4*16, 15*16, 15*5, 15*16, 15, 16, 4),
		vector(op.QueryConcat, 96, 0, 2*96, 96),
	}

	// Absorbed: the weights of 2·(3 + 5)·4 = 64 elements are split once; queries become 2·(4 + 1) =
	// 10 wide. Each head has a matrix of 3 × 4 for its queries, one of 4 × 5 for its values, and
	// works on 3 (12) tokens.
	absorb3 := []row{
		vector(op.LatentUpSplit, 64, 0, 2*64, 64),
		product(op.AbsorbQuery, 2*6*3*4, 2*3*4, 6*(3+4), 0, 6*4, 3, 4, 3),
		vector(op.QueryConcat, 30, 0, 2*30, 30),
	}
	absorbValue3 := []row{product(op.AbsorbValue, 2*6*4*5, 2*4*5, 6*(4+5), 0, 6*5, 3, 5, 4)}
	absorb12 := []row{
		vector(op.LatentUpSplit, 64, 0, 2*64, 64),
		product(op.AbsorbQuery, 2*24*3*4, 2*3*4, 24*(3+4), 0, 24*4, 12, 4, 3),
		vector(op.QueryConcat, 120, 0, 2*120, 120),
	}
	absorbValue12 := []row{product(op.AbsorbValue, 2*24*4*5, 2*4*5, 24*(4+5), 0, 24*5, 12, 5, 4)}

	for name, c := range map[string]struct {
		absorb, flash bool
		step          op.Group
		want          []row
	}{
		"expanded decode fused": {false, true, decode, times(2, head3, expand3, []row{
			// Queries 3·8, results 3·10, keys 30·8, values 30·10.
			product(op.FusedAttention, 2*60*(4+5), 0, 24+30+240+300, 0, 30, 3, 10, 4),
			vector(op.Softmax, 5*60, 0, 0, 0),
		}, tail3)},
		"expanded decode": {false, false, decode, times(2, head3, expand3, []row{
			product(op.Scores, 2*60*4, 0, 24+60+240, 0, 60, 3, 10, 4),
			vector(op.Softmax, 5*60, 0, 2*60, 60),
			product(op.Values, 2*60*5, 0, 60+30+300, 0, 30, 3, 5, 10),
		}, tail3)},
		"expanded prefill fused": {false, true, prefill, times(2, head12, expand12, []row{
			// Queries 12·8, results 12·10, keys 15·8, values 15·10.
			product(op.FusedAttention, 2*120*(4+5), 0, 96+120+120+150, 0, 120, 12, 5, 4),
			vector(op.Softmax, 5*120, 0, 0, 0),
		}, tail12)},
		"expanded prefill": {false, false, prefill, times(2, head12, expand12, []row{
			product(op.Scores, 2*120*4, 0, 96+120+120, 0, 120, 12, 5, 4),
			vector(op.Softmax, 5*120, 0, 2*120, 120),
			product(op.Values, 2*120*5, 0, 120+120+150, 0, 120, 12, 5, 5),
		}, tail12)},
		"absorbed decode fused": {true, true, decode, times(2, head3, absorb3, []row{
			// The scores are working space, but no traffic; the cache of 3 sequences of 10, 5 wide,
			// is read once.
			product(op.Scores, 2*60*5, 0, 30, 150, 60, 3, 10, 5),
			vector(op.ScoreAdd, 60, 0, 3*60, 60),
			vector(op.Softmax, 5*60, 0, 0, 0),
			product(op.Values, 2*60*4, 0, 24, 0, 24, 3, 4, 10),
		}, absorbValue3, tail3)},
		"absorbed decode": {true, false, decode, times(2, head3, absorb3, []row{
			product(op.Scores, 2*60*5, 0, 30+60, 150, 60, 3, 10, 5),
			vector(op.ScoreAdd, 60, 0, 3*60, 60),
			vector(op.Softmax, 5*60, 0, 2*60, 60),
			product(op.Values, 2*60*4, 0, 24+60, 0, 24, 3, 4, 10),
		}, absorbValue3, tail3)},
		"absorbed prefill fused": {true, true, prefill, times(2, head12, absorb12, []row{
			// In prefill fused scores are no working space.
			product(op.Scores, 2*120*5, 0, 120, 75, 0, 12, 5, 5),
			vector(op.ScoreAdd, 120, 0, 3*120, 0),
			vector(op.Softmax, 5*120, 0, 0, 0),
			product(op.Values, 2*120*4, 0, 96, 0, 96, 12, 4, 5),
		}, absorbValue12, tail12)},
		"absorbed prefill": {true, false, prefill, times(2, head12, absorb12, []row{
			product(op.Scores, 2*120*5, 0, 120+120, 75, 120, 12, 5, 5),
			vector(op.ScoreAdd, 120, 0, 3*120, 120),
			vector(op.Softmax, 5*120, 0, 2*120, 120),
			product(op.Values, 2*120*4, 0, 96+120, 0, 96, 12, 4, 5),
		}, absorbValue12, tail12)},
	} {
		t.Run(name, func(t *testing.T) {
			list := lower(m, model.Settings{Absorb: c.absorb, Flash: c.flash}, p, c.step)
			compare(t, list.All(), c.want)
			for _, o := range list.All() {
				if o.Class == op.BMM && o.Unit != op.AttentionMatrixUnit {
					t.Errorf("%s runs on unit %d, want that of attention", o.Kind, o.Unit)
				}
			}
		})
	}

	t.Run("queries not compressed", func(t *testing.T) {
		m := *m
		m.Attention.QueryRank = 0
		list := lower(&m, model.Settings{Absorb: true, Flash: true}, p, decode)
		compare(t, list.All()[:2], times(2, []row{
			product(op.QueryUp, 2*3*8*8, 8*8, 3*(8+8), 0, 24, 3, 8, 8),
			product(op.LatentDown, 2*3*8*5, 8*5, 3*(8+5), 0, 15, 3, 5, 8),
		}))
	})
}

// TestUnits: grouped attention runs at the matrix rate under the reference assumptions, else at the
// rate of attention.
func TestUnits(t *testing.T) {
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}}, Batch: three}
	for _, flash := range []bool{false, true} {
		for atMatrix, want := range map[bool]op.Unit{true: op.MatrixUnit, false: op.AttentionMatrixUnit} {
			as := assume.Reference
			as.FusedAttentionAtMatrixType = atMatrix
			l := op.NewLowerer(groupQuery(), &model.Settings{Flash: flash}, &precision, &as)
			var list op.List
			l.Stage(&p, batch(&l, groupQuery(), &p, decode), &list)
			for _, o := range list.All() {
				unit := op.VectorUnit
				switch o.Class {
				case op.Linear:
					unit = op.MatrixUnit
				case op.BMM:
					unit = want
				}
				if o.Unit != unit {
					t.Errorf("fused %v, at matrix type %v: %s runs on unit %d, want %d", flash, atMatrix, o.Kind, o.Unit, unit)
				}
			}
		}
	}
}

// only is the operators of some kinds.
func only(list *op.List, kinds ...op.Kind) []op.Op {
	var out []op.Op
	for _, o := range list.All() {
		for _, k := range kinds {
			if o.Kind == k {
				out = append(out, o)
			}
		}
	}
	return out
}

// TestEveryKindIsNamed: names are distinct, and every kind stands in its table.
func TestEveryKindIsNamed(t *testing.T) {
	seen := map[string]op.Kind{}
	for k := range op.KindCount {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
		if other, twice := seen[k.String()]; twice {
			t.Errorf("kinds %d and %d are both called %q", other, k, k)
		}
		seen[k.String()] = k
	}
}

// TestSize: operators are cleared 16 bytes at a time.
func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(op.Op{}); n%16 != 0 {
		t.Errorf("an operator has %d bytes, not a multiple of 16", n)
	}
}
