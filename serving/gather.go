package serving

import "math"

// gathering is prompts that wait for others to be computed with.
type gathering struct {
	wait              float64 // mean steps of a prompt
	share             float64 // of the steps that have prompts
	beside, elsewhere float64 // others that are computed with a prompt: on its rank, and on others
}

// gather is the waits of prompts, where so many come to a step on a rank and on all that wait for each other; zero: they do not wait.
func (w *waves) gather(own, all float64) gathering {
	switch {
	case w.balance > 0 && w.balanced > 1 && all > 0:
		return w.balancing(all)
	case w.hold > 0 && own > 0:
		return w.filling(own)
	}
	return gathering{wait: w.hold}
}

// filling is prompts that wait until a step is full or the first of them has waited its time: the others come meanwhile. The mean
// prompt is in a step with more others than the mean step has, as (1 + m)² + m over 1 + m.
func (w *waves) filling(own float64) gathering {
	window := min(w.hold, (w.holds-1)/own)
	m := own * window
	return gathering{wait: window * (1 + m/2) / (1 + m), share: own / (1 + m), beside: m * (2 + m) / (1 + m)}
}

// balancing is ranks that let their prompts go when each has one, or when the time since they last did is over. They get prompts in
// turn, so that each has one when as many have come. With N of a Poisson process within that time and R ranks, ∫ P(N(t) = k) dt is
// P(N > k) over the rate: a round has Σ P(N > k) prompts for k < R, which wait for Σ k·P(N > k) over the rate together.
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
