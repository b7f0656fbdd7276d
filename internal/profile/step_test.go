package profile

import (
	"math"
	"testing"
)

// TestPerStep: 640 calls of attention in 32 layers are 20 steps, so 40 ms of it are 2 ms a step,
// and two kernels of attention, of which one runs in every layer, do not count twice.
func TestPerStep(t *testing.T) {
	classes := []Class{
		{Name: "attention", Predicted: 0.25, Kernels: []Kernel{{Name: "flash", Calls: 640, Time: 40e3}, {Name: "combine", Calls: 320, Time: 10e3}}},
		{Name: "products", Predicted: 0.75, Kernels: []Kernel{{Name: "gemm", Calls: 2560, Time: 160e3}}},
	}
	got := PerStep(classes, 8e-3, 32)
	if got.Steps != 20 || math.Abs(got.Measured-10.5) > 1e-9 || got.Predicted != 8 {
		t.Fatalf("%+v", got)
	}
	// Products, 8 ms measured and 6 predicted, differ the most: attention has 2.5 and 2.
	if first := got.Classes[0]; first.Name != "products" || first.Measured != 8 || first.Predicted != 6 || first.Calls != 128 || first.Kernel != "gemm" {
		t.Errorf("%+v", first)
	}
	if got := PerStep([]Class{{Name: "attention", Kernels: []Kernel{{Name: "flash", Share: 1}}}}, 8e-3, 32); got.Steps != 0 || got.Classes != nil {
		t.Errorf("shares have no steps: %+v", got)
	}
}
