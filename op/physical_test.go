package op_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// bare is the physical assumptions without what small_test.go is about.
var bare = func() assume.Assumptions {
	as := assume.Physical
	as.SmallKernels, as.NarrowIndex = false, false
	return as
}()

// physically lowers a stage under the physical assumptions, or some of them.
func physically(as assume.Assumptions, m *model.Model, set model.Settings, p plan.Plan, g op.Group) *op.List {
	l := op.NewLowerer(m, &set, &precision, &as)
	var list op.List
	l.Stage(&p, batch(&l, m, &p, g), &list)
	return &list
}

// find is the operator of a kind, of which there must be one.
func find(t *testing.T, list *op.List, k op.Kind) *op.Op {
	t.Helper()
	ops := only(list, k)
	if len(ops) != 1 {
		t.Fatalf("%d operators %q, want 1", len(ops), k)
	}
	return &ops[0]
}

func bytes(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var (
	oneRank   = plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 1, CP: 1}}, Batch: three}
	twoRanks  = plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}}, Batch: three}
	fused     = model.Settings{Flash: true}
	attention = []op.Kind{op.FusedAttention, op.Scores, op.Softmax, op.Values}
)

// TestCausalPrefill: the 4 new tokens of 5 see 2, 3, 4 and 5, 3.5 on average: 12·4·3.5 = 168
// scores. All 5 tokens of the 3 sequences are read.
func TestCausalPrefill(t *testing.T) {
	compare(t, only(physically(assume.Physical, groupQuery(), fused, oneRank, prefill), attention...), times(2, []row{
		product(op.FusedAttention, 4*168*2, 0, 96+96, 60+60, 96, 12, 3.5, 2),
		vector(op.Softmax, 5*168, 0, 0, 0),
	}))
	compare(t, only(physically(assume.Physical, groupQuery(), model.Settings{}, oneRank, prefill), attention...), times(2, []row{
		product(op.Scores, 2*168*2, 0, 96+168, 60, 168, 12, 3.5, 2),
		vector(op.Softmax, 5*168, 0, 2*168, 168),
		product(op.Values, 2*168*2, 0, 168+96, 60, 96, 12, 2, 3.5),
	}))
	// Without a cached prefix: 4 tokens see 1 to 4, 2.5 on average: 120 scores.
	whole := op.Group{Phase: op.Prefill, New: 4, Context: 4}
	compare(t, only(physically(assume.Physical, groupQuery(), fused, oneRank, whole), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*120*2, 0, 96+96, 48+48, 96, 12, 2.5, 2),
	}))
	// A decode sees all of its context.
	compare(t, only(physically(assume.Physical, groupQuery(), fused, oneRank, decode), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*120*2, 0, 24+24, 120+120, 24, 3, 10, 2),
	}))
	// It runs at the rate of attention.
	if o := find(t, physically(assume.Physical, groupQuery(), fused, oneRank, decode), op.FusedAttention); o.Unit != op.AttentionMatrixUnit {
		t.Errorf("fused attention runs on unit %d", o.Unit)
	}
}

// TestWindow: a window of 3. In decode 3·4·3 = 36 scores, 3·3 tokens are read. In a causal prefill
// the tokens see 2, 3, 3 and 3, 2.75 on average: 132 scores; one that is not causal sees 3
// everywhere: 144. All 5 tokens are read, with a window of 1 the 4 new ones.
func TestWindow(t *testing.T) {
	m := groupQuery()
	m.Attention.Window = 3
	compare(t, only(physically(assume.Physical, m, fused, oneRank, decode), attention...), times(2, []row{
		product(op.FusedAttention, 4*36*2, 0, 24+24, 36+36, 24, 3, 3, 2),
		vector(op.Softmax, 5*36, 0, 0, 0),
	}))
	compare(t, only(physically(assume.Physical, m, fused, oneRank, prefill), attention...), times(2, []row{
		product(op.FusedAttention, 4*132*2, 0, 96+96, 60+60, 96, 12, 2.75, 2),
		vector(op.Softmax, 5*132, 0, 0, 0),
	}))
	compare(t, only(lower(m, fused, oneRank, prefill), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*144*2, 0, 96+96, 60+60, 96, 12, 3, 2),
	}))
	m.Attention.Window = 1
	compare(t, only(physically(assume.Physical, m, fused, oneRank, prefill), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*48*2, 0, 96+96, 48+48, 96, 12, 1, 2),
	}))
	m.Attention.Window = 11 // longer than the context
	compare(t, only(physically(assume.Physical, m, fused, oneRank, decode), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*120*2, 0, 24+24, 120+120, 24, 3, 10, 2),
	}))
}

