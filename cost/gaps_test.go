package cost_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/op"
	"throughline/plan"
)

// plainChip does a T operations and moves a GB in a second, and sends a GB between 4 processors.
func plainChip() *hardware.System {
	var ops [hardware.CollectiveCount]hardware.CollectiveRate
	for c := range ops {
		ops[c] = hardware.CollectiveRate{Scale: 1, Lowest: 1}
	}
	return &hardware.System{
		Name:   "plain",
		Matrix: map[string]hardware.MatrixEngine{"bfloat16": {TFlops: 1, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 1}}}},
		Vector: map[string]hardware.VectorEngine{"bfloat16": {TFlops: 1, Calibration: 1, Efficiency: hardware.SizeTable{{Efficiency: 1}}}},
		Memory: hardware.Memory{GiB: 1, GBps: 1, Calibration: 1, Efficiency: hardware.SizeTable{{Efficiency: 1}},
			Attention: hardware.PhaseFactor{Decode: 1, Prefill: 1}, Cache: hardware.PhaseFactor{Decode: 1, Prefill: 1}},
		Networks: []hardware.Network{{Bandwidth: 1, Efficiency: 1, Topology: "switch", MessageSize: hardware.SizeTable{{Efficiency: 1}}, Size: 4, Ops: ops}},
	}
}

func pricerOn(t *testing.T, s *hardware.System) *cost.Pricer {
	t.Helper()
	precision := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	p, err := cost.NewPricer(s, &precision, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func takes(t *testing.T, what string, p *cost.Pricer, o op.Op, want float64) {
	t.Helper()
	if got := p.Price(&o).Time; math.Abs(got-want) > 1e-12*want {
		t.Errorf("%s takes %v s, by hand %v", what, got, want)
	}
}

// TestConstantEfficiency: a table of one row is an efficiency like any other. A T operations at a
// half take two seconds, and so does a GB at a half.
func TestConstantEfficiency(t *testing.T) {
	product := op.Op{Kind: op.QKV, Class: op.Linear, Unit: op.MatrixUnit, Flops: 1e12}
	vector := op.Op{Kind: op.MLPResidual, Class: op.Vector, Unit: op.VectorUnit, Flops: 1e12}
	moved := op.Op{Kind: op.MLPResidual, Class: op.Vector, Unit: op.VectorUnit, Activations: 1e9}

	s := plainChip()
	s.Memory.Efficiency = hardware.SizeTable{{Efficiency: 0.5}}
	takes(t, "a GB at a half", pricerOn(t, s), moved, 2)

	s = plainChip()
	s.Matrix["bfloat16"] = hardware.MatrixEngine{TFlops: 1, Calibration: 1, Efficiency: hardware.ShapeTable{{Efficiency: 0.5}}}
	takes(t, "a product at a half", pricerOn(t, s), product, 2)

	s = plainChip()
	s.Vector["bfloat16"] = hardware.VectorEngine{TFlops: 1, Calibration: 1, Efficiency: hardware.SizeTable{{Efficiency: 0.5}}}
	takes(t, "a T of the vector unit at a half", pricerOn(t, s), vector, 2)
}

// TestKernelOfItsOwn: a second of latency, twice the peak, measured from 1000 to 2000 bytes. Less
// than that takes as long as 1000 bytes, more takes its share.
func TestKernelOfItsOwn(t *testing.T) {
	s := plainChip()
	s.Kernels = &kernel.Set{System: "plain", Elementwise: map[string]*kernel.Curve{
		"add_rmsnorm": {Latency: 1, Memory: kernel.Surface{Axes: [][]float64{{1000, 2000}}, Slowdown: []float64{2, 2}}},
	}}
	p := pricerOn(t, s)
	sampling := func(bytes float64) op.Op {
		return op.Op{Kind: op.Sampling, Class: op.Vector, Unit: op.VectorUnit, Activations: bytes,
			Kernels: op.Sampling.Info().Kernels, Shape: kernel.Shape{Moved: bytes}}
	}
	takes(t, "a tiny kernel", p, sampling(10), 1+2*1000e-9)
	takes(t, "one that was measured", p, sampling(1500), 1+2*1500e-9)
	takes(t, "a large one", p, sampling(5e9), 1+2*5)
}

// TestCarriedOver: kernels that were measured on another chip are as far off as those of one chip
// are on the next, however exact they were there.
func TestCarriedOver(t *testing.T) {
	s := plainChip()
	base := kernel.Base{Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}
	s.Kernels = &kernel.Set{
		System:      "another",
		Gemm:        map[string]*kernel.GemmModel{"bfloat16": {Base: base, Weight: 2, Input: 2, Output: 2}},
		Decode:      map[string]*kernel.DecodeAttention{"bfloat16": {Base: base}},
		Elementwise: map[string]*kernel.Curve{"add_rmsnorm": {Memory: kernel.Flat(1)}},
		Collective:  map[string]*kernel.CollectiveModel{"all_reduce": {Share: 1, Memory: kernel.Flat(1)}},
		Errors:      map[string]float64{"gemm.bfloat16": 0.01, "decode.bfloat16": 0.01, "elementwise.add_rmsnorm": 0.01, "collective.all_reduce": 0.01},
	}
	operator := func(k op.Kind, shape kernel.Shape) op.Op {
		return op.Op{Kind: k, Class: k.Info().Class, Kernels: k.Info().Kernels, Shape: shape}
	}
	attention := operator(op.FusedAttention, kernel.Shape{Count: 3, Heads: 2, KVHeads: 1, M: 3, N: 10, K: 4, Value: 4, Moved: 480})
	attention.Kernels[0] = kernel.Use{Slot: kernel.Decode}
	reduce := operator(op.MLPAllReduce, kernel.Shape{Moved: 1e6, Group: 4})
	reduce.Collective, reduce.Span = hardware.AllReduce, 4
	reduce.Kernels[0] = kernel.Use{Slot: kernel.AllReduce}
	ops := map[float64][]op.Op{
		0.25: {operator(op.QKV, kernel.Shape{M: 10, N: 20, K: 30, Count: 1, Rows: 10})},
		0.4:  {attention, operator(op.MLPResidual, kernel.Shape{Moved: 100}), reduce},
	}
	// Without any kernels each class is as far off as the roofline was on measured ones.
	plain := pricerOn(t, plainChip())
	for class, want := range map[op.Class]float64{op.Linear: 0.26, op.BMM: 0.42, op.Vector: 0.71, op.Comm: 0.4} {
		if share, level := plain.ErrorOf(&op.Op{Class: class}); share != want || level != cost.Estimated {
			t.Errorf("class %v of a chip without kernels: %v, %v; want %v", class, share, level, want)
		}
	}
	carried := pricerOn(t, s)
	own := *s
	own.Name = "another"
	measured := pricerOn(t, &own)
	for want, list := range ops {
		for _, o := range list {
			if share, level := carried.ErrorOf(&o); share != want || level != cost.Estimated {
				t.Errorf("%s carried over: %v, %v; want %v", o.Kind, share, level, want)
			}
			if share, level := measured.ErrorOf(&o); share != 0.0125 || level != cost.Extrapolated {
				t.Errorf("%s where it was measured, beyond its one shape: %v, %v", o.Kind, share, level)
			}
		}
	}
}
