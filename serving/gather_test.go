package serving

import (
	"math"
	"testing"
)

// TestGather: of 0.1 prompts a step, 2 come in the 20 steps that the first waits: 3 have 20 + 2·10 steps together, and a step in
// thirty has prompts. Two ranks balance within 10 steps, in which 1 comes on average: with e⁻¹ = 0.368, any comes in 0.632 of the rounds and
// two in 0.264, so that a round has 0.896 prompts, which wait for 0.264/0.1 steps together.
func TestGather(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-3 }
	hold := waves{hold: 20, holds: 8, clients: 4, group: 4}
	if g := hold.gather(0.1, 0.1); !near(g.wait, 40./3) || !near(g.share, 0.1/3) || !near(g.beside, 8./3) {
		t.Errorf("%+v", g)
	}
	// A step of three is full when two more have come.
	hold.holds = 3
	if g := hold.gather(0.2, 0.2); !near(g.wait, 10*2./3) {
		t.Errorf("%+v", g)
	}
	balance := waves{balance: 10, balanced: 2, holds: 8, clients: 4, group: 8}
	if g := balance.gather(0.05, 0.1); !near(g.wait, 0.2642/0.1/0.8963) || !near(g.share, 0.1*0.6321/0.8963) || !near(g.elsewhere, 0.8963/0.6321-1) {
		t.Errorf("%+v", g)
	}
	// With fewer clients than ranks never all have one: all wait for the end of the time, half of it on average.
	balance.balanced, balance.group = 64, 8
	if g := balance.gather(0.05, 0.1); !near(g.wait, 5) {
		t.Errorf("%+v", g)
	}
	if g := (&waves{holds: 8}).gather(0.1, 0.1); g.wait != 0 {
		t.Errorf("%+v", g)
	}
}
