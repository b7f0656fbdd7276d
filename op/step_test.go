package op_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/hardware/kernel"
	"throughline/internal/test/draw"
	"throughline/internal/test/long"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// mixture is a step of several groups.
func mixture(l *op.Lowerer, groups ...op.Group) *op.Step {
	var s op.Step
	for i := range groups {
		l.Add(&s, &groups[i])
	}
	return &s
}

// Two sequences that decode at a context of 10, one at 4, and in the same step one prompt of 4
// tokens of which the last two are new, and a chunk of 3 tokens of one that goes on: 3 + 5 tokens
// in all.
var mixed = []op.Group{
	{Phase: op.Decode, Sequences: 2, New: 1, Context: 10},
	{Phase: op.Decode, Sequences: 1, New: 1, Context: 4},
	{Phase: op.Prefill, Sequences: 1, New: 2, Context: 4, Ends: true},
	{Phase: op.Prefill, Sequences: 1, New: 3, Context: 3},
}

// TestMixedGrouped: a window of 5. The decoding tokens see 5, 5 and 4 entries, 14 in all, and read
// as many. The prompt sees 3 + 4, the chunk 1 + 2 + 3: 13 in all, 2.6 on average; 4 + 3 entries are
// read. Products see all 8 tokens. The successors of the three that decode and of the one prompt
// that ends are wanted.
func TestMixedGrouped(t *testing.T) {
	m := groupQuery()
	m.Attention.Window, m.Attention.Gated, m.Vocab = 5, false, 20
	l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
	step := mixture(&l, mixed...)
	var list op.List
	l.Stage(&oneRank, step, &list)
	compare(t, only(&list, op.QKV, op.FusedAttention, op.Softmax, op.OutputProjection, op.GateUp), times(2, []row{
		product(op.QKV, 2*8*8*16, 8*16, 8*(8+16), 0, 8*16, 8, 16, 8),
		product(op.FusedAttention, 4*14*4*2, 0, 24+24, 14*4*2, 24, 3, 14.0/3, 2),
		vector(op.Softmax, 5*14*4, 0, 0, 0),
		product(op.FusedAttention, 4*13*4*2, 0, 40+40, 7*4*2, 40, 5, 2.6, 2),
		vector(op.Softmax, 5*13*4, 0, 0, 0),
		product(op.OutputProjection, 2*8*8*8, 8*8, 8*(8+8), 0, 64, 8, 8, 8),
		product(op.GateUp, 2*8*8*32, 8*32, 8*(8+32), 0, 8*32, 8, 32, 8),
	}))
	attentions := only(&list, op.FusedAttention)
	if attentions[0].Phase != op.Decode || attentions[1].Phase != op.Prefill || attentions[0].Count != 3 || attentions[1].Count != 2 {
		t.Errorf("%+v", attentions)
	}
	if o := find(t, &list, op.QKV); o.Phase != op.Prefill {
		t.Error("a step with a prompt runs at the clocks of a prefill")
	}
	l.Ends(&oneRank, step, &list)
	compare(t, only(&list, op.Embedding, op.OutputHead), times(1, []row{
		vector(op.Embedding, 0, 0, 2*64, 64),
		product(op.OutputHead, 2*4*8*20, 8*20, 4*(8+20), 0, 80, 4, 20, 8),
	}))
}

