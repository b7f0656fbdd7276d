package simulate

// within sums the keys that sequences read which decode in lockstep, up to a bound of an attention.
// What a sequence has cached, less the decode steps so far, stays the same while it decodes.
type within struct {
	bound int64
	short int64   // sequences that have not reached it
	sum   int64   // of what these have cached, less the decode steps so far
	reach []int32 // how many of them reach it in the same step, by that modulo the bound
}

// add counts a sequence from a decode step on, or no longer; cached is as of that step.
func (w *within) add(cached, tick int64, count int32) {
	if cached+1 >= w.bound {
		return
	}
	if w.reach == nil {
		w.reach = make([]int32, w.bound)
	}
	w.short += int64(count)
	w.sum += int64(count) * (cached - tick)
	w.reach[w.slot(cached-tick)] += count
}

func (w *within) slot(n int64) int64 { return (n%w.bound + w.bound) % w.bound }

// advance leaves out those that reach the bound in the next step; tick is the steps so far.
func (w *within) advance(tick int64) {
	if w.short == 0 {
		return
	}
	key := w.bound - 1 - tick
	at := &w.reach[w.slot(key)]
	w.short -= int64(*at)
	w.sum -= int64(*at) * key
	*at = 0
}

// reached reports whether a sequence reaches the bound in the step at a tick.
func (w *within) reached(tick int64) bool {
	return w.short > 0 && w.reach[w.slot(w.bound-1-tick)] > 0
}

// keys that a number of sequences read in the next step.
func (w *within) keys(sequences int, tick int64) int64 {
	return w.sum + w.short*(tick+1) + (int64(sequences)-w.short)*w.bound
}
