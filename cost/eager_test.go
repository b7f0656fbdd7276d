package cost_test

import (
	"math"
	"testing"

	"throughline/cost"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/op"
)

// TestEager: a CPU that moves a GB in a second launches a kernel in a millisecond and touches 2 GB
// of new memory in a second. Results of 32 MiB and more are new every time.
func TestEager(t *testing.T) {
	s := plainChip()
	s.Type = "cpu"
	s.Memory.New = &hardware.NewMemory{GBps: 2, ThreadGBps: 1, MiB: 32}
	p := pricerOn(t, s)
	o := op.Op{Class: op.Vector, Unit: op.VectorUnit, Repeat: 1, Activations: 80e6, Output: 40e6, Kernels: kernel.Uses{{Slot: kernel.AddNorm, Role: kernel.Alone}}}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g s, not %g", what, got, want)
		}
	}
	near("a serving engine", p.Price(&o).Time, 0.08)
	near("all of it", p.Computing([]op.Op{o}), 0.08)
	p.Eager(&op.Eager{Launch: 1e-3})
	near("a framework", p.Price(&o).Time, 0.08+1e-3+0.02)
	near("all of that", p.Computing([]op.Op{o, o}), 2*(0.08+1e-3+0.02))
	o.Output = 33e6 // less than 32 MiB
	near("a small result", p.Price(&o).Time, 0.08+1e-3)

	// The host of a GPU launches beside it, and memory on a GPU is kept.
	s.Type, s.Memory.New = "gpu", nil
	if err := p.On(s); err != nil {
		t.Fatal(err)
	}
	near("a GPU", p.Price(&o).Time, 0.08)
}

// TestToHost: at 2 GB/s without measurements; as measured, three times as long and 1 ms more for
// pageable memory.
func TestToHost(t *testing.T) {
	s := plainChip()
	if _, ok := cost.ToHost(s, false, false, 1e9); ok {
		t.Error("there is no way to the host")
	}
	s.Memory2 = &hardware.SecondMemory{GiB: 1, GBps: 2}
	if got, _ := cost.ToHost(s, false, false, 1e9); got != 0.5 {
		t.Errorf("%g s", got)
	}
	curve := &kernel.Curve{Latency: 1e-3, Memory: kernel.Surface{Axes: [][]float64{{1e6, 1e9}}, Slowdown: []float64{3, 3}}}
	s.Kernels = &kernel.Set{Copy: map[string]*kernel.Curve{"d2h pageable": curve}}
	for want, asked := range map[float64][2]bool{1.501: {false, false}, 0.5: {false, true}} {
		if got, _ := cost.ToHost(s, asked[0], asked[1], 1e9); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %g s, not %g", asked, got, want)
		}
	}
	if got, _ := cost.ToHost(s, true, false, 1e9); got != 0.5 {
		t.Errorf("back: %g s", got)
	}
}
