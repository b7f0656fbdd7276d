// Package draw draws small models, systems and problems for property tests.
package draw

import (
	"fmt"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// System is a small chip. With steps its efficiencies depend on the size of the work, so that a
// larger batch can be faster and throughput is not monotonic.
func System(t *rapid.T, steps bool) *hardware.System {
	sizes := func(label string, most float64) hardware.SizeTable {
		rows := 1
		if steps {
			rows = rapid.IntRange(1, 4).Draw(t, label+" rows")
		}
		table := make(hardware.SizeTable, rows)
		threshold := most
		for i := range table {
			table[i] = hardware.SizeRow{AtLeast: threshold, Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" efficiency")}
			threshold *= rapid.Float64Range(0.05, 0.9).Draw(t, label+" ratio")
		}
		return table
	}
	shapes := func(label string) hardware.ShapeTable {
		rows := 0
		if steps {
			rows = rapid.IntRange(0, 4).Draw(t, label+" rows")
		}
		table := make(hardware.ShapeTable, 0, rows+1)
		for range rows {
			row := hardware.ShapeRow{Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" efficiency")}
			if rapid.Bool().Draw(t, label+" bounds m") {
				row.M = float64(rapid.IntRange(0, 300).Draw(t, label+" m"))
			}
			if rapid.Bool().Draw(t, label+" bounds n") {
				row.N = float64(rapid.IntRange(0, 200).Draw(t, label+" n"))
			}
			table = append(table, row)
		}
		return append(table, hardware.ShapeRow{Efficiency: rapid.Float64Range(0.05, 1).Draw(t, label+" last")})
	}
	network := func(label string, size int) hardware.Network {
		n := hardware.Network{
			Bandwidth: rapid.Float64Range(0.01, 10).Draw(t, label+" bandwidth"), Efficiency: 0.8, Size: size,
			Topology:    rapid.SampledFrom([]string{"2dfm", "fullmesh", "ring", "switch", "torus", "fattree"}).Draw(t, label+" topology"),
			Latency:     rapid.Float64Range(0, 1e-5).Draw(t, label+" latency"),
			MessageSize: sizes(label+" message", 1), ProcessorUsage: rapid.Float64Range(0, 0.2).Draw(t, label+" usage"),
		}
		for c := range n.Ops {
			n.Ops[c] = hardware.CollectiveRate{Scale: 1, Offset: -0.5, Lowest: 0.7}
		}
		return n
	}
	mode := hardware.Roofline
	if rapid.IntRange(0, 3).Draw(t, "mode") == 0 {
		mode = hardware.NoOverlap
	}
	return &hardware.System{
		Name: "drawn", ProcsPerNPU: 1, Mode: mode,
		Matrix: map[string]hardware.MatrixEngine{"float8": {
			TFlops: rapid.Float64Range(1e-4, 1).Draw(t, "tflops"), Calibration: 0.8, Efficiency: shapes("matrix"),
		}},
		Vector: map[string]hardware.VectorEngine{"float8": {
			TFlops: rapid.Float64Range(1e-5, 1e-2).Draw(t, "vector tflops"), Calibration: 0.5, Efficiency: sizes("vector", 1e-4),
		}},
		Memory: hardware.Memory{
			GiB: rapid.Float64Range(1e-3, 3e-2).Draw(t, "GiB"), GBps: rapid.Float64Range(1e-2, 10).Draw(t, "GBps"),
			Calibration: 0.8, Efficiency: sizes("memory", 1),
			Attention: hardware.PhaseFactor{Decode: 0.9, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 0.7, Prefill: 1},
		},
		CollectiveOverlap: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "overlap"),
		Networks:          []hardware.Network{network("inner", 4), network("outer", 64)},
	}
}

