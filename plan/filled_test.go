package plan_test

import (
	"testing"

	"throughline/plan"
)

// TestFilled: 61 layers in 4 stages are 15 + 15 + 15 + 16 (SGLang) or 16 + 15 + 15 + 15
// (TensorRT-LLM), in units of 16.
func TestFilled(t *testing.T) {
	for _, c := range []struct {
		layers, pp       int
		pipelined, light bool
		all, last        float64
	}{
		{61, 4, true, false, 61. / 64, 1}, {61, 4, true, true, 61. / 64, 15. / 16},
		{60, 4, true, true, 1, 1}, {61, 1, true, true, 1, 1},
		{61, 4, false, true, 1, 1}, // in the reference tool all stages count as the fullest
	} {
		p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: c.pp, TP: 1}, Pipelined: c.pipelined}, Behaviour: plan.Behaviour{LightLast: c.light}}
		if all, last := p.Filled(c.layers); all != c.all || last != c.last {
			t.Errorf("%d layers in %d stages: %v and %v, want %v and %v", c.layers, c.pp, all, last, c.all, c.last)
		}
	}
}
