package estimate_test

import (
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// with is the problem of the other tests (see tiny) under more assumptions.
func with(phase op.Phase, change func(*estimate.Problem, *assume.Assumptions)) *estimate.Problem {
	p := tiny(phase)
	change(p, p.Assume)
	return p
}

// TestPipelined: two stages of two layers, two sequences in a batch, a context of 13: 88 + 184 +
// 104 = 376 s a layer, 752 s a stage. Handing on 8 bytes takes 1 + 8/10 s, twice. While a batch
// passes through both stages, a second one does.
func TestPipelined(t *testing.T) {
	p := with(op.Decode, func(_ *estimate.Problem, a *assume.Assumptions) { a.Pipelined = true })
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 2, 1, 1), Pipelined: true}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"stage", got.StageTime, 752},
		check{"transfer", got.TransferTime, 3.6},
		check{"TPOT", got.Latency, 1507.6},
		check{"waiting", got.WaitTime, 0},
		check{"throughput", got.Throughput, 2 * 2 / 1507.6},
		check{"requests", got.Requests, 2 * 2 / 1507.6 / 4},
		check{"weights", got.Memory.Weights[op.AttentionBlock] + got.Memory.Weights[op.MLPBlock], 2 * 88},
		check{"cache", got.Memory.Cache, 2 * 2 * 2 * 14 * 4}, // of 2 layers and 2 sequences in each of 2 batches
	)
	// Alone, a batch takes as long, but there is half of the work.
	pl.Pipelined = false
	got = evaluate(t, p, pl)
	same(t,
		check{"TPOT", got.Latency, 1507.6},
		check{"throughput", got.Throughput, 2 / 1507.6},
		check{"cache", got.Memory.Cache, 4 * 2 * 14 * 4},
	)
	// Of three layers the fuller stage keeps two for both batches.
	pl.Pipelined, p.Model.Layers = true, 3
	got = evaluate(t, p, pl)
	same(t, check{"cache of three layers", got.Memory.Cache, 2 * 2 * 2 * 14 * 4})
	p.Model.Layers = 4
	// Four replicas of four stages: 376 s a stage; 1 + 8/10 s within 2 processors, but 4 are
	// spanned: 3 + 8/2 s.
	pl.Attention = layout(4, 4, 1, 1)
	got = evaluate(t, p, pl)
	same(t,
		check{"TPOT", got.Latency, 4*376 + 4*7},
		check{"throughput", got.Throughput, 4 * 4 * 2.0 / 1532},
	)
}

// TestPipelinedExperts: two stages of two replicas, two sequences on each of the 4 processors, so
// that 2 are in the batch of a replica. The experts of a stage are spread over its two processors,
// which lie next to each other: so the stages lie 2 apart, and 8 bytes pass over the outer network,
// 3 + 8/2 s.
func TestPipelinedExperts(t *testing.T) {
	p := with(op.Decode, func(p *estimate.Problem, a *assume.Assumptions) {
		p.Model.Experts = model.Experts{Routed: 4, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	})
	pl := plan.Plan{
		Layout: plan.Layout{Attention: layout(2, 2, 1, 1), Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true},
		Batch:  plan.Batch{Count: 1, Size: 2},
	}
	got := evaluate(t, p, pl)
	// Attention of 2 tokens: 52 + 96 + 104. Experts: norm 4 + 16, router 16 + 16, selection among 4
	// for each token 16; up and down of 2 experts, 64, on the 4 visits, 64; activation 32,
	// weighting 32, residual 24. Two exchanges of 16 bytes, of which the half is sent: 1 + 8/10 s
	// each; their buffers take no time.
	const layer = 252 + 20 + 32 + 16 + 64 + 64 + 32 + 32 + 24 + 2*1.8
	same(t,
		check{"stage", got.StageTime, 2 * layer},
		check{"transfer", got.TransferTime, 2 * 7},
		check{"TPOT", got.Latency, 4*layer + 14},
		check{"throughput", got.Throughput, 8 / (4*layer + 14)}, // 2 sequences on each of 4 processors
		// Two layers of the attention's 52, norm 4, router 16, and 2 experts of 32.
		check{"weights", got.Memory.Weights[op.AttentionBlock] + got.Memory.Weights[op.MLPBlock], 2 * (52 + 20 + 64)},
		check{"cache", got.Memory.Cache, 2 * 2 * 2 * 14 * 4},
	)
	// One batch alone: 4 sequences in a replica, spread over all 4 processors; the stages of a
	// replica lie side by side.
	pl.Pipelined, pl.Experts.EP = false, 4
	got = evaluate(t, p, pl)
	same(t,
		check{"transfer of one batch", got.TransferTime, 2 * (1 + 16.0/10)},
		check{"throughput of one batch", got.Throughput, 8 / got.StepTime},
	)
}

// TestEndsOfTheModel: a vocabulary of 5. In decode 2 tokens: embedding 16, norm 4 + 16, output
// projection 20 + 2·(4 + 5), sampling 2·10: 94 s. Weights 4 + 20, and 20 of the embedding.
func TestEndsOfTheModel(t *testing.T) {
	ends := func(p *estimate.Problem, a *assume.Assumptions) { a.Ends, p.Model.Vocab = true, 5 }
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}}
	p := with(op.Decode, ends)
	got := evaluate(t, p, pl)
	same(t,
		check{"ends", got.EndsTime, 94},
		check{"TPOT", got.Latency, 4*376 + 94},
		check{"stage", got.StageTime, 4 * 376}, // without the ends
		check{"weights", got.Memory.Weights[op.MLPBlock], 4*36 + 24 + 20},
		check{"working space", got.Memory.Working[op.MLPBlock], 10}, // of the logits; 8 in the layers
	)
	p.Model.Tied = true
	got = evaluate(t, p, pl)
	same(t, check{"tied weights", got.Memory.Weights[op.MLPBlock], 4*36 + 24})

	// 20 tokens of a prefill, 2 of them the last: 160 + 20 + 38 + 20.
	got = evaluate(t, with(op.Prefill, ends), pl)
	same(t, check{"ends of a prefill", got.EndsTime, 238}, check{"TTFT", got.Latency, 8032 + 238})

	// Three micro-batches.
	pl.Batch.Count = 3
	got = evaluate(t, with(op.Decode, ends), pl)
	same(t, check{"ends of three", got.EndsTime, 3 * 94}, check{"TPOT", got.Latency, 3 * (4*376 + 94)})

	// A draft: 4 tokens are verified, 88 + 92·4 + 104 = 560 s a layer, and 32 + 36 + 20 + 36 + 40 =
	// 164 s at the ends. The draft itself takes 432 s (see TestDecodeWithDrafts) and 94 s at the
	// ends.
	pl.Batch.Count, pl.Drafts = 1, 1
	p = with(op.Decode, ends)
	p.Acceptance = []float64{0.5}
	got = evaluate(t, p, pl)
	same(t,
		check{"ends with a draft", got.EndsTime, 164},
		check{"draft", got.DraftTime, 526},
		check{"step", got.StepTime, 4*560 + 164 + 526},
	)
}

