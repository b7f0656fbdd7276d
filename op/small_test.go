package op_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// eight is products of 8 bits with a cache of as many; everything between them has 16.
var eight = plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 2}

// lowered is a stage in 8 bits.
func lowered(as assume.Assumptions, m *model.Model, p plan.Plan, g op.Group) *op.List {
	set := model.Settings{Flash: true, Absorb: true}
	l := op.NewLowerer(m, &set, &eight, &as)
	var list op.List
	l.Stage(&p, batch(&l, m, &p, g), &list)
	return &list
}

// TestQuantise: 3 tokens of 8 elements are read in 16 bits and written in 8, with 4 bytes of scale
// for 128: 3·8·(3 + 1/32).
func TestQuantise(t *testing.T) {
	list := lowered(assume.Physical, groupQuery(), oneRank, decode)
	o := find(t, list, op.QuantiseInput)
	bytes(t, "moved", o.Moved, 24*(3+1./32))
	bytes(t, "result", o.Output, 24)
	if o.Kernels[0] != (kernel.Use{Slot: kernel.Gemm, Role: kernel.Quantised}) || o.Kernels[1].Slot != kernel.Quantise {
		t.Errorf("runs in %v", o.Kernels)
	}
	// Before the output projection, 4 heads of 2 elements; before the products of the dense block.
	bytes(t, "heads", find(t, list, op.QuantiseHeads).Moved, 24*(3+1./32))
	bytes(t, "block", find(t, list, op.QuantiseMLP).Moved, 24*(3+1./32))
	// An engine may have norms and activations write narrow numbers; nothing does so for the heads.
	p := oneRank
	p.FusedQuantise = true
	list = lowered(assume.Physical, groupQuery(), p, decode)
	if n := len(only(list, op.QuantiseInput, op.QuantiseMLP, op.QuantiseInner)); n > 0 {
		t.Errorf("%d operators quantise behind norms", n)
	}
	find(t, list, op.QuantiseHeads)
	// The products behind are then without what a kernel was measured with; that of the heads is
	// not.
	for kind, want := range map[op.Kind]kernel.Role{op.QKV: kernel.Bare, op.GateUp: kernel.Bare, op.Down: kernel.Bare, op.OutputProjection: kernel.Full} {
		if got := find(t, list, kind).Kernels[0]; got != (kernel.Use{Slot: kernel.Gemm, Role: want}) {
			t.Errorf("%v runs in %v", kind, got)
		}
	}
	// In 16 bits, and without small kernels, there is nothing to quantise.
	as := assume.Physical
	as.SmallKernels = false
	for _, list := range []*op.List{physically(assume.Physical, groupQuery(), fused, oneRank, decode), lowered(as, groupQuery(), oneRank, decode)} {
		if n := len(only(list, op.QuantiseInput, op.QuantiseHeads, op.QuantiseMLP, op.QuantiseInner)); n > 0 {
			t.Errorf("%d operators quantise", n)
		}
	}
}

// TestWideResidual: under 8 bits norms read and write 2 bytes of each of 3·8 elements, and a
// product reads one and writes two.
func TestWideResidual(t *testing.T) {
	as := assume.Physical
	list := lowered(as, groupQuery(), oneRank, decode)
	bytes(t, "norm", find(t, list, op.InputNorm).Activations, 2*24*2)
	bytes(t, "residual", find(t, list, op.MLPResidual).Activations, 3*24*2)
	down := find(t, list, op.Down)
	bytes(t, "product", down.Activations, down.M*(down.K+2*down.N))
	as.WideResidual = false
	list = lowered(as, groupQuery(), oneRank, decode)
	bytes(t, "narrow norm", find(t, list, op.InputNorm).Activations, 2*24)
	down = find(t, list, op.Down)
	bytes(t, "narrow product", down.Activations, down.M*(down.K+down.N))
}

