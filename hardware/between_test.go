package hardware

import "testing"

// Two kinds of processors share no node, however few they are: 4 of one and 4 of another are as far
// apart as two nodes. Those of one kind may share one.
func TestBetween(t *testing.T) {
	chip := func(name string, sizes ...int) *System {
		s := &System{Name: name}
		for _, n := range sizes {
			s.Networks = append(s.Networks, Network{Size: n})
		}
		return s
	}
	h200, a100, rack, lone := chip("H200", 8, 65536), chip("A100", 8, 65536), chip("rack", 4, 72, 65536), chip("lone", 8)
	for _, c := range []struct {
		a, b       *System
		span, want int
	}{
		{h200, h200, 8, 8}, {h200, a100, 8, 9}, {h200, a100, 24, 24}, {a100, rack, 8, 73}, {lone, lone, 4, 4}, {lone, h200, 2, 9},
	} {
		if got := Between(c.a, c.b, c.span); got != c.want {
			t.Errorf("%d processors of %s and %s span %d, not %d", c.span, c.a.Name, c.b.Name, got, c.want)
		}
	}
}

// Nodes cut a first network that is that of a node, in a copy; one that reaches beyond nodes is not
// cut.
func TestInNodes(t *testing.T) {
	for _, c := range []struct{ size, procs, want int }{{8, 4, 4}, {8, 8, 8}, {8, 16, 8}, {2, 8, 2}, {8, 1, 1}, {72, 4, 72}} {
		s := &System{Networks: []Network{{Size: c.size}, {Size: 65536}}}
		if got := s.InNodes(c.procs); got.Networks[0].Size != c.want || got.Networks[1].Size != 65536 || s.Networks[0].Size != c.size {
			t.Errorf("a network of %d in nodes of %d: %+v, and it itself is now of %d", c.size, c.procs, got.Networks, s.Networks[0].Size)
		}
	}
}
