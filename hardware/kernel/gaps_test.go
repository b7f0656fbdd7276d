package kernel_test

import (
	"math"
	"testing"

	"throughline/hardware/kernel"
)

// TestNodes: the nodes of an axis are positive, finite and rising.
func TestNodes(t *testing.T) {
	for _, nodes := range [][]float64{{0, 1}, {-1, 1}, {math.NaN()}, {1, math.NaN()}, {1, math.Inf(1)}, {math.Inf(1)}, {1, 1}, {2, 1}, {1, 2, 2}, {}} {
		s := kernel.Surface{Axes: [][]float64{{5}, nodes}, Slowdown: make([]float64, len(nodes))}
		for i := range s.Slowdown {
			s.Slowdown[i] = 1
		}
		if s.Validate() == nil {
			t.Errorf("accepts the nodes %v", nodes)
		}
	}
	good := kernel.Surface{Axes: [][]float64{{5}, {1e-9, 1, 1.000001}}, Slowdown: []float64{1, 1, 1}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
