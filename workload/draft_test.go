package workload_test

import (
	"math"
	"slices"
	"testing"

	"throughline/workload"
)

// TestAcceptance: 1.85, 2.55 and 3.1 tokens add 0.85, 0.7 and 0.55. Of the drafts behind an
// accepted one, 0.7 of 0.85 and 0.55 of 0.7 are accepted, too. A fourth has no length and the rate
// of the default.
func TestAcceptance(t *testing.T) {
	want := []float64{0.85, 0.7 / 0.85, 0.55 / 0.7, workload.DraftAcceptance[3]}
	for i, got := range workload.Acceptance([]float64{1.85, 2.55, 3.1}) {
		if math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("position %d: %v, want %v", i+1, got, want[i])
		}
	}
	if !slices.Equal(workload.Acceptance(nil), workload.DraftAcceptance) {
		t.Error("without lengths the rates are not the default ones")
	}
	// Nothing behind a draft that is never accepted; more positions than the default has.
	if got := workload.Acceptance([]float64{1, 1, 1, 1, 1}); len(got) != 5 || slices.Max(got) != 0 {
		t.Errorf("%v", got)
	}
}
