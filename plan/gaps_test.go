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

// TestLeastWords: each part may be as small as makes sense, and no smaller.
func TestLeastWords(t *testing.T) {
	for _, c := range []struct{ least, less string }{
		{"dp1", "dp0"}, {"pp1", "pp0"}, {"tp1", "tp0"}, {"tp1 cp1", "tp1 cp0"}, {"ep1", "ep0"}, {"ep1 etp1", "ep1 etp0"}, {"ep1 edp1", "ep1 edp0"}, {"tp1 batch1", "tp1 batch0"},
		{"tp1 mtp0", "tp1 mtp-1"}, {"ep1 +0", "ep1 +-1"},
	} {
		if _, err := plan.ParseWords(c.least); err != nil {
			t.Errorf("%s: %v", c.least, err)
		}
		if _, err := plan.ParseWords(c.less); err == nil {
			t.Errorf("%s is read", c.less)
		}
	}
}