// TestMixedLatent: latents of 4 + 1 elements on two ranks, 2 heads each. The decoding tokens stay
// absorbed: they see 24 entries, and read them once for all heads. The prompts see 3 + 4 + 1 + 2 +
// 3 = 13, and expand their 7 entries.
func TestMixedLatent(t *testing.T) {
	m := dense(model.Attention{Kind: model.Latent, Heads: 4, QueryRank: 6, KVRank: 4, NopeDim: 3, RopeDim: 1, ValueDim: 5}, model.Gated)
	l := op.NewLowerer(m, &model.Settings{Absorb: true, Flash: true}, &precision, &assume.Physical)
	var list op.List
	l.Stage(&twoRanks, mixture(&l, mixed...), &list)
	compare(t, only(&list, op.QueryLatentDown, op.AbsorbQuery, op.Scores, op.Values, op.AbsorbValue, op.LatentUp, op.FusedAttention, op.OutputProjection), times(2, []row{
		product(op.QueryLatentDown, 2*8*8*11, 8*11, 8*(8+11), 0, 8*11, 8, 11, 8),
		product(op.AbsorbQuery, 2*6*3*4, 2*3*4, 6*(3+4), 0, 6*4, 3, 4, 3),
		product(op.Scores, 2*48*5, 0, 3*2*5, 24*5, 0, 3, 8, 5),
		product(op.Values, 2*48*4, 0, 3*2*4, 0, 3*2*4, 3, 4, 8),
		product(op.AbsorbValue, 2*6*4*5, 2*4*5, 6*(4+5), 0, 6*5, 3, 5, 4),
		product(op.LatentUp, 2*7*4*16, 4*16, 7*16, 7*5, 7*16, 7, 16, 4),
		product(op.FusedAttention, 2*26*(4+5), 0, 5*2*(4+5)+7*2*(4+5), 0, 5*2*5, 5, 2.6, 4),
		product(op.OutputProjection, 2*8*10*8, 10*8, 8*(10+8), 0, 64, 8, 8, 10),
	}))

	// Prompts of 2.5 tokens on average are absorbed, too, if those of 3 are, and not of 2.
	short := twoRanks
	short.AbsorbedPrompt = 2
	l.Stage(&short, mixture(&l, mixed...), &list)
	if n := len(only(&list, op.LatentUp)); n != 1 {
		t.Errorf("prompts of 2.5 tokens expand their latents in %d products", n)
	}
	short.AbsorbedPrompt = 3
	l.Stage(&short, mixture(&l, mixed...), &list)
	compare(t, only(&list, op.AbsorbQuery, op.LatentUp, op.FusedAttention), times(2, []row{
		product(op.AbsorbQuery, 2*16*3*4, 2*3*4, 16*(3+4), 0, 16*4, 8, 4, 3),
	}))

	// With an indexer both are absorbed: one product for all 8 tokens in front of two attentions.
	a := &m.Attention
	a.IndexHeads, a.IndexDim, a.IndexTopK = 2, 3, 4
	l.Stage(&twoRanks, mixture(&l, mixed...), &list)
	compare(t, only(&list, op.IndexKey, op.AbsorbQuery, op.AbsorbValue), times(2, []row{
		product(op.IndexKey, 2*8*8*3, 8*3, 8*(8+3), 0, 24, 8, 3, 8),
		product(op.AbsorbQuery, 2*16*3*4, 2*3*4, 16*(3+4), 0, 16*4, 8, 4, 3),
		product(op.AbsorbValue, 2*16*4*5, 2*4*5, 16*(4+5), 0, 16*5, 8, 5, 4),
	}))
	// Decoding 24 entries are scored and 3·4 seen; of the prompts 13, which are all seen.
	scores := only(&list, op.IndexScores, op.Scores)
	for i, want := range []float64{2 * 24 * 6, 2 * 13 * 6, 2 * 24 * 5, 2 * 26 * 5} {
		bytes(t, "flops of "+scores[i].Kind.String(), scores[i].Flops, want)
	}
}

// TestMixedDrafts: the draft module of an engine sees, for each draft, two tokens of every sequence
// that decodes and one of every prompt. Output tokens are wanted of all five sequences.
func TestMixedDrafts(t *testing.T) {
	m := groupQuery()
	l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
	p := oneRank
	p.Drafts = 1
	var list op.List
	l.Draft(&p, mixture(&l, mixed...), &list)
	attentions := only(&list, op.FusedAttention)
	bytes(t, "projected tokens", find(t, &list, op.DraftProjection).M, 8)
	bytes(t, "decoding tokens", attentions[0].M, 6)
	bytes(t, "entries that they see", attentions[0].N, 8)
	bytes(t, "tokens of prompts", attentions[1].M, 2)
	bytes(t, "entries that these see", attentions[1].N, 3.5)
	bytes(t, "output tokens", find(t, &list, op.OutputHead).M, 5)
	// Without an engine, as in the reference tool, one token of each.
	l = op.NewLowerer(m, &fused, &precision, &assume.Reference)
	l.Draft(&p, mixture(&l, mixed...), &list)
	bytes(t, "projected tokens of the reference", find(t, &list, op.DraftProjection).M, 5)
}

// TestSplitGroups: it does not matter whether equal sequences are added together or one by one, nor
// in which order.
func TestSplitGroups(t *testing.T) {
	long.Check(t, func(t *rapid.T) {
		m, set := draw.Model(t)
		l := op.NewLowerer(m, set, &precision, draw.Assumptions(t))
		var groups, parts []op.Group
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			g := op.Group{
				Phase: draw.Phase(t), Sequences: rapid.Float64Range(0.1, 50).Draw(t, "sequences"),
				New: float64(rapid.IntRange(1, 40).Draw(t, "new")), Ends: rapid.Bool().Draw(t, "ends"),
				Scale: rapid.Float64Range(0, 3).Draw(t, "scale"),
			}
			g.Context = g.New + float64(rapid.IntRange(0, 100).Draw(t, "past"))
			groups = append(groups, g)
			share := rapid.Float64Range(0.1, 0.9).Draw(t, "share")
			a, b := g, g
			a.Sequences *= share
			b.Sequences *= 1 - share
			parts = append(append([]op.Group{b}, parts...), a)
		}
		whole, split := mixture(&l, groups...), mixture(&l, parts...)
		var ops [2]op.List
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, SharedReplicas: set.SharedReplicas}, Batch: three}
		l.Stage(&p, whole, &ops[0])
		l.Stage(&p, split, &ops[1])
		for i, o := range ops[0].All() {
			s := &ops[1].All()[i]
			for what, v := range map[string][2]float64{
				"flops": {o.Flops, s.Flops}, "bytes": {o.Bytes(), s.Bytes()}, "result": {o.Output, s.Output},
				"m": {o.M, s.M}, "n": {o.N, s.N}, "k": {o.K, s.K}, "count": {o.Count, s.Count},
			} {
				if math.Abs(v[0]-v[1]) > 1e-9*math.Abs(v[0]) {
					t.Fatalf("%s of %s: %v, split %v", what, o.Kind, v[0], v[1])
				}
			}
		}
	})
}