// TestRotary: of 3 tokens, 4 heads of 2 elements are read and written, keys and values of 2 heads
// read, all in 16 bits, and keys and values written to a cache of 8. Latent attention has its
// rotary parts alone, and rotates no key besides.
func TestRotary(t *testing.T) {
	o := find(t, lowered(assume.Physical, groupQuery(), oneRank, decode), op.Rotary)
	bytes(t, "moved", o.Moved, 3*((2*8+8)*2+8))
	m := latentModel()
	a := &m.Attention
	list := lowered(assume.Physical, m, oneRank, decode)
	kv := float64(a.KVRank + a.RopeDim)
	bytes(t, "latent", find(t, list, op.Rotary).Moved, 3*((2*float64(a.Heads*a.RopeDim)+kv)*2+kv))
	// The kernel of latent attention may rotate in decode; in a prefill keys and values are
	// expanded.
	if got := find(t, list, op.Rotary).Kernels[0]; got != (kernel.Use{Slot: kernel.LatentDecode, Role: kernel.Rotated}) {
		t.Errorf("rotates in %v", got)
	}
	if got := find(t, lowered(assume.Physical, m, oneRank, prefill), op.Rotary).Kernels[0]; got.Slot != kernel.RopeCache {
		t.Errorf("rotates prompts in %v", got)
	}
	if n := len(only(list, op.KeyRotate)); n > 0 {
		t.Errorf("%d keys are rotated again", n)
	}
	as := assume.Physical
	as.SmallKernels = false
	if n := len(only(lowered(as, m, oneRank, decode), op.Rotary)); n > 0 {
		t.Errorf("%d operators rotate", n)
	}
}

// TestSharedApart: a shared expert of width 4 on two tensor-parallel ranks is one that all three
// tokens visit among the routed ones or, where the engine is told so, a dense block of which each
// rank has half. Both read the same weights.
func TestSharedApart(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 4, Shared: 1, CapacityFactor: 1, Interval: 1}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 2, DP: 1}, Pipelined: true, SharedPerCard: true}, Batch: three, Behaviour: plan.Behaviour{Gathered: true}}
	within := lowered(assume.Physical, m, p, decode)
	p.SharedApart = true
	apart := lowered(assume.Physical, m, p, decode)
	if o := only(within, op.SharedGateUp, op.SharedUp, op.SharedDown); len(o) > 0 {
		t.Errorf("not told: %+v", o)
	}
	down := only(apart, op.SharedDown)
	if len(down) != 1 || down[0].M != 3 || down[0].K != 2 {
		t.Fatalf("a shared expert of %+v", down)
	}
	// What they make is added to what the others do: three tokens of both are read, and written
	// once.
	if o := only(within, op.SharedSum); len(o) > 0 {
		t.Errorf("added besides: %+v", o)
	}
	bytes(t, "sum", find(t, apart, op.SharedSum).Moved, 3*3*float64(m.Hidden)*2)
	block, rest := only(within, op.ExpertDown)[0], only(apart, op.ExpertDown)[0]
	if block.Count-rest.Count != 1 || math.Abs(block.Weights-rest.Weights-down[0].Weights) > 1e-9 {
		t.Errorf("%g and %g experts in the block; %g, %g and %g bytes", block.Count, rest.Count, block.Weights, rest.Weights, down[0].Weights)
	}
	// Where tokens weigh it, each of three has a score, by a product that every rank has all of,
	// and its result is read and written.
	m.Experts.SharedGate = true
	weighed := lowered(assume.Physical, m, p, decode)
	score := find(t, weighed, op.SharedScore)
	bytes(t, "score", score.Flops, 2*3*float64(m.Hidden))
	bytes(t, "weights of the score", score.Weights, float64(m.Hidden)) // of one byte
	bytes(t, "scale", find(t, weighed, op.SharedScale).Moved, 2*3*float64(m.Hidden)*2)
	if n := len(only(apart, op.SharedScore, op.SharedScale)); n != 0 {
		t.Errorf("%d operators that weigh without a gate", n)
	}
}

// TestBlocksByExchange: tokens that an exchange brings run in the block for those, others in that
// of slices of all experts. What belongs to a block is within either.
func TestBlocksByExchange(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	wide := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	sliced := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 2, DP: 1}, Pipelined: true}, Batch: three, Behaviour: plan.Behaviour{Gathered: true}}
	for _, c := range []struct {
		plan plan.Plan
		want kernel.Slot
	}{{wide, kernel.DispatchedExperts}, {sliced, kernel.Experts}} {
		list := lowered(assume.Physical, m, c.plan, decode)
		up := only(list, op.ExpertGateUp, op.ExpertUp)
		if len(up) != 1 || up[0].Kernels[0] != (kernel.Use{Slot: c.want}) {
			t.Errorf("products run in %+v, want %v", up, c.want)
		}
		for _, o := range only(list, op.ExpertActivation, op.ExpertDown, op.ExpertAlign, op.ExpertPermute, op.ExpertQuantise, op.ExpertWeighting) {
			role := kernel.Within
			if o.Kind == op.ExpertAlign || o.Kind == op.ExpertQuantise || o.Kind == op.ExpertDown {
				role = kernel.Following // a kernel of its own
			}
			if o.Kernels[0] != (kernel.Use{Slot: c.want, Role: role}) {
				t.Errorf("%v is not within %v: %+v", o.Kind, c.want, o.Kernels)
			}
		}
	}
	// Tokens are quantised before they are sent; the exchange for low latency does it itself.
	if o := find(t, lowered(assume.Physical, m, wide, decode), op.QuantiseTokens); o.Kernels[0] != (kernel.Use{Slot: kernel.DispatchLowLatency, Role: kernel.Within}) {
		t.Errorf("decode: %+v", o.Kernels)
	}
	if o := find(t, lowered(assume.Physical, m, wide, prefill), op.QuantiseTokens); o.Kernels[0].Slot != kernel.Quantise {
		t.Errorf("prefill: %+v", o.Kernels)
	}
}

