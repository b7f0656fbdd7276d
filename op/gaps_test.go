package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestEndsAreNoAttention: the ends of a model belong to no attention block, whatever the list held
// before.
func TestEndsAreNoAttention(t *testing.T) {
	m, set, as := groupQuery(), model.Settings{Flash: true}, assume.Physical
	m.Vocab = 100
	l := op.NewLowerer(m, &set, &precision, &as)
	var list op.List
	var step op.Step
	l.Add(&step, &decode)
	l.Stage(&oneRank, &step, &list)
	if len(list.Of(op.AttentionBlock)) == 0 {
		t.Fatal("a stage without attention; the test shows nothing")
	}
	l.Ends(&oneRank, &step, &list)
	if n := len(list.Of(op.AttentionBlock)); n > 0 {
		t.Errorf("%d operators of the ends belong to attention", n)
	}
	if n := len(list.Of(op.MLPBlock)); n != len(list.All()) || n == 0 {
		t.Errorf("%d of %d operators belong to the block behind it", n, len(list.All()))
	}
}

// TestWideNorms: norms over all heads need the sums of squares of all ranks, of the queries and of
// the keys of three tokens, in 4 bytes each; those of a head need nothing, nor do those of a rank
// that has all heads.
func TestWideNorms(t *testing.T) {
	for _, c := range []struct {
		wide bool
		on   plan.Plan
		want float64 // bytes
	}{{true, twoRanks, 3 * 2 * 4}, {true, oneRank, 0}, {false, twoRanks, 0}} {
		m := groupQuery()
		m.Attention.WideNorm = c.wide
		var sent float64
		for _, o := range physically(assume.Physical, m, fused, c.on, decode).All() {
			if o.Kind == op.QKNormAllReduce {
				sent += o.Moved
			}
		}
		if sent != c.want {
			t.Errorf("all heads %v, %d ranks: %g bytes, by hand %g", c.wide, c.on.Attention.TP, sent, c.want)
		}
	}
}
