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

// Add adds so many times another effort.
func (e *Effort) Add(times float64, other *Effort) {
	e.Static += times * other.Static
	e.Steady += times * other.Steady
	e.Clocked += times * other.Clocked
	e.Core += times * other.Core
	e.Moved += times * other.Moved
}

// Seconds at a share of the full clock.
func (e *Effort) Seconds(clock float64) float64 { return e.Static + e.Steady + e.Clocked/clock }

// Joules at a share of the full clock.
func (e *Effort) Joules(p *hardware.Power, clock float64) float64 {
	squared := p.Clock.Squared(clock)
	working := e.Steady + e.Clocked/clock
	return (e.Static+working)*OnWatts(p, clock) + working*p.Busy*clock*squared + e.Core*squared + e.Moved
}

// OnWatts is what a chip draws at a share of the full clock while nothing runs.
func OnWatts(p *hardware.Power, clock float64) float64 {
	return p.Rest + (p.On-p.Rest)*clock*p.Clock.Squared(clock)
}

// Spent is time and energy of work at the clock that a power limit leads to.
type Spent struct {
	Clock           float64 // share of the full clock
	Seconds, Joules float64
}

// Watts on average.
func (s *Spent) Watts() float64 { return s.Joules / s.Seconds }

// Under is what work takes that runs over and over under a limit in watts, whose controller sees
// the average of all. Where the lowest clock does not suffice, the limit is exceeded.
func (e *Effort) Under(p *hardware.Power, limit float64) Spent {
	fits := func(clock float64) bool { return e.Joules(p, clock) <= limit*p.Held*e.Seconds(clock) }
	clock := 1.0
	if !fits(clock) {
		clock = search(p.Clock.Floor(), 1, fits)
	}
	return Spent{clock, e.Seconds(clock), e.Joules(p, clock)}
}

// AfterRest is the mean seconds of passes that run one after another from a rest on: until the
// window of the controller is over each takes full, then held seconds.
func AfterRest(p *hardware.Power, passes, full, held float64) float64 {
	brief := min(passes, p.Window/full)
	return (brief*full + (passes-brief)*held) / passes
}

// search is the highest clock between two that fits, or the lowest of all.
func search(low, high float64, fits func(float64) bool) float64 {
	const halvings = 40
	for range halvings {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