// TestSelection: each of 3 tokens reads 8 scores of 16 bits, and writes number and weight of 2
// experts.
func TestSelection(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	one := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	o := find(t, lowered(assume.Physical, m, one, decode), op.ExpertSelection)
	bytes(t, "moved", o.Moved, 3*(8*2+2*8))
	bytes(t, "rows", o.Rows, 3)
	// A block may route by itself; where tokens are sent to their experts, these are chosen before.
	if want := (kernel.Use{Slot: kernel.Experts, Role: kernel.Routed}); o.Kernels[0] != want || o.Kernels[1].Slot != kernel.TopK {
		t.Errorf("runs in %v", o.Kernels)
	}
	wide := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	if o := find(t, lowered(assume.Physical, m, wide, decode), op.ExpertSelection); o.Kernels[0].Slot != kernel.TopK {
		t.Errorf("before an exchange: %v", o.Kernels)
	}
}

// TestSlowExchange: an older exchange takes as long as that of so many more tokens, but sends its
// own.
func TestSlowExchange(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	slow := p
	slow.SlowPrefill, slow.SlowDecode = plan.Slowdown{Dispatch: 1.5, Combine: 1.25}, plan.Slowdown{Combine: 1.125}
	for _, c := range []struct {
		step              op.Group
		dispatch, combine float64
	}{{prefill, 1.5, 1.25}, {decode, 1, 1.125}} {
		now, then := lowered(assume.Physical, m, p, c.step), lowered(assume.Physical, m, slow, c.step)
		for kind, times := range map[op.Kind]float64{op.Dispatch: c.dispatch, op.Combine: c.combine} {
			before, after := find(t, now, kind), find(t, then, kind)
			if got := after.Slowness(); math.Abs(got-times) > 1e-12 || before.Slowness() != 1 {
				t.Errorf("%v: as long as %g times the tokens, want %g; before %g", kind, got, times, before.Slowness())
			}
			if after.M != before.M || after.Moved != before.Moved {
				t.Errorf("%v: sends %g bytes of %g tokens, not %g of %g", kind, after.Moved, after.M, before.Moved, before.M)
			}
		}
	}
}

// TestCopies: which copy of 2 experts 3 tokens go to is found by two kernels, or by as many as a
// plan has, each of which reads and writes 6 numbers.
func TestCopies(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	if o := only(lowered(assume.Physical, m, p, decode), op.ExpertCopies); len(o) > 0 {
		t.Errorf("no copies: %+v", o)
	}
	p.Redundant = 2
	list := lowered(assume.Physical, m, p, decode)
	o := find(t, list, op.ExpertCopies)
	bytes(t, "moved", o.Moved, 2*6*2)
	selected := find(t, list, op.ExpertSelection)
	if o.Repeat != 2*selected.Repeat {
		t.Errorf("%g kernels where experts are selected %g times", o.Repeat, selected.Repeat)
	}
	p.CopyKernels = 8
	if o := find(t, lowered(assume.Physical, m, p, decode), op.ExpertCopies); o.Repeat != 8*selected.Repeat {
		t.Errorf("%g kernels, of 8", o.Repeat)
	}
	as := assume.Physical
	as.SmallKernels = false
	if o := only(lowered(as, m, p, decode), op.ExpertCopies); len(o) > 0 {
		t.Errorf("without small kernels: %+v", o)
	}
}

