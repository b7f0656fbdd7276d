package cost

import (
	"cmp"

	"throughline/hardware"
)

// Work is what a kernel does in its time, as far as that takes energy; of one execution.
type Work struct {
	Times           float64 // executions
	Seconds, Static float64 // the part in which nothing works: launches, floors, waits
	Flops, Rate     float64 // operations, and the peak that they run at
	Filled          float64 // share of the matrix tiles that holds data; 0: all
	Zeros           bool    // what is multiplied is all zeros
	Type            string  // of the operations; empty: they are counted with their bytes
	Bytes, Pace     float64 // of memory, and its bandwidth
	ThroughCores    bool    // the bytes pass registers
	Cached          bool    // and come from the cache, not from memory
	Sent            float64 // bytes to other processors
	Level           int     // of the network, or HostLink
}

// HostLink is the level of what is sent to or from the host.
const HostLink = -1

// Effort is time and energy of kernels as functions of the clock. Those of kernels that run one
// after another add up.
type Effort struct {
	Static  float64 // seconds in which nothing works
	Steady  float64 // seconds of work that memory sets
	Clocked float64 // seconds of work that follows the clock, at the full one
	Slack   float64 // seconds in which the host launches, behind which slower work hides
	Core    float64 // joules of arithmetic, at the full voltage
	Moved   float64 // joules of bytes on their way, which have voltages of their own
}

const picojoule = 1e-12

// Effort of all executions.
func (w *Work) Effort(p *hardware.Power) Effort { return w.effort(p, picojoule*p.Flop[w.Type]) }

// effort is Effort with the joules of an operation looked up before.
func (w *Work) effort(p *hardware.Power, perFlop float64) Effort {
	e := Effort{Static: min(w.Static, w.Seconds)}
	if !w.Cached {
		e.Moved = picojoule * p.Byte * w.Bytes
	}
	lanes, data := w.Flops/cmp.Or(w.Filled, 1), w.Flops
	if w.Zeros {
		data = 0
	}
	e.Core = perFlop * (data + p.Empty*(lanes-data))
	if w.ThroughCores {
		e.Core += picojoule * p.CoreByte * w.Bytes
	}
	compute, memory := 0.0, 0.0
	if w.Rate > 0 {
		compute = lanes / w.Rate
	}
	if w.Pace > 0 {
		memory = w.Bytes / w.Pace // of a cache, whose clock is its own, as well
	}
	working := w.Seconds - e.Static
	e.Clocked = working * follows(p, compute, memory)
	e.Steady = working - e.Clocked
	if w.Level == HostLink {
		e.Moved += picojoule * p.HostByte * w.Sent
	} else {
		e.Moved += p.LinkByte(w.Level) * w.Sent
	}
	if w.Times == 1 {
		return e
	}
	var out Effort
	out.Add(w.Times, &e)
	return out
}

// follows is the share of a kernel's working time that follows the clock: that of arithmetic and
// of issuing loads, beside that of memory, in squares.
func follows(p *hardware.Power, compute, memory float64) float64 {
	clocked := compute*compute + p.Issue*p.Issue*memory*memory
	if clocked == 0 {
		return 0
	}
	return clocked / (clocked + memory*memory)
}

// Add adds a multiple of another effort.
func (e *Effort) Add(times float64, other *Effort) {
	e.Static += times * other.Static
	e.Steady += times * other.Steady
	e.Clocked += times * other.Clocked
	e.Slack += times * other.Slack
	e.Core += times * other.Core
	e.Moved += times * other.Moved
}

// Seconds at a share of the full clock.
func (e *Effort) Seconds(clock float64) float64 {
	return e.Static + e.Steady + max(e.Clocked/clock, e.Clocked+e.Slack)
}

// Joules at a share of the full clock.
func (e *Effort) Joules(p *hardware.Power, clock float64) float64 { return e.at(p, clock).Joules }

// OnWatts is what a chip draws at a share of the full clock while nothing runs.
func OnWatts(p *hardware.Power, clock float64) float64 {
	return onWatts(p, clock, p.Clock.Squared(clock))
}

