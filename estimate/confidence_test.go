package estimate_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/estimate"
	"throughline/hardware/kernel"
	"throughline/plan"
)

// TestConfidence: without calibrated kernels a decode step of one sequence, nearly all of it
// products, is off by nearly their error on a roofline; with kernels, by half of theirs, as the
// other half cancels.
func TestConfidence(t *testing.T) {
	p := problem(t, "llama_3_8b", "H200")
	p.System.Kernels, p.Assume = nil, &assume.Physical
	p.Precision = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	pl := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}}, Batch: plan.Batch{Count: 1, Size: 1}}
	confidence := func() estimate.Confidence {
		d, err := detailOf(p, &pl)
		if err != nil {
			t.Fatal(err)
		}
		return d.Confidence
	}
	plain := confidence()
	if plain.Level != cost.Estimated || plain.Kernels < 0.24 || plain.Kernels > 0.26 || plain.Band < 0.97*math.Expm1(plain.Kernels) { // to the nearest rung
		t.Errorf("on a roofline: %+v, want estimated and kernels off by a little less than 0.26", plain)
	}
	// Products by a calibrated kernel with an error of 8%, between the shapes of a fit: they are
	// more than nine tenths of the step.
	within := kernel.Surface{Axes: [][]float64{{1, 1 << 20}, {1, 1 << 20}, {1, 1 << 20}}, Slowdown: []float64{1, 1, 1, 1, 1, 1, 1, 1}}
	p.System.Kernels = &kernel.Set{
		System: p.System.Name,
		Gemm: map[string]*kernel.GemmModel{"bfloat16": {
			Base: kernel.Base{Norm: 4, Compute: within, Memory: within}, Weight: 2, Input: 2, Output: 2,
		}},
		Errors: map[string]float64{"gemm.bfloat16": 0.08},
	}
	fitted := confidence()
	if fitted.Level != cost.Fitted || fitted.Kernels < 0.036 || fitted.Kernels > 0.05 || !(fitted.Band < plain.Band) {
		t.Errorf("with calibrated products: %+v, want fitted and kernels off by about 0.04", fitted)
	}
	// The same with one shape only, which is not that of the step.
	flat := kernel.Flat(1)
	p.System.Kernels = &kernel.Set{System: p.System.Name, Errors: p.System.Kernels.Errors, Gemm: map[string]*kernel.GemmModel{"bfloat16": {
		Base: kernel.Base{Norm: 4, Compute: flat, Memory: flat}, Weight: 2, Input: 2, Output: 2,
	}}}
	extrapolated := confidence()
	if extrapolated.Level != cost.Extrapolated || !(extrapolated.Kernels > fitted.Kernels) || !(extrapolated.Band >= fitted.Band) {
		t.Errorf("beyond what was measured: %+v, not wider than %+v", extrapolated, fitted)
	}
	// The same kernels of another chip.
	p.System.Kernels.System = "another"
	if c := confidence(); c.Level != cost.Estimated || !(c.Band > extrapolated.Band) || !(c.Band < plain.Band) {
		t.Errorf("with products as on another chip: %+v", c)
	}
}

// TestAnotherChip: the built-in H200 with one peak changed is another chip, of which less is known.
func TestAnotherChip(t *testing.T) {
	p := problem(t, "llama_3_8b", "H200")
	p.Assume = &assume.Physical
	p.Precision = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	pl := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}}, Batch: plan.Batch{Count: 1, Size: 64}}
	of := func() estimate.Confidence {
		d, err := detailOf(p, &pl)
		if err != nil {
			t.Fatal(err)
		}
		return d.Confidence
	}
	here := of()
	if here.Level < cost.Fitted {
		t.Errorf("on the chip itself: %+v", here)
	}
	// One sequence more: no kernel was measured with 65 rows.
	pl.Batch.Size = 65
	if between := of(); between.Level != cost.Fitted || between.Kernels < here.Kernels {
		t.Errorf("between what was measured: %+v, at what was %+v", between, here)
	}
	changed := *p.System
	changed.Memory.GBps *= 1.01
	p.System = &changed
	if there := of(); there.Level != cost.Estimated || !(there.Band > here.Band) {
		t.Errorf("with another memory: %+v, not wider than %+v", there, here)
	}
}

