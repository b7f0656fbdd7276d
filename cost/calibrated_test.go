package cost_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/hardware"
	"throughline/kernel"
	"throughline/op"
	"throughline/plan"
)

// system is a plain H200 with kernels.
func system(t *testing.T, set *kernel.Set) *hardware.System {
	t.Helper()
	src, ok := hardware.Catalogue.Find("H200")
	if !ok {
		t.Fatal("no H200")
	}
	s, doc := hardware.Read("H200", src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	s.Kernels = set
	return s
}

func pricer(t *testing.T, s *hardware.System, prec plan.Precision) cost.Pricer {
	t.Helper()
	p, err := cost.NewPricer(s, &prec, &assume.Physical, op.Decode)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var bf16 = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}

// TestFastestAllReduce: of two kernels the one with the smaller latency is taken for small messages, the one with the
// smaller slowdown for large ones. The bandwidth of an H200 is 450 GB/s.
func TestFastestAllReduce(t *testing.T) {
	s := system(t, &kernel.Set{Collective: map[string]*kernel.Collective{
		"all_reduce":        {Latency: 30e-6, Share: 1, Memory: kernel.Flat(1)},
		"all_reduce_custom": {Latency: 5e-6, Share: 1, Memory: kernel.Flat(4)},
	}})
	p := pricer(t, s, bf16)
	for message, want := range map[float64]float64{450: 5e-6 + 4e-9, 450e6: 30e-6 + 1e-3} {
		o := op.Op{Kind: op.MLPAllReduce, Class: op.Comm, Collective: hardware.AllReduce, Message: message, Group: 8, Span: 8}
		if got := p.Price(&o).Time; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%g bytes: %v s, by hand %v s", message, got, want)
		}
	}
}

// TestStoredExperts: experts of four bits that are multiplied in bfloat16 take the kernel measured with such weights, not
// that of bfloat16, whose weights are four times as long; without one, the roofline.
func TestStoredExperts(t *testing.T) {
	narrow := bf16
	narrow.Weight = 0.5
	wide := &kernel.GroupedGemm{Base: kernel.Base{Latency: 1, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}, Weight: 2, Input: 2, Output: 2}
	four := &kernel.GroupedGemm{Base: kernel.Base{Latency: 7, Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}, Weight: 0.5, Input: 2, Output: 2}
	o := op.Op{Kind: op.ExpertGateUp, Class: op.Linear, Unit: op.MatrixUnit, M: 1, N: 64, K: 64, Flops: 2 * 64 * 64, Weights: 64 * 64 * 0.5}
	for _, test := range []struct {
		prec plan.Precision
		set  map[string]*kernel.GroupedGemm
		want float64 // latency, which is far longer than the product
	}{
		{bf16, map[string]*kernel.GroupedGemm{"bfloat16": wide, "int4": four}, 1},
		{narrow, map[string]*kernel.GroupedGemm{"bfloat16": wide, "int4": four}, 7},
		{narrow, map[string]*kernel.GroupedGemm{"bfloat16": wide}, 0},
	} {
		p := pricer(t, system(t, &kernel.Set{Experts: test.set}), test.prec)
		if got := p.Price(&o).Time; math.Abs(got-test.want) > 1e-3 {
			t.Errorf("weights of %g bytes: %v s, want about %v s", test.prec.Weight, got, test.want)
		}
	}
}
