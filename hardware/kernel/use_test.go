package kernel

import "testing"

// TestUnevenRows: half of a last tile of 128 is empty, from a tile on.
func TestUnevenRows(t *testing.T) {
	for m, want := range map[float64]float64{10: 10, 64: 64, 100: 136, 128: 192, 256: 320, 1000: 1064} {
		if got := (&Shape{Rows: m, Uneven: true}).Tiled(); got != want {
			t.Errorf("%v rows on average: %v, want %v", m, got, want)
		}
		if got := (&Shape{Rows: m}).Tiled(); got != m {
			t.Errorf("%v even rows: %v", m, got)
		}
	}
}
