package cost

import (
	"testing"

	"throughline/model"
	"throughline/plan"
)

// TestUnpacked: weights of four bits multiplied in 16 bits reach the share of the engine's kernels,
// those of 16 bits and products of 8 bits all of the rate, and experts, which were measured, too.
func TestUnpacked(t *testing.T) {
	four := plan.Precision{Weight: 0.5, Activation: 2, MatrixType: "bfloat16", Unpacking: 0.82}
	wide, eight, free := four, four, four
	wide.Weight, free.Unpacking = 2, 0
	eight.Weight, eight.Activation, eight.MatrixType = 1, 1, "float8"
	for _, c := range []struct {
		prec   *plan.Precision
		module model.Module
		want   float64
	}{
		{&four, model.AttentionModule, 0.82}, {&four, model.ExpertModule, 1}, {&wide, model.AttentionModule, 1},
		{&eight, model.AttentionModule, 1}, {&free, model.AttentionModule, 1},
	} {
		if got := unpacked(c.prec, c.module); got != c.want {
			t.Errorf("%+v, %v: %g, want %g", *c.prec, c.module, got, c.want)
		}
	}
}
