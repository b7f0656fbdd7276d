package estimate_test

import (
	"math"
	"slices"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/estimate"
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// The chip of these tests moves one byte per second and computes in no time: seconds are bytes. Two
// processors are joined at 10 B/s and 1 s a hop, more of them at 2 B/s and 3 s. An element takes
// one byte.
func slowChip() *hardware.System {
	level := func(size int, bandwidth, latency float64) hardware.Network {
		n := hardware.Network{
			Bandwidth: bandwidth, Efficiency: 1, Topology: "switch", Size: size, Latency: latency,
			MessageSize: hardware.SizeTable{{AtLeast: 0, Efficiency: 1}},
		}
		for c, s := range [hardware.CollectiveCount][2]float64{
			hardware.PointToPoint: {1, 0}, hardware.ReduceScatter: {1, -1}, hardware.AllGather: {1, -1},
			hardware.AllReduce: {2, -1}, hardware.AllToAll: {1, -1},
		} {
			n.Ops[c] = hardware.CollectiveRate{Scale: s[0], Offset: s[1], Lowest: 1}
		}
		return n
	}
	return &hardware.System{
		Name: "slow", ProcsPerNPU: 1,
		Matrix: map[string]hardware.MatrixEngine{"float8": {TFlops: 1e30, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}},
		Vector: map[string]hardware.VectorEngine{"float8": {TFlops: 1e30, Calibration: 1, Efficiency: hardware.SizeTable{{AtLeast: 0, Efficiency: 1}}}},
		Memory: hardware.Memory{
			GiB: 1, GBps: 1, Calibration: 1, Efficiency: hardware.SizeTable{{AtLeast: 0, Efficiency: 1}},
			Attention: hardware.PhaseFactor{Decode: 1, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 1, Prefill: 1},
		},
		Networks: []hardware.Network{level(2, 10, 1), level(64, 2, 3)},
	}
}

// The model of these tests has 4 layers, hidden width 4, two heads of 2 elements that share keys
// and values, a plain feed-forward block of width 4. The bytes of a layer with m tokens of s
// sequences that attend to c:
//
//	input norm         4 +  8m
//	qkv 4 → 8         32 + 12m
//	attention               8m + 4·s·c    keys and values, 2 elements each
//	output 4 → 4      16 +  8m
//	residual               12m
//	                  52 + 48m + 4·s·c
//	mlp norm           4 +  8m
//	up 4 → 4          16 +  8m
//	activation              8m
//	down 4 → 4        16 +  8m
//	residual               12m
//	                  36 + 44m
//	all of it         88 + 92m + 4·s·c
//
// The largest results are 8m of qkv, and 4m in the feed-forward block. A token takes 4 bytes of
// cache in every layer.
func tiny(phase op.Phase) *estimate.Problem {
	return &estimate.Problem{
		Model: &model.Model{
			Hidden: 4, Layers: 4, FeedForward: 4, MLP: model.Plain,
			Attention: model.Attention{Kind: model.GroupQuery, Heads: 2, KVHeads: 1, HeadDim: 2},
		},
		Settings: &model.Settings{Flash: true}, System: slowChip(), Phase: phase,
		Lengths: workload.Lengths{Input: 10, Output: 4},
		Precision: plan.Precision{
			Weight: 1, Activation: 1, Cache: 1, Comm: 1,
			MatrixType: "float8", AttentionType: "float8", VectorType: "float8",
		},
		Assume: &assume.Assumptions{FlopsPerTFlop: 1, BytesPerGB: 1, FusedAttentionAtMatrixType: true},
	}
}

// evaluated is all that is said about a plan.
type evaluated struct {
	estimate.Estimate
	*estimate.Detail
	Operators []estimate.Operator
}

// stageOf is the operators of the layers.
func stageOf(all []estimate.Operator) []estimate.Operator {
	return slices.DeleteFunc(slices.Clone(all), func(o estimate.Operator) bool { return o.Part != estimate.StagePart })
}

func evaluate(t *testing.T, p *estimate.Problem, pl plan.Plan) evaluated {
	t.Helper()
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	var out estimate.Estimate
	e.Evaluate(&pl, &out)
	if m := e.MemoryOf(&pl); m != out.Memory {
		t.Errorf("memory %+v, alone %+v", out.Memory, m)
	}
	return evaluated{out, e.Detail(&pl), e.Operators(&pl)}
}

func layout(dp, pp, tp, cp int) plan.Split { return plan.Split{DP: dp, PP: pp, TP: tp, CP: cp} }

type check struct {
	what      string
	got, want float64
}

func same(t *testing.T, checks ...check) {
	t.Helper()
	for _, c := range checks {
		if math.Abs(c.got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestPrefill: two prompts of 10 tokens: 88 + 92·20 + 4·2·10 = 2008 s a layer, 8032 s in all.
func TestPrefill(t *testing.T) {
	t.Run("one stage", func(t *testing.T) {
		got := evaluate(t, tiny(op.Prefill), plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}})
		same(t,
			check{"stage", got.StageTime, 8032},
			check{"memory-bound", got.Stage.BoundBy(cost.Memory), 8032},
			check{"attention", got.Stage.Block[op.AttentionBlock].Time(), 4 * (52 + 48*20 + 80)},
			check{"TTFT", got.Latency, 8032},
			check{"step", got.StepTime, 8032},
			check{"transfer", got.TransferTime, 0},
			check{"throughput", got.Throughput, 20.0 / 8032},
			check{"requests", got.Requests, 2.0 / 8032},
			check{"cache", got.Memory.Cache, 2 * 10 * 4 * 4},
			check{"attention weights", got.Memory.Weights[op.AttentionBlock], 4 * 52},
			check{"mlp weights", got.Memory.Weights[op.MLPBlock], 4 * 36},
			check{"attention working space", got.Memory.Working[op.AttentionBlock], 160},
			check{"mlp working space", got.Memory.Working[op.MLPBlock], 80},
			check{"memory", got.Memory.Total(), 352 + 160 + 320},
		)
		if got.KV != (estimate.Transfer{}) {
			t.Errorf("%+v is sent without a handover", got.KV)
		}
	})
	// Two stages of two layers, one after the other. Each hands on 20·4 bytes: 1 + 80/10 s.
	t.Run("two stages", func(t *testing.T) {
		got := evaluate(t, tiny(op.Prefill), plan.Plan{Layout: plan.Layout{Attention: layout(1, 2, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}})
		same(t,
			check{"stage", got.StageTime, 4016},
			check{"transfer", got.TransferTime, 18},
			check{"TTFT", got.Latency, 8050},
			check{"throughput", got.Throughput, 20.0 / 8050},
			check{"requests", got.Requests, 2.0 / 8050},
			check{"memory", got.Memory.Total(), 176 + 160 + 320}, // the cache of all layers, as the reference tool has it
		)
	})
	// The pipeline of two stages on two replicas, three micro-batches.
	t.Run("micro-batches", func(t *testing.T) {
		got := evaluate(t, tiny(op.Prefill), plan.Plan{Layout: plan.Layout{Attention: layout(2, 2, 1, 1)}, Batch: plan.Batch{Count: 3, Size: 2}})
		same(t,
			check{"stage", got.StageTime, 4016},
			check{"transfer", got.TransferTime, 54},
			check{"TTFT", got.Latency, 3 * 8050},
			check{"throughput", got.Throughput, 2 * 20.0 / 8050},
			check{"requests", got.Requests, 2 * 2.0 / 8050},
			check{"memory", got.Memory.Total(), 176 + 160 + 3*320},
		)
	})
	// 4 of the 10 tokens are cached: 12 tokens are computed, 88 + 92·12 + 80 = 1272 s a layer. The
	// throughput is that of whole prompts.
	t.Run("cached", func(t *testing.T) {
		p := tiny(op.Prefill)
		p.Lengths.Cached = 4
		got := evaluate(t, p, plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}})
		same(t,
			check{"TTFT", got.Latency, 4 * 1272},
			check{"throughput", got.Throughput, 20.0 / 5088},
			check{"memory", got.Memory.Total(), 352 + 8*12 + 320},
		)
	})
	// Two parts of the context: 10 tokens each, and all keys and values: 88 + 920 + 80 = 1088 s a
	// layer. The ring passes 10·4 bytes once in each layer: 1 + 4 s. Each part keeps half of the
	// cache.
	t.Run("two parts of the context", func(t *testing.T) {
		got := evaluate(t, tiny(op.Prefill), plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 2)}, Batch: plan.Batch{Count: 1, Size: 2}})
		same(t,
			check{"TTFT", got.Latency, 4*1088 + 4*5},
			check{"ring", got.Comm[op.ContextTraffic].Exposed, 20},
			check{"ring bytes", got.Comm[op.ContextTraffic].Bytes, 160},
			check{"exposed", got.Stage.Exposed(), 20},
			check{"cache", got.Memory.Cache, 160},
			check{"throughput", got.Throughput, 20.0 / 4372},
		)
	})
}

