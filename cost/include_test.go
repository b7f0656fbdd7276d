package cost

import (
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// TestIncluded: what a kernel was measured with takes no time besides, and a block of both takes
// that of the kernel alone. Where it was not, 1e9 bytes at 1 GB/s come to it, behind a latency: of
// 2 s for quantisation, of 3 s for the choice of experts.
func TestIncluded(t *testing.T) {
	set := func(with ...string) *kernel.Set {
		measured, here := slow, kernel.Surface{Axes: [][]float64{{10}, {20}, {30}}, Slowdown: []float64{2}}
		measured.Include(with...)
		product := measured
		product.Compute, product.Memory = here, here
		return &kernel.Set{
			Gemm:         map[string]*kernel.GemmModel{"bfloat16": {Base: product, Weight: 2, Input: 2, Output: 2}},
			Experts:      map[string]*kernel.GroupedModel{"bfloat16": {Base: measured, Weight: 2, Input: 2, Output: 2}},
			LinearDecode: map[string]*kernel.LinearAttention{"gated_delta": {Base: measured, Element: 2, State: 4}},
			LatentDecode: map[string]*kernel.DecodeAttention{"bfloat16": {Base: measured, Query: 2}},
			Elementwise: map[string]*kernel.Curve{
				"quantise": {Latency: 2, Memory: kernel.Flat(1)}, "topk": {Latency: 3, Memory: kernel.Flat(1)},
				"delta_gates": {Latency: 4, Memory: kernel.Flat(1)}, "rope_cache": {Latency: 5, Memory: kernel.Flat(1)},
			},
		}
	}
	for _, c := range []struct {
		with    string
		kind    op.Kind
		kernels kernel.Uses
		latency float64
	}{
		{"quantise", op.QuantiseInput, op.QuantiseInput.Info().Kernels, 2},
		{"routing", op.ExpertSelection, kernel.Uses{{Slot: kernel.Experts, Role: kernel.Routed}, {Slot: kernel.TopK}}, 3},
		{"gates", op.LinearGates, kernel.Uses{{Slot: kernel.LinearDecode, Role: kernel.GatesMade}, {Slot: kernel.DeltaGates}}, 4},
		{"rotary", op.Rotary, kernel.Uses{{Slot: kernel.LatentDecode, Role: kernel.Rotated}, {Slot: kernel.RopeCache}}, 5},
	} {
		o := operator(c.kind, kernel.Shape{Rows: 1, Moved: 1e9})
		o.Kernels, o.Repeat = c.kernels, 1
		near(t, c.with+", alone", pricer(t, set()).Price(o).Time, c.latency+1)
		near(t, c.with+", included", pricer(t, set(c.with)).Price(o).Time, 0)
		for _, other := range kernel.Includes() {
			if other != c.with {
				near(t, c.with+" beside "+other, pricer(t, set(other)).Price(o).Time, c.latency+1)
			}
		}
	}
	// A block: quantisation of 1e9 bytes, and a product of 10 × 20 × 30 (see TestProducts). 10·30
	// elements of 3 + 1/32 bytes are what a norm has made narrow where it does so: then the product
	// is without them.
	quantise, product := operator(op.QuantiseInput, kernel.Shape{Moved: 1e9}), operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1})
	quantise.Repeat, product.Repeat = 1, 1
	alone := 1 + 2*12000e-12 + 2*2200e-9
	block := []op.Op{*quantise, *product}
	near(t, "a block", pricer(t, set()).Computing(block), 2+1+alone)
	near(t, "a block in one", pricer(t, set("quantise")).Computing(block), alone)
	set3 := func(with ...string) *kernel.Set { // a product of 3 s and more
		s := set(with...)
		s.Gemm["bfloat16"].Latency = 3
		return s
	}
	product.Kernels[0].Role = kernel.Bare
	near(t, "a bare product", pricer(t, set3("quantise")).Price(product).Time, alone+2-(2+300*(3+1./32)*1e-9))
	near(t, "one that was measured bare", pricer(t, set3()).Price(product).Time, alone+2)
}

