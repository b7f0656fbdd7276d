package kernel

import "testing"

// TestUnevenRows: of rows by chance half of a last tile is empty. Kernels of tiles of 128 have that in
// their calibration up to half a tile; those whose tiles have half of the rows, up to 128, a quarter
// of a tile; those that take one no smaller than the rows, up to 64, nothing of it. Even rows, and
// those of kernels that were measured with uneven ones, count as they are.
func TestUnevenRows(t *testing.T) {
	whole, fitting := &groupedTiming{}, &groupedTiming{fused: true}
	marlin := &groupedTiming{g: GroupedModel{Tile: 64}, fused: true}
	measured := &groupedTiming{g: GroupedModel{Uneven: true}, fused: true}
	for _, c := range []struct{ rows, whole, fitting, marlin float64 }{
		{8, 8, 9, 12}, {64, 64, 72, 96}, {100, 136, 112.5, 132}, {128, 192, 144, 160}, {256, 320, 288, 288}, {1000, 1064, 1032, 1032},
	} {
		uneven, even := &Shape{Rows: c.rows, Uneven: true}, &Shape{Rows: c.rows}
		for _, k := range []struct {
			timing *groupedTiming
			want   float64
		}{{whole, c.whole}, {fitting, c.fitting}, {marlin, c.marlin}, {measured, c.rows}} {
			if got := k.timing.rows(uneven); got != k.want {
				t.Errorf("%v rows on average: %v, want %v", c.rows, got, k.want)
			}
			if got := k.timing.rows(even); got != c.rows {
				t.Errorf("%v even rows: %v", c.rows, got)
			}
		}
	}
}
