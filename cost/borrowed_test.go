package cost

import (
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

func flat(latency float64) kernel.Base {
	return kernel.Base{Latency: latency, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}
}

// TestBorrowed: kernels of another chip take longer by their kind, and all that is launched a
// microsecond more. A product takes a second; an all-reduce of 10 bytes its latency of 1 s and 2 ·
// 10 · (1 - 1/2) bytes at 1 GB/s.
func TestBorrowed(t *testing.T) {
	set := &kernel.Set{
		System:      "another",
		Gemm:        map[string]*kernel.GemmModel{"bfloat16": {Base: flat(1), Weight: 2, Input: 2, Output: 2}},
		Elementwise: map[string]*kernel.Curve{"add_rmsnorm": {Latency: 1, Memory: kernel.Flat(1)}},
		Collective:  map[string]*kernel.CollectiveModel{"all_reduce": {Latency: 1, Share: 1, Memory: kernel.Flat(1)}},
	}
	product := operator(op.QKV, kernel.Shape{M: 1, N: 1, K: 1, Count: 1, Rows: 1})
	residual := operator(op.AttentionResidual, kernel.Shape{Moved: 1e9})
	sent := operator(op.AttentionAllReduce, kernel.Shape{Group: 2, Moved: 10})
	sent.Collective, sent.Span, sent.Kernels = hardware.AllReduce, 2, kernel.Uses{{Slot: kernel.AllReduce}}

	plain := pricer(t, set)
	alone, beside, message := plain.unitTime(product), plain.unitTime(residual), plain.Communicate(sent).Time

	s := chip(set)
	s.Borrowed.Launch = 0.25
	s.Borrowed.Efficiency[kernel.Products], s.Borrowed.Efficiency[kernel.Elementwise] = 0.5, 0.8
	s.Borrowed.Efficiency[kernel.Collectives] = 0.4
	p, err := NewPricer(s, &bf16, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "a product", p.unitTime(product), alone/0.5+0.25)
	near(t, "what is fused with a norm", p.unitTime(residual), beside/0.8)
	near(t, "an all-reduce", p.Communicate(sent).Time, message/0.4+0.25)

	// What a product was measured with is in its time, but a kernel besides.
	quantise := operator(op.QKV, kernel.Shape{M: 1, N: 1, K: 1, Count: 1, Rows: 1})
	set.Gemm["bfloat16"].Include("quantise")
	for role, launches := range map[kernel.Role]float64{kernel.Quantised: 1, kernel.Following: 1, kernel.Within: 0} {
		quantise.Kernels = kernel.Uses{{Slot: kernel.Gemm, Role: role}, {Slot: kernel.AddNorm}}
		for _, launch := range []float64{0, 0.25} {
			s.Borrowed.Launch = launch
			if p, err = NewPricer(s, &bf16, &assume.Reference); err != nil {
				t.Fatal(err)
			}
			near(t, "what a product was measured with", p.unitTime(quantise), launches*launch)
		}
	}
	if err := p.On(chip(set)); err != nil {
		t.Fatal(err)
	}
	near(t, "the same on a chip of its own", p.unitTime(product), alone)
}

// TestBandwidthShare: kernels of another chip that reach half of its rate and a quarter of its
// bandwidth. A product of 12000 operations of 1e-12 s takes twice and its 2200 bytes of 1e-9 s four
// times as long; the latency is that of its kind.
func TestBandwidthShare(t *testing.T) {
	here := kernel.Surface{Axes: [][]float64{{10}, {20}, {30}}, Slowdown: []float64{1}}
	set := &kernel.Set{System: "another", Gemm: map[string]*kernel.GemmModel{"bfloat16": {
		Base: kernel.Base{Latency: 1, Norm: 1, Compute: here, Memory: here}, Weight: 2, Input: 2, Output: 2,
	}}}
	product := operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1})
	s := chip(set)
	s.Borrowed.Efficiency[kernel.Products], s.Borrowed.Memory = 0.5, 0.25
	p, err := NewPricer(s, &bf16, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "a product", p.unitTime(product), 1/0.5+12000e-12/0.5+2200e-9/0.25)
}

// TestEngineAllReduce: an engine whose all-reduce takes 2 s longer than the measured one; an
// all-gather takes no longer.
func TestEngineAllReduce(t *testing.T) {
	set := &kernel.Set{System: "chip", Collective: map[string]*kernel.CollectiveModel{
		"all_reduce": {Latency: 1, Share: 1, Memory: kernel.Flat(1)}, "all_gather": {Latency: 1, Share: 1, Memory: kernel.Flat(1)},
	}}
	for slot, c := range map[kernel.Slot]struct {
		collective hardware.Collective
		longer     float64
	}{kernel.AllReduce: {hardware.AllReduce, 2}, kernel.AllGather: {hardware.AllGather, 0}} {
		sent := operator(op.AttentionAllReduce, kernel.Shape{Group: 2, Moved: 10})
		sent.Collective, sent.Span, sent.Kernels = c.collective, 2, kernel.Uses{{Slot: slot}}
		precision := bf16
		precision.AllReduce = 2
		p, err := NewPricer(chip(set), &precision, &assume.Reference)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "of this engine", p.Communicate(sent).Time, pricer(t, set).Communicate(sent).Time+c.longer)
	}
}