// TestDecodeWithDrafts: context 10 + 4/2 + 1 = 13. Two drafts of two sequences are verified with
// the next token: 6 tokens, 88 + 92·6 + 4·2·13 = 744 s a layer, 2976 s. A draft projects 2 tokens
// from 8 to 4 elements, 32 + 24 s, and passes one layer, 88 + 184 + 104 s: 432 s. Of the drafts 1/2
// and then 1/4 are accepted: 1 + 1/2 + 1/8 = 1.625 tokens.
func TestDecodeWithDrafts(t *testing.T) {
	p := tiny(op.Decode)
	p.Acceptance = []float64{0.5, 0.25, 1}
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1), Drafts: 2}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"tokens per step", estimate.TokensPerStep(p.Acceptance, 2), 1.625},
		check{"stage", got.StageTime, 2976},
		check{"draft", got.DraftTime, 864},
		check{"step", got.StepTime, 3840},
		check{"TPOT", got.Latency, 3840 / 1.625},
		check{"throughput", got.Throughput, 2 * 1.625 / 3840},
		check{"requests", got.Requests, 2 * 1.625 / 3840 / 4},
		// The draft layer and its projection, 88 + 32, besides the four; qkv of 6 tokens; 14 tokens
		// in 4 + 1 layers.
		check{"attention weights", got.Memory.Weights[op.AttentionBlock], 5*52 + 32},
		check{"mlp weights", got.Memory.Weights[op.MLPBlock], 5 * 36},
		check{"working space", got.Memory.Working[op.AttentionBlock], 48},
		check{"cache", got.Memory.Cache, 2 * 14 * 5 * 4},
		check{"memory", got.Memory.Total(), 472 + 48 + 560},
	)

	// Two stages and three micro-batches: the draft module runs once for each micro-batch, in the
	// last stage. 6 tokens are handed on, 1 + 24/10 s from each stage.
	pl.Attention, pl.Batch.Count = layout(1, 2, 1, 1), 3
	got = evaluate(t, p, pl)
	same(t,
		check{"draft", got.DraftTime, 3 * 864},
		check{"transfer", got.TransferTime, 3 * 2 * 3.4},
		check{"step", got.StepTime, 3 * (2976 + 6.8 + 864)},
		check{"TPOT", got.Latency, 3 * 3846.8 / 1.625},
		check{"throughput", got.Throughput, 2 * 1.625 / 3846.8},
		check{"weights", got.Memory.Weights[op.AttentionBlock], 3*52 + 32},
		check{"cache", got.Memory.Cache, 3 * 560},
	)

	// Without drafts: 88 + 184 + 104 = 376 s a layer.
	pl = plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}}
	got = evaluate(t, p, pl)
	same(t,
		check{"TPOT", got.Latency, 1504},
		check{"throughput", got.Throughput, 2.0 / 1504},
		check{"memory", got.Memory.Total(), 352 + 16 + 2*14*4*4},
	)
}

