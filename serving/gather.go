package serving

import "math"

// gathering is prompts that wait for others to share a step.
type gathering struct {
	wait              float64 // mean steps of a prompt
	share             float64 // of steps that have prompts
	beside, elsewhere float64 // others computed with a prompt, on its rank and on others
}

// gather is the waits of prompts that arrive at these rates per step on a rank and on all in
// lockstep.
func (w *waves) gather(own, all float64) gathering {
	switch {
	case w.balance > 0 && w.balanced > 1 && all > 0:
		return w.balancing(all)
	case w.hold > 0 && own > 0:
		return w.filling(own)
	}
	return gathering{wait: w.hold}
}

// filling: prompts wait until a step is full or the first has waited its time. The mean prompt
// shares its step with more others than the mean step has: (1 + m)² + m over 1 + m.
func (w *waves) filling(own float64) gathering {
	window := min(w.hold, (w.holds-1)/own)
	m := own * window
	return gathering{wait: window * (1 + m/2) / (1 + m), share: own / (1 + m), beside: m * (2 + m) / (1 + m)}
}

// balancing: ranks release prompts when each has one, or when the time since the last release is
// over. They take prompts in turn. With N of a Poisson process within that time and R ranks, ∫
// P(N(t) = k) dt is P(N > k) over the rate: a round has Σ P(N > k) prompts for k < R, which wait
// for Σ k·P(N > k) over the rate together.
func (w *waves) balancing(all float64) gathering {
	mean := all * w.balance
	term := math.Exp(-mean) // P(N = k)
	more := 1 - term        // P(N > k)
	any, come, waited := more, 0.0, 0.0
	for k := 0.0; more > 1e-12 && (k < w.balanced || w.group < w.balanced); k++ {
		come, waited = come+more, waited+k*more
		term *= mean / (k + 1)
		more -= term
	}
	if come == 0 {
		return gathering{wait: w.balance / 2, share: all}
	}
	return gathering{wait: waited / all / come, share: all * any / come, elsewhere: come/any - 1}
}
