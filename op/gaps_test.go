package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
)

// TestEndsAreNoAttention: the ends of a model belong to no attention block, whatever the list held before.
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