// TestUnfused: the kernels of SGLang 0.4.6 around an exchange of 3 tokens of each of 2 ranks, which
// visit 2 of 8 experts 256 wide: 6 numbers of experts are read in 4 bytes and written in 8; 2
// scales of each row that 4 experts have room for, 128 of each rank, are read and written in 4;
// what comes back is read and written. Nothing of it is there where it is fused, or where nothing
// is sent.
func TestUnfused(t *testing.T) {
	m := groupQuery()
	m.Experts = model.Experts{Routed: 8, TopK: 2, Width: 256, CapacityFactor: 1, Interval: 1}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true}, Batch: three}
	const turned = 2.4 // times the bytes: copies that turn rows around take so much longer
	kinds := []op.Kind{op.CacheWrite, op.ExpertIndices, op.ScaleTranspose, op.ExpertScaling, op.HeadsTranspose}
	if o := only(lowered(assume.Physical, m, p, decode), kinds...); len(o) > 0 {
		t.Errorf("fused: %+v", o)
	}
	p.Unfused = plan.Unfused{ScaleRows: 128, Transposed: turned}
	list := lowered(assume.Physical, m, p, decode)
	bytes(t, "indices", find(t, list, op.ExpertIndices).Moved, 6*(4+8))
	bytes(t, "scales", find(t, list, op.ScaleTranspose).Moved, turned*4*2*128*2*(4+4))
	if o := only(list, op.ExpertScaling); len(o) > 0 {
		t.Errorf("no factor: %+v", o)
	}
	if o := only(lowered(assume.Physical, m, p, prefill), op.ScaleTranspose); len(o) > 0 {
		t.Errorf("prompts come in rows: %+v", o)
	}
	if o := only(physically(assume.Physical, m, fused, p, decode), kinds...); len(o) != 1 || o[0].Kind != op.ExpertIndices {
		t.Errorf("numbers of 16 bits have no scales: %+v", o)
	}
	latent := latentModel()
	latent.Experts = m.Experts
	list = lowered(assume.Physical, latent, p, decode)
	bytes(t, "scaling", find(t, list, op.ExpertScaling).Moved, 2*3*float64(latent.Hidden)*2)
	bytes(t, "heads", find(t, list, op.HeadsTranspose).Moved, turned*2*3*4*5*2) // of 4 heads
	bytes(t, "cache", find(t, list, op.CacheWrite).Moved, 2*3*(4+1)*2)          // latents of 4, rotary keys of 1
	p.Gathered = true
	if o := only(lowered(assume.Physical, m, p, decode), kinds...); len(o) > 0 {
		t.Errorf("nothing is sent: %+v", o)
	}
}

// TestNarrowIndex: a key of 128 elements takes 132 bytes: 128 of 8 bits and a scale. Its scores are
// computed in 8 bits.
func TestNarrowIndex(t *testing.T) {
	m := latentModel()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK = 2, 128, 4
	o := find(t, lowered(assume.Physical, m, oneRank, decode), op.IndexScores)
	bytes(t, "keys", o.Cache, 3*10*132)
	if o.Unit != op.IndexUnit {
		t.Errorf("scored on unit %d", o.Unit)
	}
	o = find(t, lowered(bare, m, oneRank, decode), op.IndexScores)
	bytes(t, "keys as wide as the cache", o.Cache, 3*10*128)
	if o.Unit != op.AttentionMatrixUnit {
		t.Errorf("scored on unit %d", o.Unit)
	}
}

// TestIndexSmall: 3 tokens with 2 queries and a key of 128 elements. All are read and written in 16
// bits when they get their positions; the queries become 8 bits and a scale of 4 bytes each, and so
// does the key, in its cache.
func TestIndexSmall(t *testing.T) {
	m := latentModel()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK = 2, 128, 4
	list := lowered(assume.Physical, m, oneRank, decode)
	bytes(t, "positions", find(t, list, op.IndexRotary).Moved, 3*3*128*2*2)
	bytes(t, "queries", find(t, list, op.IndexQuantise).Moved, 3*2*(128*2+132))
	bytes(t, "key", find(t, list, op.IndexWrite).Moved, 3*(128*2+132))
	// An element is scaled and rounded.
	for kind, want := range map[op.Kind]float64{op.IndexQuantise: 2 * 3 * 2 * 128, op.IndexWrite: 2 * 3 * 128} {
		if o := find(t, list, kind); o.Flops != want {
			t.Errorf("%v: %v operations, by hand %v", kind, o.Flops, want)
		}
	}
	if n := len(only(lowered(bare, m, oneRank, decode), op.IndexRotary, op.IndexQuantise, op.IndexWrite)); n > 0 {
		t.Errorf("%d operators without small kernels", n)
	}
}

