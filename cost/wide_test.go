package cost_test

import (
	"math"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// wideProduct is a product of 32 bits, whose weights weigh nothing.
func wideProduct(rows, inputs, outputs float64) op.Op {
	o := op.Op{Kind: op.Router, Class: op.Linear, Unit: op.WideUnit, Flops: 2 * rows * inputs * outputs}
	o.M, o.N, o.K = rows, outputs, inputs
	return o
}

// TestWideProducts: at a T operations a second, 1,000 inputs by 100 outputs take 0.2 us for each
// row, and for each input 2.2 ns on a chip that nothing is known about; on Blackwell 0.65 with one
// row, 2.7 up to 16, 9.5 from 17 on.
func TestWideProducts(t *testing.T) {
	s := plainChip()
	s.Matrix["float32"] = s.Matrix["bfloat16"]
	takes(t, "17 rows on another chip", pricerOn(t, s), wideProduct(17, 1000, 100), 17*0.2e-6+2.2e-6)
	s.Generation = "Blackwell"
	p := pricerOn(t, s)
	for rows, each := range map[float64]float64{1: 0.65e-9, 2: 2.7e-9, 16: 2.7e-9, 17: 9.5e-9, 4096: 9.5e-9} {
		takes(t, "a product", p, wideProduct(rows, 1000, 100), rows*0.2e-6+1000*each)
	}
}

// TestFewRouted: kernels of engines for routers of few tokens, as they were timed on B200 and H100
// (vllm-project/vllm pull 37244, sgl-project/sglang pull 20848), within 10%.
func TestFewRouted(t *testing.T) {
	for system, us := range map[string]float64{"B200": 3.4, "H100_SXM": 3.7} {
		precision := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
		p, err := cost.NewPricer(builtin.System(t, system), &precision, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		o := op.Op{Kind: op.Router, Class: op.Linear, Unit: op.MatrixUnit, Flops: 2 * 2880 * 128, Weights: 2 * 2880 * 128}
		if off := 1e6*p.Time(&o)/us - 1; math.Abs(off) > 0.1 {
			t.Errorf("%s: off by %+.0f%%", system, 100*off)
		}
	}
}

// TestPublishedWideProducts: routers of GLM-5 on GB200 with the kernel that widens their inputs, as
// vllm-project/vllm pull 47973 timed them in float32, within 15% in the middle and 30% each.
func TestPublishedWideProducts(t *testing.T) {
	published := []struct{ rows, us float64 }{{1, 7.52}, {4, 20.2}, {8, 16.7}, {16, 22.3}, {32, 63.2}, {48, 63.4}, {64, 63.3}, {96, 64.1}, {128, 69.3}, {256, 77.8}, {512, 96.8}, {1024, 111}}
	precision := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	p, err := cost.NewPricer(builtin.System(t, "GB200_NVL72"), &precision, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	within := 0
	for _, row := range published {
		router := wideProduct(row.rows, 6144, 256)
		router.Weights, router.Activations = 4*6144*256, 4*row.rows*(6144+256)
		widen := op.Op{Kind: op.RouterWiden, Class: op.Vector, Unit: op.VectorUnit, Flops: row.rows * 6144, Activations: 6 * row.rows * 6144}
		widen.Moved = widen.Activations
		off := 1e6*(p.Time(&router)+p.Time(&widen))/row.us - 1
		if math.Abs(off) > 0.3 {
			t.Errorf("%v rows: off by %+.0f%%", row.rows, 100*off)
		}
		if math.Abs(off) <= 0.15 {
			within++
		}
	}
	if 2*within < len(published) {
		t.Errorf("%d of %d within 15%%", within, len(published))
	}
}