// Attention is that of some layers: grouped, latent or linear, the first two with or without a
// window, an indexer and compression.
func Attention(t *rapid.T, label string) model.Attention {
	kind := rapid.SampledFrom([]model.AttentionKind{
		model.GroupQuery, model.GroupQuery, model.Latent, model.Latent, model.GatedDelta, model.Lightning, model.ShortConv,
		model.Mamba,
	}).Draw(t, label)
	a := model.Attention{Kind: kind, Heads: 8, KVHeads: 4, HeadDim: 16, Gated: rapid.Bool().Draw(t, label+" gate")}
	some := func(what string, most int) int {
		if rapid.IntRange(0, 2).Draw(t, label+" has a "+what) > 0 {
			return 0
		}
		return rapid.IntRange(1, most).Draw(t, label+" "+what)
	}
	if a.IsLinear() {
		a.Gated, a.Conv = false, some("convolution", 4)
		switch kind {
		case model.ShortConv:
			a.KVHeads, a.Conv = a.Heads, 3
		case model.Mamba:
			a.ValueDim = 8
		case model.GatedDelta:
			a.DecayRank, a.GateRank = some("decay rank", 16), some("gate rank", 16)
		}
		return a
	}
	if kind == model.Latent {
		a = model.Attention{Kind: model.Latent, Heads: 8, QueryRank: 24, KVRank: 32, NopeDim: 16, RopeDim: 8, ValueDim: 16}
	} else {
		a.QKNorm, a.QueryRank = true, some("query rank", 24)
		if a.SharedKV = rapid.IntRange(0, 3).Draw(t, label+" shares keys and values") == 0; !a.SharedKV {
			a.ValueDim = some("value dimension", 16)
		}
	}
	a.ScoreCap = rapid.Bool().Draw(t, label+" caps scores")
	a.Window, a.Compress = some("window", 100), some("compression", 8)
	if a.IndexTopK = some("indexer", 40); a.IndexTopK > 0 {
		a.IndexHeads, a.IndexDim = 4, 8
	}
	if a.OutputRank = some("output rank", 16); a.OutputRank > 0 {
		a.OutputGroups = 4
	}
	return a
}

// Model is a small dense or expert model, with one kind of attention or several.
func Model(t *rapid.T) (*model.Model, *model.Settings) {
	m := &model.Model{
		Name: "drawn", Hidden: 64, Layers: 3, FeedForward: 128, Attention: Attention(t, "attention"),
		Vocab: 256, Tied: rapid.Bool().Draw(t, "tied"),
		PostNorms: rapid.Bool().Draw(t, "norms behind blocks"), LogitCap: rapid.Bool().Draw(t, "caps logits"),
	}
	if rapid.Bool().Draw(t, "mixed") {
		m.Layers = rapid.IntRange(4, 7).Draw(t, "layers")
		for _, label := range []string{"second attention", "third attention"}[:rapid.IntRange(1, 2).Draw(t, "kinds")] {
			m.Mixed = append(m.Mixed, model.MixedAttention{Attention: Attention(t, label), Layers: rapid.IntRange(1, 2).Draw(t, label+" layers")})
		}
	}
	if rapid.Bool().Draw(t, "experts") {
		e := &m.Experts
		*e = model.Experts{Routed: 8, TopK: 2, Shared: 1, Width: 32, CapacityFactor: 1, Interval: rapid.IntRange(1, 2).Draw(t, "interval")}
		e.TopK = rapid.SampledFrom([]int{1, 2, 2, 2, 8}).Draw(t, "visited")
		e.Shared = rapid.SampledFrom([]int{0, 1, 1}).Draw(t, "shared")
		e.SharedWidth = rapid.SampledFrom([]int{0, 0, 96}).Draw(t, "shared width")
		e.Hidden = rapid.SampledFrom([]int{0, 0, 16}).Draw(t, "expert hidden")
		m.FirstDense = rapid.IntRange(0, 2).Draw(t, "leading dense layers")
	}
	if m.FirstDense == 0 {
		m.MixerOnly = rapid.IntRange(0, 2).Draw(t, "layers without a feed-forward block")
	}
	return m, &model.Settings{
		Absorb: rapid.Bool().Draw(t, "absorb"), Flash: rapid.Bool().Draw(t, "flash"),
		SharedReplicas: 4 * m.Experts.Shared, Redundant: 4,
	}
}

