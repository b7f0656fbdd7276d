package estimate

import (
	"testing"

	"throughline/op"
)

// TestComputed: what a network adds up while it carries it is no operation of a processor.
func TestComputed(t *testing.T) {
	for class, want := range map[op.Class]float64{op.Comm: 0, op.Linear: 7} {
		var o Operator
		o.Class, o.Flops = class, 7
		if got := o.Computed(); got != want {
			t.Errorf("%v: %g operations, want %g", class, got, want)
		}
	}
}