// TestCompressed: two tokens share an entry, and the last 3 are seen besides. In decode 5 + 3
// entries are seen and read: 96 scores. In a causal prefill 3.5/2 + 2.75 = 4.5: 216 scores; 2.5 + 5
// entries are read.
func TestCompressed(t *testing.T) {
	m := groupQuery()
	m.Attention.Window, m.Attention.Compress = 3, 2
	compare(t, only(physically(assume.Physical, m, fused, oneRank, decode), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*96*2, 0, 24+24, 96+96, 24, 3, 8, 2),
	}))
	compare(t, only(physically(assume.Physical, m, fused, oneRank, prefill), op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*216*2, 0, 96+96, 3*4*7.5*2, 96, 12, 4.5, 2),
	}))
}

// TestValueWidth: values of 3 elements beside keys of 2: qkv is 8 + 4 + 6 = 18 wide, the result 12.
func TestValueWidth(t *testing.T) {
	m := groupQuery()
	m.Attention.ValueDim, m.Attention.QKNorm, m.Attention.Gated = 3, false, false
	compare(t, physically(bare, m, fused, oneRank, decode).Of(op.AttentionBlock), times(2, []row{
		inputNorm3,
		product(op.QKV, 2*3*8*18, 8*18, 3*(8+18), 0, 3*18, 3, 18, 8),
		product(op.FusedAttention, 2*120*(2+3), 0, 24+36, 120+180, 36, 3, 10, 2),
		vector(op.Softmax, 5*120, 0, 0, 0),
		product(op.OutputProjection, 2*3*12*8, 12*8, 3*(12+8), 0, 24, 3, 8, 12), residual3,
	}))
	compare(t, only(physically(bare, m, model.Settings{}, oneRank, decode), op.Scores, op.Values), times(2, []row{
		product(op.Scores, 2*120*2, 0, 24+120, 120, 120, 3, 10, 2),
		product(op.Values, 2*120*3, 0, 120+36, 180, 36, 3, 3, 10),
	}))
}

// TestCompressedOutput: 2 groups of 2 heads, 4 elements each, go through rank 3. On two ranks each
// has one group, on four half of one, and the whole of its second matrix.
func TestCompressedOutput(t *testing.T) {
	m := groupQuery()
	m.Attention.Gated, m.Attention.OutputRank, m.Attention.OutputGroups = false, 3, 2
	for tp, want := range map[int][]row{
		1: {
			product(op.OutputDown, 2*6*4*3, 2*4*3, 6*(4+3), 0, 6*3, 3, 3, 4),
			product(op.OutputProjection, 2*3*6*8, 6*8, 3*(6+8), 0, 24, 3, 8, 6),
		},
		2: {
			product(op.OutputDown, 2*3*4*3, 4*3, 3*(4+3), 0, 3*3, 3, 3, 4),
			product(op.OutputProjection, 2*3*3*8, 3*8, 3*(3+8), 0, 24, 3, 8, 3),
		},
		4: {
			product(op.OutputDown, 2*3*2*3, 2*3, 3*(2+3), 0, 3*3, 3, 3, 2),
			product(op.OutputProjection, 2*3*3*8, 3*8, 3*(3+8), 0, 24, 3, 8, 3),
		},
	} {
		p := oneRank
		p.Attention.TP = tp
		compare(t, only(physically(assume.Physical, m, fused, p, decode), op.OutputDown, op.OutputProjection), times(2, want))
	}
}

func latentModel() *model.Model {
	return dense(model.Attention{Kind: model.Latent, Heads: 4, QueryRank: 6, KVRank: 4, NopeDim: 3, RopeDim: 1, ValueDim: 5}, model.Gated)
}