// TestIndexKernels: an engine may have more small kernels before what makes the queries of an
// indexer narrow, or none, with the key and the weights of 2 heads in one product of 128 + 2
// columns. Only indexers of latent attention are its.
func TestIndexKernels(t *testing.T) {
	m := latentModel()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK = 2, 128, 4
	p := oneRank
	once := find(t, lowered(assume.Physical, m, p, decode), op.IndexRotary).Repeat
	p.IndexKernels = 9
	if o := find(t, lowered(assume.Physical, m, p, decode), op.IndexRotary); o.Repeat != 9*once {
		t.Errorf("%g kernels, of 9 in each of %g layers", o.Repeat, once)
	}
	p.IndexFused = true
	list := lowered(assume.Physical, m, p, decode)
	if n := len(only(list, op.IndexRotary, op.IndexKey)); n > 0 {
		t.Errorf("fused, with %d operators apart", n)
	}
	if o := find(t, list, op.IndexWeights); o.N != 130 {
		t.Errorf("a product of %g columns, want 130", o.N)
	}
	bytes(t, "queries", find(t, list, op.IndexQuantise).Moved, 3*2*(128*2+132))
	m = groupQuery()
	m.Attention.IndexHeads, m.Attention.IndexDim, m.Attention.IndexTopK = 2, 128, 4
	if n := len(only(lowered(assume.Physical, m, p, decode), op.IndexRotary, op.IndexKey)); n != 2 {
		t.Errorf("beside grouped attention %d of 2 operators", n)
	}
}

// TestIndexSkips: of prompts that are no longer than an indexer picks, an engine may make the keys
// alone: nothing is scored, but keys are written. Longer ones and steps that decode have all of it.
func TestIndexSkips(t *testing.T) {
	m := latentModel()
	m.Attention.IndexHeads, m.Attention.IndexDim = 2, 128
	p := oneRank
	p.SkipsIndex, p.IndexKernels = true, 9
	for _, c := range []struct {
		group  op.Group
		picks  int
		scores int
	}{{prefill, 1 << 20, 0}, {prefill, 1, 1}, {decode, 1 << 20, 1}} {
		m.Attention.IndexTopK = c.picks
		list := lowered(assume.Physical, m, p, c.group)
		if n := len(only(list, op.IndexScores)); n != c.scores {
			t.Errorf("phase %d, %d picked: scored %d times", c.group.Phase, c.picks, n)
		}
		if n := len(only(list, op.IndexKey, op.IndexWrite)); n != 2 {
			t.Errorf("phase %d, %d picked: %d operators for the key, of 2", c.group.Phase, c.picks, n)
		}
	}
	m.Attention.IndexTopK = 1 << 20
	list := lowered(assume.Physical, m, p, prefill)
	if o, key := find(t, list, op.IndexRotary), find(t, list, op.IndexKey); o.Repeat != key.Repeat {
		t.Errorf("%g kernels for %g keys", o.Repeat, key.Repeat)
	}
}

// TestDeltaGates: 3 tokens of 4 heads read two numbers of 16 bits and write two of 32.
func TestDeltaGates(t *testing.T) {
	m := dense(model.Attention{Kind: model.GatedDelta, Heads: 4, KVHeads: 2, HeadDim: 2, ValueDim: 3, Conv: 4}, model.Gated)
	o := find(t, lowered(assume.Physical, m, oneRank, decode), op.LinearGates)
	bytes(t, "moved", o.Moved, 3*4*(2*2+2*4))
	for g, slot := range map[op.Group]kernel.Slot{decode: kernel.LinearDecode, prefill: kernel.LinearPrefill} {
		o := find(t, lowered(assume.Physical, m, oneRank, g), op.LinearGates)
		want := kernel.Uses{{Slot: slot, Role: kernel.GatesMade}, {Slot: kernel.DeltaGates}, {Slot: kernel.AddNorm, Role: kernel.Alone}}
		if o.Kernels != want {
			t.Errorf("gates are made in %v, want %v", o.Kernels, want)
		}
	}
}

// TestRotate: 3 tokens with queries 8 wide and keys 4 wide: six operations for each pair of
// elements, which is three for each. Queries are read and written, keys and values read in 16 bits
// and written to a cache of 8.
func TestRotate(t *testing.T) {
	o := find(t, lowered(assume.Physical, groupQuery(), oneRank, decode), op.Rotary)
	if o.Flops != 3*3*(8+4) {
		t.Errorf("%g operations", o.Flops)
	}
	bytes(t, "activations", o.Activations, 3*(2*8+8)*2)
	bytes(t, "cache", o.Cache, 3*8)
	bytes(t, "queries", o.Output, 3*8*2)
	bytes(t, "moved", o.Moved, 3*(2*8+8)*2+3*8)
}
