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

// TestIncludedRoles: the roles of operators that may be measured with a kernel are those that have
// a name, and no others.
func TestIncludedRoles(t *testing.T) {
	named := map[Role]bool{}
	for _, r := range includes {
		named[r] = true
	}
	for r := range RoleCount {
		if r.Included() != named[r] {
			t.Errorf("role %d: %v, and a name: %v", r, r.Included(), named[r])
		}
	}
}
