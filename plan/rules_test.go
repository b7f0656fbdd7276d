package plan_test

import (
	"strings"
	"testing"

	"throughline/model"
	"throughline/plan"
)

// TestEveryAttentionMustSuit: the main attention has 8 heads and 4 key/value heads, the other 12
// and 6. Ranks: 2 divide all of them, 4 not the 6, 8 not the 12.
func TestEveryAttentionMustSuit(t *testing.T) {
	m := &model.Model{
		Name: "mixed", Layers: 4, FeedForward: 48, Attention: model.Attention{Kind: model.GroupQuery, Heads: 8, KVHeads: 4},
		Mixed: []model.MixedAttention{{Attention: model.Attention{Kind: model.GatedDelta, Heads: 12, KVHeads: 6}, Layers: 2}},
	}
	for tp, want := range map[int]string{
		1: "", 2: "",
		4: "tp 4 neither divides the 6 key/value heads of mixed nor is a multiple of them",
		8: "tp 8 does not divide the 12 attention heads of mixed",
	} {
		l := plan.Split{DP: 1, PP: 1, TP: tp}
		why := strings.Join(plan.Whys(plan.SplitMisses(m, l)), "; ")
		if plan.ValidSplit(m, l) != (want == "") || !strings.HasPrefix(why, want) {
			t.Errorf("tp %d: %q, want %q", tp, why, want)
		}
	}
}

// The leading dense layers of an expert model are split, too.
func TestLeadingDenseLayersMustSuit(t *testing.T) {
	m := &model.Model{
		Name: "experts", Layers: 4, FeedForward: 6, Attention: model.Attention{Kind: model.GroupQuery, Heads: 4, KVHeads: 4},
		Experts: model.Experts{Routed: 4, TopK: 1, Width: 4, CapacityFactor: 1, Interval: 1},
	}
	l := plan.Split{DP: 1, PP: 1, TP: 4}
	if !plan.ValidSplit(m, l) {
		t.Error("a width that no layer has must not matter")
	}
	m.FirstDense = 1
	if plan.ValidSplit(m, l) {
		t.Error("tp 4 does not divide a width of 6")
	}
}

// TestEnough: what would let a plan through is what one can choose, not another model.
func TestEnough(t *testing.T) {
	m := &model.Model{Name: "dense", Layers: 4, FeedForward: 48, Attention: model.Attention{Kind: model.GroupQuery, Heads: 32, KVHeads: 8}}
	var got []string
	for _, miss := range plan.SplitMisses(m, plan.Split{DP: 1, PP: 5, TP: 5}) {
		got = append(got, miss.Enough)
	}
	want := "a pp of at most 4; a tp that divides 32; a tp that divides 8 or is a multiple of it; a tp that divides 48"
	if all := strings.Join(got, "; "); all != want {
		t.Errorf("%q, want %q", all, want)
	}
}
