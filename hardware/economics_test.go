package hardware

import (
	"math"
	"testing"
)

// TestDiesPerWafer, its two figures from memory: Hennessy and Patterson, Computer Architecture, 6th
// edition, section 1.6: a wafer of 300 mm holds 270 dies of 15 mm on a side and 640 of 10 mm. By
// hand: π·150²/225 − π·300/√450 = 314.16 − 44.43, and π·150²/100 − π·300/√200 = 706.86 − 66.64.
func TestDiesPerWafer(t *testing.T) {
	for side, want := range map[float64]float64{15: 270, 10: 640} {
		d := Die{Area: side * side}
		d.SetDefaults()
		if got := d.PerWafer(); math.Round(got) != want {
			t.Errorf("%g dies of %g mm, want %g", got, side, want)
		}
	}
	// An edge of 5 mm leaves 290 mm; lanes of 0.2 mm make 10.2 mm of 10: π·145²/104.04 −
	// π·290/√208.08 = 634.87 − 63.16.
	d := Die{Area: 100, Across: 300, Edge: 5, Scribe: 0.2}
	if got := d.PerWafer(); math.Abs(got-571.71) > 0.01 {
		t.Errorf("%g dies with edge and lanes", got)
	}
}

// TestYield: 1 + 0.11/100·814/10 = 1.08954, to the power of −10 is 0.42419: a die of an H100 by the
// defects that Chiplet Actuary has for 5 nm. No defects spoil none; what hardly clusters is
// Poisson's.
func TestYield(t *testing.T) {
	d := Die{Area: 814, Defects: 0.11, Cluster: 10}
	if got := d.Yield(); math.Abs(got-0.42419) > 1e-5 {
		t.Errorf("%g are good", got)
	}
	d.Cluster = 1e6
	if got, want := d.Yield(), math.Exp(-0.11*8.14); math.Abs(got-want) > 1e-4 {
		t.Errorf("%g are good, by Poisson %g", got, want)
	}
	if d.Defects = 0; d.Yield() != 1 {
		t.Error("no defects spoil some")
	}
}

// TestMade: two dies at half of 640.22 for $6402.2 cost $20 each; with a package of $10 and 2 GB at
// $3 they make $56.
func TestMade(t *testing.T) {
	d := Die{Area: 100, Count: 2, Defects: 0.01, Cluster: 1, Across: 300}
	d.Defects = 1 // 1 + 1/100·100/1 = 2
	d.Wafer = 10 * d.PerWafer()
	e := Economics{Dies: []Die{d}, Package: 10}
	if _, known := e.Made(1); known || math.Abs(e.Silicon()-40) > 1e-9 {
		t.Errorf("dies for %g, known without memory", e.Silicon())
	}
	e.Memory = 3
	if got, known := e.Made(2e9 / (1 << 30)); !known || math.Abs(got-56) > 1e-9 {
		t.Errorf("made for %g", got)
	}
}

// TestTariff: 3.6 MJ are a kWh; at a PUE of 1.5 they take 1.5, at $0.1 and 400 g each.
func TestTariff(t *testing.T) {
	free, paid := Tariff{PerKWh: 0.1}, Tariff{PerKWh: 0.1, PUE: 1.5, Carbon: 400}
	if a, b, c := free.Dollars(3.6e6), paid.Dollars(3.6e6), paid.Grams(3.6e6); math.Abs(a-0.1)+math.Abs(b-0.15)+math.Abs(c-600) > 1e-9 {
		t.Errorf("$%g, $%g and %g g", a, b, c)
	}
}