func onWatts(p *hardware.Power, clock, squared float64) float64 {
	return p.Rest + (p.On-p.Rest)*clock*squared
}

// Spent is time and energy of work at the clock that a power limit leads to.
type Spent struct {
	Clock           float64 // share of the full clock
	Seconds, Joules float64
	Working         float64 // seconds in which something runs
}

// Watts on average.
func (s *Spent) Watts() float64 { return s.Joules / s.Seconds }

// Under is what work takes that runs over and over under a limit in watts. Where the lowest clock
// does not suffice, the limit is exceeded.
func (e *Effort) Under(p *hardware.Power, limit float64) Spent {
	return e.Behind(p, limit, p.Held*limit)
}

// Behind is what work takes once, given the average watts that the controller of the limit has
// seen: it runs at the highest clock that keeps this average within the limit, or at the lowest.
// An average that holds at the end of every step holds within it, so no load draws more for long.
func (e *Effort) Behind(p *hardware.Power, limit, average float64) Spent {
	full, fits := e.Fitting(p, limit)
	if fits {
		return full
	}
	return e.Slowed(p, limit, average, &full)
}

// Slowed is Behind of what does not fit by itself, given what it takes at the full clock.
func (e *Effort) Slowed(p *hardware.Power, limit, average float64, full *Spent) Spent {
	limit *= p.Held
	average = min(average, limit)
	excess := func(s *Spent) float64 { return p.Average(average, s.Watts(), s.Seconds) - limit }
	above := excess(full)
	if above <= 0 {
		return *full
	}
	return e.at(p, highest(p.Clock.Floor(), 1, above, limit*nearlyAll, func(clock float64) float64 {
		s := e.at(p, clock)
		return excess(&s)
	}))
}

// Fitting is what work takes at the full clock, and whether it may run there over and over.
func (e *Effort) Fitting(p *hardware.Power, limit float64) (s Spent, fits bool) {
	s = e.at(p, 1)
	return s, s.Joules <= p.Held*limit*s.Seconds
}

// at is time and energy at a share of the full clock.
func (e *Effort) at(p *hardware.Power, clock float64) Spent {
	squared, seconds, working := p.Clock.Squared(clock), e.Seconds(clock), e.Steady+e.Clocked/clock
	joules := seconds*onWatts(p, clock, squared) + working*p.Busy*clock*squared + e.Core*squared + e.Moved
	return Spent{clock, seconds, joules, working}
}

// nearlyAll is the share of a limit that a clock may leave unused, which is below rounding.
const nearlyAll = 1e-11

// Lasting is the same work in a step of a given duration, which it spends waiting once it is done:
// at most so many seconds for launches. Work that overlaps takes less than the sum of its parts.
func (e *Effort) Lasting(seconds, launching float64) Effort {
	out := *e
	if all := e.Seconds(1); all <= seconds {
		out.Slack = min(launching, seconds-all)
		out.Static += seconds - all - out.Slack
	} else {
		share := seconds / all
		out.Static, out.Steady, out.Clocked = share*e.Static, share*e.Steady, share*e.Clocked
	}
	return out
}

// AfterRest is the mean seconds of passes that run one after another from a rest on: until the
// window of the controller is over each takes full, then held seconds.
func AfterRest(p *hardware.Power, passes, full, held float64) float64 {
	brief := min(passes, p.Window/full)
	return (brief*full + (passes-brief)*held) / passes
}

// highest is the highest clock between two at which something that rises with it is at most 0, as
// near to that as asked for, or the lowest of all. By the Illinois method, from below; above is
// more than 0, at the high one.
func highest(low, high, above, near float64, excess func(float64) float64) float64 {
	below := excess(low)
	const most, narrow = 60, 1e-13
	side := 0
	for n := 0; n < most && below < -near && high-low > narrow; n++ {
		middle := (low*above - high*below) / (above - below)
		if !(middle > low && middle < high) {
			middle = (low + high) / 2
		}
		switch at := excess(middle); {
		case at <= 0:
			if low, below = middle, at; side < 0 {
				above /= 2
			}
			side = -1
		default:
			if high, above = middle, at; side > 0 {
				below /= 2
			}
			side = 1
		}
	}
	return low
}
