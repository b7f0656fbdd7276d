package workload

import (
	"math"
	"testing"
)

// TestBehind: inputs of 100 and 300 tokens behind a prompt of 200 are 300 and 500: mean 400, mean
// square (90,000 + 250,000)/2.
func TestBehind(t *testing.T) {
	n := Lengths{Input: 200, Output: 10, Squares: 1.25}.Behind(200, true)
	if n.Input != 400 || n.Output != 10 || n.Cached != 200 || math.Abs(n.Squares-170_000./160_000) > 1e-12 {
		t.Errorf("%+v", n)
	}
	if n := (Lengths{Input: 200, Output: 10}).Behind(200, false); n.Cached != 0 || n.Squares != 1 {
		t.Errorf("%+v", n)
	}
}

// TestTurns: three turns of 100 + 60 tokens have inputs of 100, 260 and 420: mean 260, mean square
// 84,666.7. Of those 0, 160 and 320 were said before.
func TestTurns(t *testing.T) {
	n := Lengths{Input: 100, Output: 60}.Turns(3, true)
	if n.Input != 260 || n.Output != 60 || n.Cached != 160 || math.Abs(n.Squares-(10_000+67_600+176_400)/3./67_600) > 1e-12 {
		t.Errorf("%+v", n)
	}
	if n.MaxInput() != 420 || n.MaxFinal() != 480 {
		t.Errorf("the longest prompt has %d tokens, the longest request %d", n.MaxInput(), n.MaxFinal())
	}
	if one := (Lengths{Input: 100, Output: 60}); one.Turns(1, true) != one || one.Behind(0, true) != one {
		t.Error("a single turn, or no prompt, changes lengths")
	}
}
