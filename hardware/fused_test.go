package hardware_test

import (
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
)

// TestFused: engines run fused kernels where these were measured besides others. SiLU and multiply
// of 4096 × 14336 took 82.6 µs compiled (measure/H200/ops.csv), and 285.4 in PyTorch's eager mode.
func TestFused(t *testing.T) {
	s := builtin.System(t, "H200")
	const rows, width, bytes = 4096, 14336, 2
	shape := kernel.Shape{Rows: rows, Moved: 3 * rows * width * bytes}
	pace := kernel.Pace{Byte: 1 / 4.8e12}
	seconds := func(fused bool) float64 {
		of, _ := s.Kernels.Bind(kernel.Types{Fused: fused}).For(kernel.Use{Slot: kernel.SiluMul})
		return of.Seconds(&pace, &shape)
	}
	for _, c := range []struct {
		fused    bool
		measured float64
	}{{true, 82.6e-6}, {false, 285.4e-6}} {
		if got := seconds(c.fused); got < 0.95*c.measured || got > 1.05*c.measured {
			t.Errorf("fused %v: %.1f µs, measured %.1f", c.fused, got*1e6, c.measured*1e6)
		}
	}
}