// TestTensorTraffic: two ranks all-reduce 2·4 bytes twice in each layer, 8 bytes each: 2 hops and
// 8/10 s.
func TestTensorTraffic(t *testing.T) {
	p := tiny(op.Decode)
	p.Acceptance = []float64{0.5}
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 2, 1)}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"exposed", got.Comm[op.TensorTraffic].Exposed, 4 * 2 * 2.8},
		// Twice the 8 bytes, as the reference tool counts, for each of the 4 output tokens.
		check{"bytes", got.Comm[op.TensorTraffic].Bytes, 4 * 2 * 16 * 4},
	)
	// With a draft twice the tokens pass in a step, but a request takes 4/1.5 of them.
	pl.Drafts = 1
	got = evaluate(t, p, pl)
	same(t,
		check{"exposed with drafts", got.Comm[op.TensorTraffic].Exposed, 4 * 2 * 3.6},
		check{"bytes with drafts", got.Comm[op.TensorTraffic].Bytes, 4 * 2 * 32 * 4 / 1.5},
	)
	// Half of it hidden.
	p.System.CollectiveOverlap = 0.5
	got = evaluate(t, p, pl)
	same(t, check{"half hidden", got.Comm[op.TensorTraffic].Exposed, 4 * 2 * 1.8})
}