// TestPhysicalLatent: on two ranks, see TestLatent. Absorbed decode without bookkeeping; prefill
// expands keys and values, causal: 12·2·3.5 = 84 scores.
func TestPhysicalLatent(t *testing.T) {
	absorb := model.Settings{Flash: true, Absorb: true}
	list := physically(assume.Physical, latentModel(), absorb, twoRanks, decode)
	compare(t, only(list, op.QueryLatentDown, op.QueryDown, op.LatentDown), times(2, []row{
		product(op.QueryLatentDown, 2*3*8*(6+5), 8*(6+5), 3*(8+6+5), 0, 3*(6+5), 3, 6+5, 8), // 6 of queries, 4 + 1 of latents
	}))
	compare(t, list.Of(op.AttentionBlock)[6:], times(2, []row{
		product(op.AbsorbQuery, 2*6*3*4, 2*3*4, 6*(3+4), 0, 6*4, 3, 4, 3),
		vector(op.QueryConcat, 30, 0, 2*30, 30),
		product(op.Scores, 2*60*5, 0, 30, 150, 0, 3, 10, 5), // the scores stay on the chip
		vector(op.Softmax, 5*60, 0, 0, 0),
		product(op.Values, 2*60*4, 0, 24, 0, 24, 3, 4, 10),
		product(op.AbsorbValue, 2*6*4*5, 2*4*5, 6*(4+5), 0, 6*5, 3, 5, 4),
		product(op.OutputProjection, 2*3*10*8, 10*8, 3*(10+8), 0, 24, 3, 8, 10), reduce3, residual3,
	}))
	list = physically(assume.Physical, latentModel(), absorb, twoRanks, prefill)
	compare(t, list.Of(op.AttentionBlock)[6:10], times(2, []row{
		product(op.LatentUp, 2*15*4*16, 4*16, 15*16, 15*5, 15*16, 15, 16, 4),
		vector(op.QueryConcat, 96, 0, 2*96, 96),
		product(op.FusedAttention, 2*84*(4+5), 0, 96+120+120+150, 0, 120, 12, 3.5, 4),
		vector(op.Softmax, 5*84, 0, 0, 0),
	}))
}