// TestModuleRates: products of a module run in its kernels, at its rates. Experts of four bits that
// are multiplied in 16 have a kernel of their own, attention one of 8 bits.
func TestModuleRates(t *testing.T) {
	set := &kernel.Set{
		System:  "chip",
		Gemm:    map[string]*kernel.GemmModel{"bfloat16": {Base: flat(1), Weight: 2}, "float8": {Base: flat(2), Weight: 1}},
		Experts: map[string]*kernel.GroupedModel{"bfloat16": {Base: flat(4), Weight: 2}, "int4": {Base: flat(8), Weight: 0.5}},
	}
	s := chip(set)
	s.Matrix["float8"] = hardware.MatrixEngine{TFlops: 4, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}
	prec := plan.Precision{Weight: 1, Activation: 1, Cache: 2, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"}
	prec.Modules[model.ExpertModule] = plan.Product{Weight: 0.5625, Activation: 2, Type: "bfloat16", Stored: "int4"}
	prec.Modules[model.EndModule] = plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}
	p, err := NewPricer(s, &prec, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	of := func(k op.Kind) *op.Op {
		o := operator(k, kernel.Shape{M: 1, N: 1, K: 1, Count: 1, Rows: 1})
		o.Module, o.Flops = k.Info().Module, 1e12
		return o
	}
	for kind, want := range map[op.Kind]float64{op.QKV: 2, op.Router: 1, op.OutputHead: 1, op.ExpertGateUp: 8} {
		if got := p.unitTime(of(kind)); got < want || got > want+1e-6 {
			t.Errorf("%s takes %g s, its kernel at least %g", kind, got, want)
		}
	}
	// Without kernels the rates tell: 1 T operations at 4 T/s and at 1 T/s, in units of the
	// reference preset.
	s.Kernels = nil
	if err := p.On(s); err != nil {
		t.Fatal(err)
	}
	if a, b := p.unitTime(of(op.QKV)), p.unitTime(of(op.OutputHead)); b/a != 4 {
		t.Errorf("a product in 8 bits takes %g s, one in 16 %g", a, b)
	}
	prec.Modules[model.ExpertModule].Type = "int2"
	if _, err := NewPricer(s, &prec, &assume.Reference); err == nil {
		t.Error("takes a type that the chip does not have")
	}
}

// TestWeightOnly: on a chip that unpacks narrow weights through memory, experts of four bits with
// activations of 16 run in the kernel of 16 bits with 2/1.25 bytes of each weight; those that are
// multiplied in 8 bits, and wide ones, run as they do anywhere.
func TestWeightOnly(t *testing.T) {
	set := &kernel.Set{
		System:  "another",
		Gemm:    map[string]*kernel.GemmModel{"bfloat16": {Base: flat(0), Weight: 2}, "float8": {Base: flat(0), Weight: 1}},
		Experts: map[string]*kernel.GroupedModel{"bfloat16": {Base: flat(0), Weight: 2}, "int4": {Base: flat(8), Weight: 0.5}},
	}
	s := chip(set)
	s.Matrix["float8"] = s.Matrix["bfloat16"]
	prec := plan.Precision{Weight: 0.5, Activation: 1, Cache: 2, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"}
	prec.Modules[model.ExpertModule] = plan.Product{Weight: 0.5625, Activation: 2, Type: "bfloat16", Stored: "int4"}
	prec.Modules[model.EndModule] = plan.Product{Weight: 2, Activation: 2, Type: "bfloat16"}
	p, err := NewPricer(s, &prec, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	of := func(k op.Kind) *op.Op {
		o := operator(k, kernel.Shape{M: 1, N: 1000, K: 1000, Count: 1, Rows: 1})
		o.Module = k.Info().Module
		return o
	}
	narrow, wide := p.unitTime(of(op.QKV)), p.unitTime(of(op.OutputHead))
	if got := p.unitTime(of(op.ExpertGateUp)); got < 8 {
		t.Errorf("experts take %g s without their kernel", got)
	}
	s.Borrowed.WeightOnly = 1.25
	if err := p.On(s); err != nil {
		t.Fatal(err)
	}
	near(t, "a product in 8 bits", p.unitTime(of(op.QKV)), narrow)
	near(t, "one in 16", p.unitTime(of(op.OutputHead)), wide)
	// Two products, 1000 × 1000 and 1000 × 1000 without a gate: 2 Mflop and 1.6 MB each, one after
	// the other.
	near(t, "experts", p.unitTime(of(op.ExpertGateUp)), 2*(2e6/1e12+1.6e6/1e9))
}
