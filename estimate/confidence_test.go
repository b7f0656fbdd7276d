package estimate_test

import (
	"math"
	"testing"

	"throughline/cost"
	"throughline/estimate"
	"throughline/hardware/kernel"
	"throughline/plan"
)

// TestConfidence: without calibrated kernels the band lies between the smallest and the largest error of the roofline; a
// step of which products are almost all has almost their error.
func TestConfidence(t *testing.T) {
	p := problem(t, "llama_3_8b", "H200")
	p.System.Kernels = nil
	p.Precision = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	pl := plan.Plan{Attention: plan.Layout{DP: 1, PP: 1, TP: 1, CP: 1}, Batch: plan.Batch{Count: 1, Size: 1}}
	confidence := func() estimate.Confidence {
		d, err := estimate.DetailOf(p, &pl)
		if err != nil {
			t.Fatal(err)
		}
		return d.Confidence
	}
	plain := confidence()
	if plain.Level != cost.Estimated || plain.Band < 0.26 || plain.Band > 0.30 {
		t.Errorf("a decode step of one sequence, nearly all of it products: %+v, want estimated and a little more than 0.26", plain)
	}
	// Products by a calibrated kernel with an error of 5%: they are more than nine tenths of the step.
	flat := kernel.Flat(1)
	p.System.Kernels = &kernel.Set{
		System: p.System.Name,
		Gemm: map[string]*kernel.GemmModel{"bfloat16": {
			Base: kernel.Base{Norm: 4, Compute: flat, Memory: flat}, Weight: 2, Input: 2, Output: 2,
		}},
		Errors: map[string]float64{"gemm.bfloat16": 0.05},
	}
	fitted := confidence()
	if fitted.Level != cost.Fitted || fitted.Band < 0.05 || fitted.Band > 0.10 || math.IsNaN(fitted.Band) {
		t.Errorf("with calibrated products: %+v, want fitted and a little more than 0.05", fitted)
	}
	// The same kernels of another chip.
	p.System.Kernels.System = "another"
	if c := confidence(); c.Level != cost.Estimated || c.Band < 0.25 || c.Band > 0.3 {
		t.Errorf("with products as on another chip: %+v, want estimated and a little more than 0.25", c)
	}
}