// TestIndexer: 2 heads of 3 elements pick 4 tokens. Every rank has both heads. In decode they score
// 3·10 entries, and 3·2·4 = 24 scores remain for the attention, which reads 3·4 entries. In a
// causal prefill they score 12·3.5 = 42; the tokens see 2, 3, 4 and 4, 3.25 on average: 12·2·3.25 =
// 78 scores; attention stays absorbed.
func TestIndexer(t *testing.T) {
	m := latentModel()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK = 2, 3, 4
	absorb := model.Settings{Flash: true, Absorb: true}
	list := physically(bare, m, absorb, twoRanks, decode)
	compare(t, list.Of(op.AttentionBlock)[6:17], times(2, []row{
		product(op.IndexQuery, 2*3*6*6, 6*6, 3*(6+6), 0, 18, 3, 6, 6),
		product(op.IndexKey, 2*3*8*3, 8*3, 3*(8+3), 0, 9, 3, 3, 8),
		product(op.IndexWeights, 2*3*8*2, 8*2, 3*(8+2), 0, 6, 3, 2, 8),
		product(op.IndexScores, 2*30*2*3, 0, 18+30, 3*10*3, 30, 6, 10, 3),
		vector(op.IndexSelect, 30, 0, 30+12, 12),
		product(op.AbsorbQuery, 2*6*3*4, 2*3*4, 6*(3+4), 0, 6*4, 3, 4, 3),
		vector(op.QueryConcat, 30, 0, 2*30, 30),
		product(op.Scores, 2*24*5, 0, 30, 3*4*5, 0, 3, 4, 5),
		vector(op.Softmax, 5*24, 0, 0, 0),
		product(op.Values, 2*24*4, 0, 24, 0, 24, 3, 4, 4),
		product(op.AbsorbValue, 2*6*4*5, 2*4*5, 6*(4+5), 0, 6*5, 3, 5, 4),
	}))
	list = physically(bare, m, absorb, twoRanks, prefill)
	compare(t, only(list, op.IndexScores, op.IndexSelect, op.Scores, op.Softmax, op.Values, op.LatentUp), times(2, []row{
		product(op.IndexScores, 2*42*2*3, 0, 72+42, 3*5*3, 0, 24, 3.5, 3), // chunk by chunk, so no working space
		vector(op.IndexSelect, 42, 0, 42+48, 48),
		product(op.Scores, 2*78*5, 0, 120, 39*5, 0, 12, 3.25, 5), // 39 entries were picked, each for one query
		vector(op.Softmax, 5*78, 0, 0, 0),
		product(op.Values, 2*78*4, 0, 96, 0, 96, 12, 4, 3.25),
	}))
	// Of prompts of 4 tokens nothing is left out, and those of 5 may be read once by all queries.
	short := op.Group{Phase: op.Prefill, New: 4, Context: 4, Ends: true}
	compare(t, only(physically(bare, m, absorb, twoRanks, short), op.Scores), times(2, []row{product(op.Scores, 2*60*5, 0, 120, 3*4*5, 0, 12, 2.5, 5)}))
	together := bare
	together.PickedApart = false
	compare(t, only(physically(together, m, absorb, twoRanks, prefill), op.Scores), times(2, []row{product(op.Scores, 2*78*5, 0, 120, 3*5*5, 0, 12, 3.25, 5)}))
	// Two queries pick 4 tokens each: 3·8 entries are read.
	step := op.Group{Phase: op.Decode, New: 2, Context: 10}
	list = physically(bare, m, absorb, twoRanks, step)
	compare(t, only(list, op.Scores), times(2, []row{product(op.Scores, 2*48*5, 0, 60, 3*8*5, 0, 6, 4, 5)}))

	// Compressed entries: 5 are scored, the indexer of grouped heads projects from the residual
	// stream. 4 are picked.
	m = groupQuery()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK, m.Attention.Compress = 2, 3, 4, 2
	list = physically(bare, m, fused, oneRank, decode)
	compare(t, only(list, op.IndexQuery, op.IndexScores, op.IndexSelect, op.FusedAttention), times(2, []row{
		product(op.IndexQuery, 2*3*8*6, 8*6, 3*(8+6), 0, 18, 3, 6, 8),
		product(op.IndexScores, 2*15*2*3, 0, 18+15, 3*5*3, 15, 6, 5, 3),
		vector(op.IndexSelect, 15, 0, 15+12, 12),
		product(op.FusedAttention, 4*48*2, 0, 24+24, 48+48, 24, 3, 4, 2),
	}))
	// A layer that uses what another has picked has no indexer, but sees as little.
	m.Attention.IndexHeads, m.Attention.IndexDim = 0, 0
	list = physically(bare, m, fused, oneRank, decode)
	compare(t, only(list, op.IndexQuery, op.IndexKey, op.IndexWeights, op.IndexScores, op.IndexSelect, op.FusedAttention), times(2, []row{
		product(op.FusedAttention, 4*48*2, 0, 24+24, 48+48, 24, 3, 4, 2),
	}))
}

