package cost_test

import (
	"math"
	"testing"

	"throughline/cost"
	"throughline/hardware"
)

// plainPower has round numbers: the voltage falls to half at half of the clock, so that the power
// of arithmetic falls to an eighth.
func plainPower() *hardware.Power {
	return &hardware.Power{
		Rest: 50, On: 100, Busy: 200, Limit: 700, Held: 1, Clock: hardware.Clock{MHz: 2000, Lowest: 200, Knee: 0.5, Voltage: 0.5},
		Flop: map[string]float64{"bfloat16": 1}, Byte: 50, CoreByte: 20, Link: []float64{10, 30}, HostByte: 40, Empty: 0.25, Issue: 0.5,
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// TestEffortByHand: a product of 0.4 T operations in a millisecond draws 100 + 200 W and 400 W of
// arithmetic; at half of the clock it takes twice as long, at 50 + 50/8, 200/8 and 400/8 W.
func TestEffortByHand(t *testing.T) {
	p := plainPower()
	w := cost.Work{Times: 1, Seconds: 1e-3, Flops: 0.4e12, Rate: 0.4e15, Type: "bfloat16"}
	e := w.Effort(p)
	near(t, "joules", e.Joules(p, 1), 0.7)
	near(t, "seconds at half of the clock", e.Seconds(0.5), 2e-3)
	near(t, "joules at half of the clock", e.Joules(p, 0.5), 2e-3*(50+50./8+200./8+400./8))
	// Two of them, of which a tenth is a launch that no clock shortens and in which nothing works.
	w.Times, w.Static = 2, 1e-4
	e = w.Effort(p)
	near(t, "seconds with launches", e.Seconds(0.5), 2*(1e-4+2*9e-4))
	near(t, "joules with launches", e.Joules(p, 1), 2*(1e-3*100+9e-4*200+0.4))
}

// TestWaitingForMemory: 4 GB at 4 TB/s; loads take half of that in clocks, in squares: a fifth of
// the time follows the clock, so that half of it takes a fifth longer. Bytes take 50 pJ, and 20
// more where they pass registers.
func TestWaitingForMemory(t *testing.T) {
	p := plainPower()
	w := cost.Work{Times: 1, Seconds: 1e-3, Bytes: 4e9, Pace: 4e12}
	e := w.Effort(p)
	near(t, "seconds", e.Seconds(0.5), 1.2e-3)
	near(t, "joules", e.Joules(p, 1), 0.1+0.2+0.2)
	w.ThroughCores = true
	e = w.Effort(p)
	near(t, "joules through registers", e.Joules(p, 1), 0.1+0.2+0.2+0.08)
	w.Cached = true
	e = w.Effort(p)
	near(t, "joules from the cache", e.Joules(p, 1), 0.1+0.2+0.08)
}

// TestLinksAndLanes: bytes to others take the energy of their level, the outermost known one
// beyond; a quarter of a tile that holds data leaves three quarters at a quarter of the energy.
func TestLinksAndLanes(t *testing.T) {
	p := plainPower()
	for level, want := range map[int]float64{0: 10, 1: 30, 2: 30, cost.HostLink: 40} {
		w := cost.Work{Times: 1, Seconds: 1e-3, Static: 1e-3, Sent: 1e9, Level: level}
		e := w.Effort(p)
		near(t, "joules sent", e.Joules(p, 1), 0.1+want*1e-3)
	}
	w := cost.Work{Times: 1, Seconds: 1, Flops: 1e12, Filled: 0.25, Type: "bfloat16"}
	e := w.Effort(p)
	near(t, "a quarter of the lanes", e.Core, 1+3*0.25)
	w.Zeros = true
	e = w.Effort(p)
	near(t, "zeros", e.Core, 4*0.25)
}

// TestUnderALimit: work that fits runs at the full clock; a limit of what half of the clock draws
// leads there; the lowest clock may exceed a limit.
func TestUnderALimit(t *testing.T) {
	p := plainPower()
	w := cost.Work{Times: 1, Seconds: 1e-3, Flops: 0.4e12, Rate: 0.4e15, Type: "bfloat16"}
	product := w.Effort(p)
	for limit, clock := range map[float64]float64{700: 1, 900: 1, 50 + 650./8: 0.5, 1: 0.1} {
		got := product.Under(p, limit)
		near(t, "clock", got.Clock, clock)
		if clock < 1 && clock > 0.1 {
			near(t, "watts", got.Watts(), limit)
		}
	}
	// A lower limit never takes less time, and compute-bound work slows down more than memory-bound
	// work.
	w = cost.Work{Times: 1, Seconds: 1e-3, Bytes: 8e9, Pace: 8e12}
	stream := w.Effort(p)
	last := [2]float64{}
	for limit := 700.0; limit > 60; limit -= 20 {
		a, b := product.Under(p, limit), stream.Under(p, limit)
		if a.Seconds < last[0] || b.Seconds < last[1] {
			t.Errorf("at %g W less time: %g and %g s after %v", limit, a.Seconds, b.Seconds, last)
		}
		if a.Clock == b.Clock && a.Clock < 1 && a.Seconds < b.Seconds {
			t.Errorf("at %g W a stream slows down more than a product", limit)
		}
		last = [2]float64{a.Seconds, b.Seconds}
	}
}

// TestSlowerWorkBehindLaunches: a product of a millisecond in a step that waits two for launches and
// one for others: at half of the clock it takes a millisecond of the launches' time, at a quarter
// it lasts a millisecond longer than they do. What waits draws 50 W and x·v² of 50 more.
func TestSlowerWorkBehindLaunches(t *testing.T) {
	p := plainPower()
	w := cost.Work{Times: 1, Seconds: 1e-3, Flops: 0.4e12, Rate: 0.4e15, Type: "bfloat16"}
	product := w.Effort(p)
	e := product.Lasting(4e-3, 2e-3)
	near(t, "joules", e.Joules(p, 1), 4e-3*100+1e-3*200+0.4)
	near(t, "seconds at half of the clock", e.Seconds(0.5), 4e-3)
	near(t, "joules at half of the clock", e.Joules(p, 0.5), 4e-3*(50+50./8)+2e-3*200./8+0.4/4)
	near(t, "seconds at a quarter of it", e.Seconds(0.25), 5e-3)
	// That are 93.75 W: 105 W lower the clock, but not so far, and take no time.
	if got := e.Under(p, 105); got.Seconds > 4e-3*(1+1e-9) || got.Watts() > 105 || got.Clock <= 0.5 || got.Clock >= 1 {
		t.Errorf("%+v, at %g W", got, got.Watts())
	}
}

// TestAfterRest: of ten passes of 20 ms that take 25 ms once the limit acts, five fit into a window
// of 0.1 s. Without a window all are slow, within a long one none is.
func TestAfterRest(t *testing.T) {
	for window, want := range map[float64]float64{0: 25e-3, 0.1: 22.5e-3, 0.2: 20e-3, 5: 20e-3} {
		near(t, "mean pass", cost.AfterRest(&hardware.Power{Window: window}, 10, 20e-3, 25e-3), want)
	}
}