// TestIncludedInAll: of two kernels for experts the faster counts, so that routing is only within
// them where it is in both.
func TestIncludedInAll(t *testing.T) {
	with, without := slow, slow
	with.Include("routing")
	o := operator(op.ExpertSelection, kernel.Shape{Rows: 1, Moved: 1e9})
	o.Kernels = kernel.Uses{{Slot: kernel.Experts, Role: kernel.Routed}, {Slot: kernel.TopK}}
	for _, c := range []struct {
		tuned kernel.Base
		want  float64
	}{{with, 0}, {without, 3 + 1}} {
		set := &kernel.Set{
			Experts:     map[string]*kernel.GroupedModel{"bfloat16": {Base: with}, "bfloat16" + kernel.Tuned: {Base: c.tuned}},
			Elementwise: map[string]*kernel.Curve{"topk": {Latency: 3, Memory: kernel.Flat(1)}},
		}
		near(t, "routing", pricer(t, set).Price(o).Time, c.want)
	}
}

// TestLibraryIsBare: where a library stands in for the products of a table, what was measured with
// these is not within them.
func TestLibraryIsBare(t *testing.T) {
	with := slow
	with.Include("quantise")
	set := &kernel.Set{
		Gemm:        map[string]*kernel.GemmModel{"bfloat16": {Base: flat(1), Weight: 2}, "float8": {Base: with, Weight: 1}},
		Elementwise: map[string]*kernel.Curve{"quantise": {Latency: 2, Memory: kernel.Flat(1)}},
	}
	s := chip(set)
	s.Matrix["float8"] = hardware.MatrixEngine{TFlops: 2, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}
	prec := plan.Precision{Weight: 1, Activation: 1, Cache: 2, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"}
	o := operator(op.QuantiseInput, kernel.Shape{Moved: 1e9})
	for _, library := range []bool{false, true} {
		prec.Library = library
		p, err := NewPricer(s, &prec, &assume.Reference)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		if library {
			want = 2 + 1
		}
		near(t, "quantisation", p.Price(o).Time, want)
	}
}

// TestNothingIsSlower by what kernels include: every operator of a model on every built-in system,
// in either phase, whether norms quantise or not. Some are faster.
func TestNothingIsSlower(t *testing.T) {
	m, set := builtin.Model(t, "DeepSeek-V3")
	faster := 0
	for _, name := range hardware.Catalogue.Names() {
		s := builtin.System(t, name)
		if _, ok := s.Matrix["float8"]; !ok || s.Kernels == nil {
			continue
		}
		apart := *s
		apart.Kernels = without(s.Kernels)
		prec := plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: s.VectorTypes()[0]}
		if _, ok := s.Matrix["bfloat16"]; !ok {
			continue
		}
		l := op.NewLowerer(m, set, &prec, &assume.Physical)
		for _, phase := range []op.Phase{op.Decode, op.Prefill} {
			for _, fused := range []bool{false, true} {
				p := plan.Plan{
					Layout:    plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 8, DP: 1}, SharedPerCard: true, Pipelined: true},
					Batch:     plan.Batch{Count: 1, Size: 8},
					Behaviour: plan.Behaviour{Gathered: true, FusedQuantise: fused},
				}
				var list op.List
				var step op.Step
				l.Add(&step, &op.Group{Phase: phase, Sequences: 8, New: 1, Context: 1000, Ends: true})
				l.Stage(&p, &step, &list)
				one, err := NewPricer(s, &prec, &assume.Physical)
				if err != nil {
					t.Fatal(err)
				}
				other, err := NewPricer(&apart, &prec, &assume.Physical)
				if err != nil {
					t.Fatal(err)
				}
				for i := range list.All() {
					o := &list.All()[i]
					if o.Class == op.Comm {
						continue
					}
					with, without := one.Price(o).Time, other.Price(o).Time
					if with > without {
						t.Errorf("%s: %v takes %g s with what its kernel includes, %g s without", name, o.Kind, with, without)
					} else if with < without {
						faster++
					}
				}
			}
		}
	}
	if faster == 0 {
		t.Error("no kernel includes anything")
	}
}

// without is kernels that include nothing.
func without(s *kernel.Set) *kernel.Set {
	out := *s
	out.Gemm = bareModels(s.Gemm, func(m *kernel.GemmModel) *kernel.Base { return &m.Base })
	out.Experts = bareModels(s.Experts, func(m *kernel.GroupedModel) *kernel.Base { return &m.Base })
	out.LinearDecode = bareModels(s.LinearDecode, func(m *kernel.LinearAttention) *kernel.Base { return &m.Base })
	out.LatentDecode = bareModels(s.LatentDecode, func(m *kernel.DecodeAttention) *kernel.Base { return &m.Base })
	out.Share()
	return &out
}

func bareModels[M any](models map[string]*M, base func(*M) *kernel.Base) map[string]*M {
	out := map[string]*M{}
	for key, m := range models {
		changed := *m
		base(&changed).Includes = nil
		out[key] = &changed
	}
	return out
}