// TestGatedDelta: 4 value heads of 3 elements, 2 key heads of 2, a convolution over 4 tokens.
// Queries, keys and values are 4 + 4 + 12 = 20 wide; with the output gate, 12, and decay and
// strength of each head, 8, the input is projected to 40. The state of a sequence is 336 bytes (see
// the tests of the model), read and written: 3·672/5 cached elements.
func TestGatedDelta(t *testing.T) {
	m := dense(model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, model.Gated)
	compare(t, physically(bare, m, fused, oneRank, decode).Of(op.AttentionBlock), times(2, []row{
		inputNorm3,
		product(op.LinearInput, 2*3*8*40, 8*40, 3*(8+40), 0, 3*40, 3, 40, 8),
		vector(op.ShortConvolution, 8*60, 0, 2*60, 60),
		// Six operations on each of 2·3 elements of the state, of 4 heads and 3 tokens.
		product(op.LinearState, 3*4*6*6, 0, 3*(20+12), 3*672.0/5, 36, 3, 3, 2),
		vector(op.LinearNorm, 7*36, 3, 2*36, 36),
		vector(op.AttentionGateMultiply, 36, 0, 3*36, 36),
		product(op.OutputProjection, 2*3*12*8, 12*8, 3*(12+8), 0, 24, 3, 8, 12), residual3,
	}))
	// 12 tokens. For each of 64 tokens of a chunk: queries against keys, keys against keys, and the
	// keys that are left, 2·2 each; the values that are left and the result, 2·3 each: 24. And 6·6
	// for the state: 64·24 + 36 = 1572 per head.
	compare(t, only(physically(bare, m, fused, oneRank, prefill), op.ShortConvolution, op.LinearState), times(2, []row{
		vector(op.ShortConvolution, 8*240, 0, 2*240, 240),
		product(op.LinearState, 12*4*1572, 0, 12*(20+12), 3*672.0/5, 144, 12, 3, 2),
	}))
	// In three parts of the context the state is handed on twice: 3·336 bytes. A part computes 4
	// tokens.
	p := oneRank
	p.Attention.CP = 3
	ring := comm(op.RingExchange, hardware.PointToPoint, 3*336.0/7, 3, 3, 0, 0, 0)
	ring.repeat = 2 * 2
	compare(t, only(physically(bare, m, fused, p, prefill), op.RingExchange, op.LinearState), append([]row{ring},
		times(2, []row{product(op.LinearState, 4*4*1572, 0, 4*(20+12), 3*672.0/5, 48, 4, 3, 2)})...))
}

// TestLightning: on two ranks 2 of 4 heads of 2 elements: queries, keys and values 4 wide each, and
// the gate: 16. The state is 2·2·2 elements of 4 bytes, read and written by 3 sequences.
func TestLightning(t *testing.T) {
	m := dense(model.Attention{Kind: model.Lightning, Heads: 4, KVHeads: 4, HeadDim: 2}, model.Gated)
	compare(t, physically(assume.Physical, m, fused, twoRanks, decode).Of(op.AttentionBlock), times(2, []row{
		inputNorm3,
		product(op.LinearInput, 2*3*8*16, 8*16, 3*(8+16), 0, 3*16, 3, 16, 8),
		product(op.LinearState, 3*2*4*4, 0, 3*(12+4), 3*64.0/5, 12, 3, 2, 2),
		vector(op.LinearNorm, 7*12, 2, 2*12, 12),
		vector(op.AttentionGateMultiply, 12, 0, 3*12, 12),
		product(op.OutputProjection, 2*3*4*8, 4*8, 3*(4+8), 0, 24, 3, 8, 4), reduce3, residual3,
	}))
	// 64 tokens of a chunk, 2·2 + 2·2 each, and 4·4 for the state: 528 per head.
	compare(t, only(physically(assume.Physical, m, fused, twoRanks, prefill), op.LinearState), times(2, []row{
		product(op.LinearState, 12*2*528, 0, 12*(12+4), 3*64.0/5, 48, 12, 2, 2),
	}))
}

// TestMixed: of 3 layers 2 have gated delta attention, in a stage of 2 one. Latent attention then
// has a norm of its own in front of it, like the other kind, and the feed-forward block only its
// own.
func TestMixed(t *testing.T) {
	m := latentModel()
	m.Mixed = []model.MixedAttention{{Attention: model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2}, Layers: 2}}
	list := physically(assume.Physical, m, model.Settings{Flash: true, Absorb: true}, oneRank, decode)
	compare(t, only(list, op.InputNorm), times(1, []row{inputNorm3, inputNorm3}))
	compare(t, only(list, op.LinearState, op.AbsorbQuery), times(1, []row{
		product(op.LinearState, 3*4*6*4, 0, 3*(16+8), 2*3*64.0/5, 24, 3, 2, 2),
		product(op.AbsorbQuery, 2*12*3*4, 4*3*4, 12*(3+4), 0, 12*4, 3, 4, 3),
	}))
	compare(t, only(list, op.AttentionInputNorm, op.MLPNorm), times(2, []row{norm3}))

	// The draft module has the main kind.
	l := op.NewLowerer(m, &model.Settings{Flash: true, Absorb: true}, &precision, &assume.Physical)
	var draft op.List
	l.Draft(&oneRank, batch(&l, m, &oneRank, decode), &draft)
	if len(only(&draft, op.QueryLatentDown)) != 1 || len(only(&draft, op.LinearState)) != 0 {
		t.Error("the draft module does not have the main kind of attention")
	}
}