// TestNoBand: with the assumptions of the reference tool nothing was compared with measurements.
func TestNoBand(t *testing.T) {
	p := problem(t, "llama_3_8b", "H200")
	p.Precision = plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}
	pl := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}}, Batch: plan.Batch{Count: 1, Size: 64}}
	for text, want := range map[string]bool{"reference": false, "reference,engine=true": false, "physical": true, "physical,ends=false": true} {
		var err error
		if p.Assume, err = assume.Parse(text); err != nil {
			t.Fatal(err)
		}
		d, err := detailOf(p, &pl)
		if err != nil || d.Confidence.HasBand() != want || (d.Confidence.Span() == "(no band)") == want {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
}

// TestBand: kernels off by 0.06 and loads that differ by 0.08 are off by 0.1 together, 10.5%, of
// which the nearest rung is 10^(-20/20), 10%; squares of further causes add up: 0.06, 0.08 and 0.24
// make 0.26.
func TestBand(t *testing.T) {
	w := estimate.Width{estimate.Loads: 0.08, estimate.Pairs: 0.06, estimate.Unseen: 0.24, estimate.Drafts: 0.15}
	for _, c := range []struct {
		kernels float64
		in      estimate.Causes
		band    float64 // by hand, and the rung below 1 next to it
		rung    float64
	}{
		{0.06, estimate.Causes{estimate.Loads: true}, math.Expm1(0.1), 20},
		{0, estimate.Causes{estimate.Loads: true, estimate.Pairs: true}, math.Expm1(0.1), 20},
		{0, estimate.Causes{estimate.Loads: true, estimate.Pairs: true, estimate.Unseen: true}, math.Expm1(0.26), 11},
		{0, estimate.Causes{estimate.Loads: true, estimate.Drafts: true}, math.Expm1(0.17), 15},
	} {
		got := estimate.Confidence{Kernels: c.kernels, Causes: c.in}
		got.Judge(&w)
		if want := math.Pow(10, -c.rung/20); math.Abs(got.Band-want) > 1e-12 || math.Abs(math.Log(c.band/want)) > math.Ln10/40 {
			t.Errorf("%+v: %+v, by hand %v, on the ladder %v", c, got, c.band, want)
		}
	}
	c := estimate.Confidence{Band: 0.25}
	if low, high := c.Around(100); low != 80 || high != 125 || c.Span() != "±25%" {
		t.Errorf("from %v to %v, %s; by hand from 80 to 125", low, high, c.Span())
	}
	var written struct{ Widths map[string]any }
	if src, err := os.ReadFile("bands.json"); err != nil || json.Unmarshal(src, &written) != nil {
		t.Fatal(err)
	}
	for q := range estimate.QuantityCount {
		one := estimate.Known(q, cost.Fitted, 0, estimate.Causes{estimate.Pairs: true})
		if off := estimate.Known(q, cost.Fitted, 1, estimate.Causes{estimate.Pairs: true}); !(one.Band > 0.01) || !(off.Band > one.Band) {
			t.Errorf("%s: bands of %v, with kernels off by a factor of e %v", estimate.Quantities[q], one.Band, off.Band)
		}
		if _, ok := written.Widths[estimate.Quantities[q]]; !ok {
			t.Errorf("%s has no width in bands.json", estimate.Quantities[q])
		}
	}
}

// TestGiven: each fact that is told takes its causes away and widens nothing; a measured run leaves
// what two loads differ by, √2 of what one does.
func TestGiven(t *testing.T) {
	var all estimate.Causes
	for c := range all {
		all[c] = true
	}
	for _, q := range []estimate.Quantity{estimate.TTFT, estimate.TPOT} {
		c := estimate.Known(q, cost.Estimated, 0.2, all)
		for i := range estimate.Facts {
			f := &estimate.Facts[i]
			if given := c.Given(f); given.Band > c.Band {
				t.Errorf("%s: %s widens ±%v to ±%v", estimate.Quantities[q], f.Name, c.Band, given.Band)
			}
		}
		alone := estimate.Known(q, cost.Fitted, 0, estimate.Causes{})
		fitted := c
		fitted.Causes[estimate.Wave] = false
		fitted = fitted.Given(&estimate.MeasuredRun)
		if want := math.Expm1(math.Sqrt2 * math.Log1p(alone.Band)); fitted.Causes != alone.Causes || math.Abs(math.Log(fitted.Band/want)) > math.Ln10/19 {
			t.Errorf("%s: after a measured run %+v, by hand ±%v", estimate.Quantities[q], fitted, want)
		}
	}
	none := estimate.Confidence{Quantity: estimate.TTFT}
	if got := none.Given(&estimate.MeasuredRun); got.HasBand() {
		t.Errorf("a fact makes a band: %+v", got)
	}
}

// TestSeen: the file of bands names the systems whose runs serving was modelled by.
func TestSeen(t *testing.T) {
	if !estimate.Seen("vllm", "gpt-oss-120b", "H100_SXM") || estimate.Seen("vllm", "gpt-oss-120b", "Gaudi3") || estimate.Seen("nobody", "gpt-oss-120b", "H100_SXM") {
		t.Error("gpt-oss-120b behind vLLM was seen on the H100, and not on Gaudi 3")
	}
}

// detailOf is the detail of a single plan of a problem.
func detailOf(p *estimate.Problem, of *plan.Plan) (*estimate.Detail, error) {
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		return nil, err
	}
	return e.Detail(of), nil
}
