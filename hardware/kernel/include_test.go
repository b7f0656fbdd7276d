package kernel

import (
	"strings"
	"testing"
)

// TestUnknownInclude: a set does not say that a kernel was measured with what no operator is.
func TestUnknownInclude(t *testing.T) {
	g := &GemmModel{Base: Base{Norm: 1, Compute: Flat(1), Memory: Flat(1), Includes: []string{"quantise"}}}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	g.Includes = []string{"quantize"}
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), "quantise") {
		t.Errorf("%v", err)
	}
}