// TestScatteredLatents: of the 12 new tokens of 3 prompts, each of two ranks makes the latent
// vectors of 6, QueryRank + KVRank + RopeDim wide, which are gathered; such an engine gathers no
// input in front of them. The queries of all heads are of all tokens. Another one, and no engine at
// all, gathers the input instead. In decode, and in steps that an engine finds too short, nothing
// is spread.
func TestScatteredLatents(t *testing.T) {
	m := latentModel()
	p := twoRanks
	p.SequenceParallel, p.LateGather = true, true
	a := &m.Attention
	hidden, rank, latent := float64(m.Hidden), float64(a.QueryRank), float64(a.KVRank+a.RopeDim)
	if rank == 0 {
		t.Fatal("a model whose queries have no latent vectors")
	}
	list := physically(bare, m, fused, p, prefill)
	bytes(t, "queries and latents down", find(t, list, op.QueryLatentDown).M, 6)
	bytes(t, "queries up", find(t, list, op.QueryUp).M, 12)
	bytes(t, "gathered", find(t, list, op.AttentionGather).Output, 12*(rank+latent)*precision.Activation)

	whole := func(list *op.List, tokens float64, down ...op.Kind) {
		t.Helper()
		for _, name := range down {
			bytes(t, name.String(), find(t, list, name).M, tokens)
		}
		bytes(t, "gathered", find(t, list, op.AttentionGather).Output, tokens*hidden*precision.Activation)
	}
	whole(physically(assume.Reference, m, fused, p, prefill), 12, op.QueryDown, op.LatentDown)
	alone := func(list *op.List, tokens float64) {
		t.Helper()
		bytes(t, "queries and latents down", find(t, list, op.QueryLatentDown).M, tokens)
		if n := len(only(list, op.AttentionGather)) + len(only(list, op.MLPScatter)); n > 0 || len(only(list, op.MLPAllReduce)) == 0 {
			t.Errorf("%d parts of a spread step", n)
		}
	}
	alone(physically(bare, m, fused, p, decode), 3)
	p.SequenceFrom = 13
	alone(physically(bare, m, fused, p, prefill), 12)
	p.SequenceFrom, p.LateGather = 12, false
	whole(physically(bare, m, fused, p, prefill), 12, op.QueryLatentDown)
}

// TestLongestStage: all that a layer can have, in four kinds, fits into a list.
func TestLongestStage(t *testing.T) {
	m := latentModel()
	a := &m.Attention
	a.Gated, a.IndexHeads, a.IndexDim, a.IndexTopK, a.OutputRank, a.OutputGroups = true, 2, 3, 4, 3, 2
	m.Layers = 8
	for range model.MaxMixed {
		m.Mixed = append(m.Mixed, model.MixedAttention{Attention: *a, Layers: 1})
	}
	m.Experts = model.Experts{Routed: 8, TopK: 2, Shared: 1, Width: 4, Hidden: 4, CapacityFactor: 1, Interval: 2}
	as := assume.Reference
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 2}, Experts: plan.ExpertSplit{EP: 2, TP: 2, DP: 1}, SharedReplicas: 4, SequenceParallel: true},
		Batch:  three,
	}
	list := physically(as, m, model.Settings{Absorb: true}, p, prefill)
	// 4·30 of attention, each with a norm of its own, 8 of the dense block and 15 of the experts.
	if n := len(list.All()); n != 143 || n > op.MaxOps {
		t.Errorf("%d operators, want 143; a list has room for %d", n, op.MaxOps)
	}
	// Prompts and decoding sequences have scores and picks of the indexer, scores, their sums,
	// softmax and values apart.
	l := op.NewLowerer(m, &model.Settings{Absorb: true}, &precision, &as)
	l.Stage(&p, mixture(&l, mixed...), list)
	if n := len(list.All()); n != 143+4*6 || n > op.MaxOps {
		t.Errorf("%d operators of both phases, want 167; a list has room for %d", n, op.MaxOps)
	}
}