// TestSlowestStage: two stages of 752 s, the second with 94 s at the end: a batch would be through
// in 1504 + 3.6 + 94 s, but the next one cannot enter the last stage before 846 s are over: 1692 s
// for two.
func TestSlowestStage(t *testing.T) {
	p := with(op.Decode, func(p *estimate.Problem, a *assume.Assumptions) { a.Ends, p.Model.Vocab = true, 5 })
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 2, 1, 1), Pipelined: true}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"waiting", got.WaitTime, 94 - 3.6},
		check{"TPOT", got.Latency, 2 * 846},
		check{"throughput", got.Throughput, 2.0 / 846},
		// The last stage holds the output projection only.
		check{"weights", got.Memory.Weights[op.MLPBlock], 2*36 + 24},
	)
	// Three layers: 752 and 376 s. With the ends the last takes 470 s, and the first sets the pace;
	// where the last is the fuller one, it takes 846 s as before.
	three := *p.Model
	three.Layers = 3
	q := *p
	q.Model = &three
	pl.LightLast = true
	same(t, check{"TPOT with a lighter last stage", evaluate(t, &q, pl).Latency, 2 * 752})
	pl.LightLast = false
	same(t, check{"TPOT with a fuller last stage", evaluate(t, &q, pl).Latency, 2 * 846})
	// Where handing on takes longer than the ends, nobody waits longer for that: 3 + 8/0.02 s.
	pl.Attention = layout(1, 2, 1, 2)
	p.System.Networks[1].Bandwidth = 0.02
	got = evaluate(t, p, pl)
	if got.WaitTime != 0 {
		t.Errorf("%v s of waiting beside %v s of handing on", got.WaitTime, got.TransferTime)
	}
	// Drafts of both batches in flight are cached behind the last stage: 2·(2 + 1) layers.
	pl.Attention, pl.Drafts = layout(1, 2, 1, 1), 1
	p.Acceptance = []float64{0.5}
	got = evaluate(t, p, pl)
	same(t,
		check{"waiting for the drafts", got.WaitTime, 526 + 164 - 2*(1+16.0/10)},
		check{"cache", got.Memory.Cache, 2 * 2 * 3 * 14 * 4},
		check{"weights with drafts", got.Memory.Weights[op.MLPBlock], 3*36 + 24 + 20}, // drafts need the embedding
	)
}

// TestPipelinedHandover: every stage sends its half of the cache of a batch, 160 bytes: 3 +
// 160/0.02 s on the slow network. Two batches are in flight: 4 prompts leave in 16006 s, although
// they are computed in 8050.
func TestPipelinedHandover(t *testing.T) {
	p := with(op.Prefill, func(p *estimate.Problem, a *assume.Assumptions) {
		p.Handover = &estimate.Handover{System: slowChip(), Span: 3}
		p.System.Networks[1].Bandwidth = 0.02
	})
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 2, 1, 1), Pipelined: true}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"step", got.StepTime, 8050},
		check{"throughput", got.Throughput, 2 * 20.0 / 8050},
		check{"time of a batch", got.KV.Time, 8003},
		check{"exposed", got.KV.Exposed, 8003 - 2008}, // behind one of two layers of the stage
		check{"requests", got.Requests, 4.0 / 16006},
	)
}

// TestSlidingCache: every second of four layers sees 3 tokens and keeps 3: the cache of a sequence
// at the end is 2·14 + 2·3 tokens of 4 bytes. A step reads 13 and 3 tokens.
func TestSlidingCache(t *testing.T) {
	p := tiny(op.Decode)
	a := p.Model.Attention
	a.Window = 3
	p.Model.Mixed = []model.MixedAttention{{Attention: a, Layers: 2}}
	pl := plan.Plan{Layout: plan.Layout{Attention: layout(1, 1, 1, 1)}, Batch: plan.Batch{Count: 1, Size: 2}}
	got := evaluate(t, p, pl)
	same(t,
		check{"TPOT", got.Latency, 2*376 + 2*(88+184+24)},
		check{"cache", got.Memory.Cache, 2 * 34 * 4},
	)
	// The prompts of a prefill leave 2·10 + 2·3 tokens to hand over.
	p.Phase, p.Handover = op.Prefill, &estimate.Handover{System: slowChip(), Span: 2}
	got = evaluate(t, p, pl)
	same(t, check{"handed over", got.KV.Bytes, 26 * 4})
}