// Assumptions are one of the presets, or a mixture. Drawn systems have no gigabyte to spare for the
// runtime.
func Assumptions(t *rapid.T) *assume.Assumptions {
	text := rapid.SampledFrom(assume.Presets()).Draw(t, "assumptions")
	if text == assume.Physical.Name {
		text += ",reserve-gib=0.00001"
	}
	if rapid.IntRange(0, 2).Draw(t, "changed") == 0 {
		for _, d := range assume.Reference.Describe() {
			if d.Value == "true" || d.Value == "false" {
				text += fmt.Sprintf(",%s=%v", d.Name, rapid.Bool().Draw(t, d.Name))
			}
		}
	}
	a, err := assume.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Problem is the search of a phase without a limit: decode with up to two drafts, or prefill with
// context parallelism and maybe a handover of the cache.
func Problem(t *rapid.T, phase op.Phase, procs int, steps bool) *search.Problem {
	m, set := Model(t)
	p := &search.Problem{
		Problem: estimate.Problem{
			Model: m, Settings: set, System: System(t, steps), Assume: Assumptions(t), Phase: phase,
			Lengths: workload.Lengths{Input: rapid.IntRange(4, 64).Draw(t, "input"), Output: rapid.IntRange(1, 64).Draw(t, "output")},
			Precision: plan.Precision{
				Weight: 1, Activation: 1, Cache: 1, Comm: 1,
				MatrixType: "float8", AttentionType: "float8", VectorType: "float8",
			},
		},
		Procs: procs, Redundant: search.Range{Low: set.Redundant, High: set.Redundant},
		SharedPerCard:    rapid.Bool().Draw(t, "shared per card"),
		SequenceParallel: rapid.Bool().Draw(t, "sequence parallel"),
	}
	if phase == op.Decode {
		p.Acceptance = []float64{
			rapid.Float64Range(0, 1).Draw(t, "first acceptance"), rapid.Float64Range(0, 1).Draw(t, "second acceptance"),
		}
		p.Drafts.High = rapid.IntRange(0, 2).Draw(t, "drafts")
		return p
	}
	p.Contexts = []int{1, 2}
	p.Lengths.Cached = rapid.IntRange(0, p.Lengths.Input-1).Draw(t, "cached")
	if rapid.Bool().Draw(t, "handover") {
		p.Handover = &estimate.Handover{System: System(t, steps), Span: rapid.IntRange(2, 16).Draw(t, "span")}
	}
	return p
}

// Phase is one of the two.
func Phase(t *rapid.T) op.Phase {
	return rapid.SampledFrom([]op.Phase{op.Decode, op.Prefill}).Draw(t, "phase")
}

// Plan is one of the valid plans of a problem. Its batch is one sequence.
func Plan(t *rapid.T, p *search.Problem) plan.Plan {
	plans := p.Plans()
	out := plans[rapid.IntRange(0, len(plans)-1).Draw(t, "plan")]
	out.Batch = plan.Batch{Count: 1, Size: 1}
	return out
}

// Only restricts a problem to one plan.
func Only(p search.Problem, only *plan.Plan) *search.Problem {
	p.Layouts = []plan.Split{only.Attention}
	p.Contexts = []int{only.Attention.Context()}
	if p.Model.IsMoE() {
		p.ExpertLayouts = []plan.ExpertSplit{only.Experts}
	}
	p.Redundant = search.Range{Low: only.Redundant, High: only.Redundant}
	p.Drafts = search.Range{Low: only.Drafts, High: only.Drafts}
	return &p
}

// Pair is the searches of both phases of one model, the prefill on its own system or, fused, on
// that of the decode. Memory is so small that not every plan fits, and few batches do.
func Pair(t *rapid.T, procs int, fused bool) (prefill, decode search.Problem) {
	decode = *Problem(t, op.Decode, procs, rapid.Bool().Draw(t, "steps"))
	decode.System.Memory.GiB = rapid.Float64Range(5e-5, 2e-3).Draw(t, "small GiB")
	prefill = decode
	prefill.Phase, prefill.Acceptance, prefill.Drafts = op.Prefill, nil, search.Range{}
	prefill.Lengths.Cached = rapid.IntRange(0, prefill.Lengths.Input-1).Draw(t, "cached")
	if fused {
		return prefill, decode
	}
	prefill.System = System(t, rapid.Bool().Draw(t, "prefill steps"))
	prefill.System.Memory.GiB = rapid.Float64Range(5e-5, 2e-3).Draw(t, "small prefill GiB")
	prefill.Redundant, prefill.SharedPerCard = search.Range{}, false
	prefill.Contexts = []int{1, 2}
	prefill.Handover = &estimate.Handover{System: decode.System, Span: procs}
	return prefill, decode
}