// TestPipelinedBatch: a batch of 3. Pipelined, those are the sequences of a replica, whose 2 ranks
// share their tokens: one and a half each. Otherwise they are the sequences of a processor: 12 on
// all 4 of the two stages.
func TestPipelinedBatch(t *testing.T) {
	p := plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, SharedReplicas: 4},
		Batch:  three,
	}
	bytes(t, "tokens of one batch", find(t, lower(expertModel(model.Gated), fused, p, decode), op.Router).M, 12)
	p.Pipelined = true
	bytes(t, "tokens of a batch of many", find(t, lower(expertModel(model.Gated), fused, p, decode), op.Router).M, 3)
	bytes(t, "elements that leave a processor", find(t, lower(expertModel(model.Gated), fused, p, decode), op.Dispatch).Moved, 1.5*3*8*7)
	// A dense model has its batch per replica.
	bytes(t, "a dense model", find(t, lower(groupQuery(), fused, plan.Plan{
		Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 1}, Pipelined: true},
		Batch:  three,
	}, decode), op.OutputProjection).M, 3)
}

// TestEnds: a vocabulary of 20 on two ranks, 10 each. In decode every token has a successor, in
// prefill the last of each sequence.
func TestEnds(t *testing.T) {
	m := groupQuery()
	m.Vocab = 20
	lowerEnds := func(p plan.Plan, g op.Group) *op.List {
		l := op.NewLowerer(m, &fused, &precision, &assume.Physical)
		var list op.List
		l.Ends(&p, batch(&l, m, &p, g), &list)
		return &list
	}
	list := lowerEnds(twoRanks, decode)
	compare(t, list.All(), times(1, []row{
		vector(op.Embedding, 0, 0, 2*24, 24),
		vector(op.FinalNorm, 7*24, 8, 2*24, 24),
		product(op.OutputHead, 2*3*8*10, 8*10, 3*(8+10), 0, 30, 3, 10, 8),
		vector(op.Sampling, 5*30, 0, 2*30, 30),
	}))
	if n := len(list.Of(op.AttentionBlock)); n != 0 {
		t.Errorf("%d operators of the ends are in the attention block", n)
	}
	compare(t, lowerEnds(twoRanks, prefill).All(), times(1, []row{
		vector(op.Embedding, 0, 0, 2*96, 96),
		vector(op.FinalNorm, 7*24, 8, 2*24, 24),
		product(op.OutputHead, 2*3*8*10, 8*10, 3*(8+10), 0, 30, 3, 10, 8),
		vector(op.Sampling, 5*30, 0, 2*30, 30),
	}))
	// A chunk that does not end its prompt: nobody wants what comes after the last layer.
	chunk := prefill
	chunk.Ends = false
	compare(t, lowerEnds(twoRanks, chunk).All(), times(1, []row{vector(op.Embedding, 0, 0, 2*96, 96)}))
	// Two drafts are verified with the next token.
	compare(t, only(lowerEnds(twoRanks, op.Group{Phase: op.Decode, New: 3, Context: 10}), op.OutputHead), times(1, []row{
		product(op.OutputHead, 2*9*8*10, 8*10, 9*(8+10), 0, 90, 9, 10, 8),
	}))

	// The embedding besides: in a single stage, or where tokens are drafted behind the last.
	for _, c := range []struct {
		pp, drafts int
		tied       bool
		want       float64
	}{{1, 0, false, 160}, {1, 0, true, 0}, {2, 0, false, 0}, {2, 1, false, 160}, {2, 1, true, 0}} {
		m.Tied = c.tied
		p := twoRanks
		p.Attention.PP, p.Drafts = c.pp, c.drafts
		list := lowerEnds(p, decode)
		bytes(t, "embedding in memory", find(t, list, op.Embedding).Resident, c.want)
		bytes(t, "output projection in memory", find(t, list, op.OutputHead).Resident, 160)
	}
}

