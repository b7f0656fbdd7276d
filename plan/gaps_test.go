package plan_test

import (
	"testing"

	"throughline/plan"
)

// TestLayoutNames: the parts of the context are named where there are some.
func TestSplitNames(t *testing.T) {
	for cp, want := range map[int]string{0: "dp2·pp3·tp4", 1: "dp2·pp3·tp4", 2: "dp2·pp3·tp4·cp2", 8: "dp2·pp3·tp4·cp8"} {
		if got := (plan.Split{DP: 2, PP: 3, TP: 4, CP: cp}).String(); got != want {
			t.Errorf("%d parts: %s, want %s", cp, got, want)
		}
	}
}