// TestHandover: the cache of a prompt is 10 tokens · 4 layers · 4 bytes = 160 bytes, that of the
// two 320.
func TestHandover(t *testing.T) {
	prefill := func(span int) *estimate.Problem {
		p := tiny(op.Prefill)
		p.Handover = &estimate.Handover{System: slowChip(), Span: span}
		return p
	}
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}}

	t.Run("fast", func(t *testing.T) {
		// 1 + 320/10 s, of which the last of four layers is exposed.
		got := evaluate(t, prefill(2), pl)
		same(t,
			check{"bytes", got.KV.Bytes, 160},
			check{"time", got.KV.Time, 33},
			check{"exposed", got.KV.Exposed, 8.25},
			check{"hidden", got.KV.Hidden(), 24.75},
			check{"TTFT", got.Latency, 8040.25},
			check{"step", got.StepTime, 8032},
			check{"requests", got.Requests, 2.0 / 8032},
			check{"throughput", got.Throughput, 20.0 / 8032},
		)
	})
	t.Run("outer network", func(t *testing.T) {
		// Pools of three processors do not lie within two: 3 + 320/2 s.
		got := evaluate(t, prefill(3), pl)
		same(t, check{"time", got.KV.Time, 163}, check{"exposed", got.KV.Exposed, 40.75})
	})
	t.Run("slow", func(t *testing.T) {
		// 3 + 320/0.02 s; 3/4 of the 8032 s hide 6024 of them. The transfer limits the requests.
		p := prefill(3)
		p.System.Networks[1].Bandwidth = 0.02
		got := evaluate(t, p, pl)
		same(t,
			check{"time", got.KV.Time, 16003},
			check{"exposed", got.KV.Exposed, 16003 - 6024},
			check{"hidden", got.KV.Hidden(), 6024},
			check{"TTFT", got.Latency, 8032 + 9979},
			check{"requests", got.Requests, 2.0 / 16003},
			check{"throughput", got.Throughput, 20.0 / 8032},
		)
	})
	t.Run("slow at the other end", func(t *testing.T) {
		p := prefill(3)
		p.Handover.System.Networks[1].Bandwidth = 0.02
		got := evaluate(t, p, pl)
		same(t, check{"time", got.KV.Time, 16003}, check{"requests", got.Requests, 2.0 / 16003})
	})
	t.Run("the ranks share the sending", func(t *testing.T) {
		// Two stages of two layers send 160 bytes each: 17 s, of which one of two layers is
		// exposed. Two replicas send at the same time.
		pl := pl
		pl.Attention = layout(2, 2, 1, 1)
		got := evaluate(t, prefill(2), pl)
		same(t,
			check{"bytes", got.KV.Bytes, 160},
			check{"time", got.KV.Time, 17},
			check{"exposed", got.KV.Exposed, 8.5},
			check{"TTFT", got.Latency, 8050 + 8.5},
			check{"requests", got.Requests, 4.0 / 8050},
		)
		// Two ranks keep the one key/value head each, but send it once.
		pl.Attention = layout(1, 1, 2, 1)
		got = evaluate(t, prefill(2), pl)
		same(t, check{"bytes", got.KV.Bytes, 160}, check{"time", got.KV.Time, 17})
	})
	t.Run("micro-batches", func(t *testing.T) {
		// Three of them on the slow network: 3 + 960/0.02 s, of which 3·6024 are hidden.
		p := prefill(3)
		p.System.Networks[1].Bandwidth = 0.02
		pl := pl
		pl.Batch.Count = 3
		got := evaluate(t, p, pl)
		same(t,
			check{"time", got.KV.Time, 48003},
			check{"exposed", got.KV.Exposed, 48003 - 3*6024},
			check{"TTFT", got.Latency, 3*8032 + 29931},
			check{"requests", got.Requests, 6.0 / 48003},
		)
	})
	t.Run("one layer", func(t *testing.T) {
		// Nothing hides the only layer.
		p := prefill(2)
		p.Model.Layers = 1
		got := evaluate(t, p, pl)
		same(t, check{"time", got.KV.Time, 9}, check{"exposed", got.KV.Exposed, 9}, check{"TTFT", got.Latency, 2008 + 9})
	})
}

// TestMemoryWithoutReading: what plans hold is worked out without what their steps read, and stays
// the same.
func TestMemoryWithoutReading(t *testing.T) {
	p := caseProblem(t, 3)
	p.Visited = &experts.Popularity{Spread: assume.Physical.ExpertSpread, Blocks: assume.Physical.ExpertBlocks}
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, pl := range randomPlans(t, p.Model, 256, true) {
		var before, after estimate.Estimate
		e.Evaluate(&pl, &before)
		m := e.MemoryOf(&pl)
		if e.Evaluate(&pl, &after); m != before.Memory || after != before {
			t.Fatalf("%+v: holds %+v by itself, %+v evaluated, and then %+v", pl, m, before, after)
		}
	}
}
