package collective

import (
	"testing"

	"throughline/hardware"
)

// TestSingleRow: on a full mesh of two dimensions, a number of processors that has no divisor is
// one row, all joined directly. Of 6 GB each of 3 processors sends 4 GB, 8 s at 0.5 GB/s, in one
// hop; an all-reduce does so twice.
func TestSingleRow(t *testing.T) {
	levels := []hardware.Network{level("2dfm", 16)}
	near(t, "all-to-all", seconds(t, levels, hardware.AllToAll, 3, 3, 6e9), 1+8)
	near(t, "reduce-scatter", seconds(t, levels, hardware.ReduceScatter, 3, 3, 6e9), 1+8)
	near(t, "all-reduce", seconds(t, levels, hardware.AllReduce, 3, 3, 6e9), 2+16)
}