// TestQuantitiesNeverFall: all that efficiencies depend on never falls with the batch, so that each
// threshold is crossed once. Few tokens among many experts are the hardest case: hardly two of them
// visit the same one, and the busiest rank has far more than its share.
func TestQuantitiesNeverFall(t *testing.T) {
	m := expertModel(model.Gated)
	m.Experts = model.Experts{Routed: 256, TopK: 8, Width: 4, CapacityFactor: 1, Interval: 1}
	for _, ep := range []int{1, 2, 8, 32} {
		p := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: ep, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: ep, TP: 1, DP: 1}, Pipelined: true},
		}
		var before []op.Op
		for size := 1; size <= 200; size++ {
			p.Batch = plan.Batch{Count: 1, Size: size}
			after := physically(assume.Physical, m, fused, p, decode).All()
			for i := range before {
				b, a := &before[i], &after[i]
				// Rounding aside; what is touched and what is sent to the busiest come close to
				// straight lines.
				const most = 1 - 1e-12
				if a.Flops < b.Flops*most || a.Bytes() < b.Bytes()*most || a.M < b.M*most || a.Moved < b.Moved*most {
					t.Fatalf("ep %d, from %d to %d sequences: %+v becomes %+v", ep, size-1, size, *b, *a)
				}
				// Nor does any of it grow faster than the batch.
				faster := float64(size) / float64(size-1) / most
				if a.Flops > b.Flops*faster || a.Bytes() > b.Bytes()*faster || a.M > b.M*faster || a.Moved > b.Moved*faster {
					t.Fatalf("ep %d, from %d to %d sequences: %+v grows faster, to %+v", ep, size-1, size, *b, *a)
				}
			}
			before = append(before[:0], after...)
		}
	}
}

// TestPrompts: each prompt prefers other experts, so that two of them are more even than one, and
// so on, whatever spread there is over many steps. What one of 16 data-parallel ranks computes is
// as uneven as what 16 tensor-parallel ranks share. Beside decoding tokens, a prompt counts with
// its share of the tokens of all ranks.
func TestPrompts(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 256, TopK: 8, Width: 256, CapacityFactor: 1, Interval: 1}
	set := model.Settings{Flash: true}
	as := assume.Physical
	l := op.NewLowerer(m, &set, &eight, &as)
	l.Visit(experts.Popularity{Spread: 0.5})
	busiest := func(tp int, groups ...op.Group) float64 {
		p := plan.Plan{
			Layout: plan.Layout{Attention: plan.Split{DP: 16 / tp, PP: 1, TP: tp, CP: 1}, Experts: plan.ExpertSplit{EP: 16, TP: 1, DP: 1}, Pipelined: true},
			Batch:  plan.Batch{Count: 1, Size: 1},
		}
		var step op.Step
		var list op.List
		for i := range groups {
			l.Add(&step, &groups[i])
		}
		l.Stage(&p, &step, &list)
		return l.Busiest()
	}
	prompts := func(n, share float64) op.Group {
		return op.Group{Phase: op.Prefill, Sequences: n, New: 1 << 20 / n, Context: 1 << 20 / n, Share: share}
	}
	for n := 1.0; n < 1<<10; n *= 2 {
		if few, more := busiest(16, prompts(n, 1)), busiest(16, prompts(2*n, 1)); !(more < few-1e-3) {
			t.Errorf("%v of the mean with %v prompts, %v with twice as many", few, n, more)
		}
	}
	one := busiest(16, prompts(1, 1))
	if absent := busiest(1, prompts(1, 1./16)); math.Abs(absent-one) > 1e-9 {
		t.Errorf("%v of the mean with one prompt on one rank of 16, %v on all", absent, one)
	}
	decoding := op.Group{Phase: op.Decode, Sequences: 1 << 16, New: 1, Context: 10}
	if mixed, want := busiest(1, prompts(1, 1./16), decoding), (one+busiest(1, decoding))/2; math.Abs(mixed-want) > 0.005 {
		t.Errorf("%v of the mean where half of the tokens are of one prompt, want %v", mixed, want)
	}
}