// TestPromptOfOneRank: of four data-parallel ranks one has a prompt. The experts see a quarter of
// what they do where all have one; what the rank does with its own tokens, and sends to experts,
// stays the same.
func TestPromptOfOneRank(t *testing.T) {
	m := expertModel(model.Gated)
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 4, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 4, TP: 1, DP: 1}, SharedPerCard: true},
		Batch:  plan.Batch{Count: 1, Size: 1},
	}
	l := op.NewLowerer(m, &fused, &precision, &assume.Reference)
	lowered := func(share float64) *op.List {
		var list op.List
		l.Stage(&p, mixture(&l, op.Group{Phase: op.Prefill, Sequences: 1, New: 64, Context: 64, Ends: true, Share: share}), &list)
		return &list
	}
	all, one := lowered(0), lowered(0.25)
	for kind, times := range map[op.Kind]float64{op.Router: 1, op.ExpertGateUp: 0.25, op.ExpertDown: 0.25} {
		if got, want := find(t, one, kind).Flops, times*find(t, all, kind).Flops; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: %g operations, want %g", kind, got, want)
		}
	}
	if a, b := find(t, one, op.Dispatch), find(t, all, op.Dispatch); a.M != b.M {
		t.Errorf("dispatch of %g tokens, %g where all ranks have a prompt", a.M, b.M)
	}
}

// TestJoined: beside prompts, a call for both takes a tile of 64 queries for each head of the three
// sequences that decode, 64 times the operations; by themselves they have a kernel of their own.
func TestJoined(t *testing.T) {
	p := oneRank
	p.JoinedTile = 64
	m := groupQuery()
	l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
	var apart, joined, alone op.List
	l.Stage(&oneRank, mixture(&l, mixed...), &apart)
	l.Stage(&p, mixture(&l, mixed...), &joined)
	l.Stage(&p, mixture(&l, mixed[:2]...), &alone)
	was, is := only(&apart, op.FusedAttention), only(&joined, op.FusedAttention)
	if o := is[0]; o.Kernels != (kernel.Uses{{Slot: kernel.Prefill}}) || o.Rows != 64 || o.Flops != 64*was[0].Flops || o.Cache != was[0].Cache || o.Phase != op.Decode {
		t.Errorf("decodes among prompts: %+v", o)
	}
	if is[1] != was[1] {
		t.Errorf("prompts: %+v, were %+v", is[1], was[1])
	}
	if o := only(&alone, op.FusedAttention)[0]; o.Kernels != was[0].Kernels || o.Rows != 0 {
		t.Errorf("decodes alone: %+v", o)
	}
}

// TestWindowApart: within a window, each head of a sequence that decodes reads keys and values for
// itself where the kernel is that of a head; prompts and layers without a window are as they were.
func TestWindowApart(t *testing.T) {
	for _, window := range []int{0, 8192} {
		m := groupQuery()
		m.Attention.Window = window
		p := oneRank
		p.WindowApart = true
		l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
		var shared, apart op.List
		l.Stage(&oneRank, mixture(&l, mixed...), &shared)
		l.Stage(&p, mixture(&l, mixed...), &apart)
		group := float64(m.Attention.Heads / m.Attention.KVHeads)
		was, is := only(&shared, op.FusedAttention), only(&apart, op.FusedAttention)
		for i := range was {
			want := was[i]
			if window > 0 && want.Phase == op.Decode {
				want.KVHeads, want.Cache, want.Moved = want.Heads, want.Cache*group, want.Moved*group
			}
			if is[i] != want {
				t.Errorf("window %d: %+v, want %+v", window, is[i], want)
			}
		}
		if group == 1 {
			t.Fatal("heads share nothing")
		}
	}
}

// TestJoinedStates: beside prompts, three sequences that decode are chunks of 64 tokens of gated
// delta attention with 4 heads of 2 · 3 elements; 1572 operations for each (TestGatedDelta).
func TestJoinedStates(t *testing.T) {
	p := oneRank
	p.JoinedStates = true
	m := dense(model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, model.Gated)
	l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
	var joined, alone op.List
	l.Stage(&p, mixture(&l, mixed...), &joined)
	l.Stage(&p, mixture(&l, mixed[:2]...), &alone)
	if o := only(&joined, op.LinearState)[0]; o.Kernels != (kernel.Uses{{Slot: kernel.LinearPrefill}}) || o.Flops != 3*64*4*1572 || o.M != 3 {
		t.Errorf("decodes among prompts: %+v", o)
	}
	if o := only(&alone, op.LinearState)[0]; o.Kernels != (kernel.Uses{{Slot: kernel.LinearDecode}}) {
		t.Errorf("decodes alone: %+v", o)
	}
}
