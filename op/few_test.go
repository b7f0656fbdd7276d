package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestRowBlocks: 3 rows of 10 entries that decode are picked from by one block each, by ten where a
// block takes 9 entries; where nothing is left out, and without such kernels, no kernel is asked.
func TestRowBlocks(t *testing.T) {
	for _, c := range []struct {
		most    float64
		context int
		blocks  float64
	}{{10, 10, 1}, {9, 10, 10}, {10, 8, 0}, {0, 10, 0}} {
		p := oneRank
		p.RowPicks, p.Batch.Size = c.most, 3
		o := find(t, lowered(assume.Physical, latentIndexed(), p, op.Group{Phase: op.Decode, New: 1, Context: float64(c.context)}), op.IndexSelect)
		if o.Rows != c.blocks || c.blocks > 0 && (o.Count != 1 || o.M != 3 || o.N != 10) {
			t.Errorf("%+v: %v launches of %v rows of %v by %v blocks", c, o.Count, o.M, o.N, o.Rows)
		}
	}
}

// TestFewRouted: the router of up to so many tokens, those of both stages, is a kernel of an
// engine's own.
func TestFewRouted(t *testing.T) {
	for batch, count := range map[int]float64{3: 0, 4: 1} {
		p := oneRank
		p.FewRouted, p.Batch.Size, p.Experts = 6, batch, plan.ExpertSplit{EP: 1, TP: 1, DP: 1}
		if o := find(t, lowered(assume.Physical, expertModel(model.Gated), p, decode), op.Router); o.Count != count {
			t.Errorf("%d tokens: %+v", batch, o.Shape)
		}
	}
}
