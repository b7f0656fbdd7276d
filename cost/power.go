package cost

import (
	"cmp"
	"math"

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

// Effort is time and energy of a kernel as functions of the clock.
type Effort struct {
	Static  float64 // seconds in which nothing runs that a clock would speed up
	Working float64 // seconds besides, at the full clock
	Clocked float64 // share of their square that follows the clock; memory sets the others
	Core    float64 // joules of arithmetic, at the full voltage
	Moved   float64 // joules of bytes on their way, which have voltages of their own
}

const picojoule = 1e-12

// Effort of all executions. Kernels are measured in bursts, whose clocks fall as well where they
// draw too much.
func (w *Work) Effort(p *hardware.Power) Effort {
	filled := cmp.Or(w.Filled, 1)
	e := Effort{Static: min(w.Static, w.Seconds)}
	e.Working = w.Seconds - e.Static
	if !w.Cached {
		e.Moved = picojoule * p.Byte * w.Bytes
	}
	lanes, data := w.Flops/filled, w.Flops
	if w.Zeros {
		data = 0
	}
	e.Core = picojoule * p.Flop[w.Type] * (data + p.Empty*(lanes-data))
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
	clocked := compute*compute + p.Issue*p.Issue*memory*memory
	if clocked > 0 {
		e.Clocked = clocked / (clocked + memory*memory)
	}
	e.unthrottle(p)
	if w.Level == HostLink {
		e.Moved += picojoule * p.HostByte * w.Sent
	} else {
		e.Moved += p.LinkByte(w.Level) * w.Sent
	}
	return e.times(w.Times)
}

// unthrottle turns the time of a burst into that of the full clock.
func (e *Effort) unthrottle(p *hardware.Power) {
	burst := *e
	at := func(clock float64) Effort {
		full := burst
		full.Working /= slower(full.Clocked, clock)
		return full
	}
	if p.Burst == 0 || e.Working == 0 || e.Joules(p, 1) <= p.Burst*e.Seconds(1) {
		return
	}
	x := search(p.Clock.Floor(), 1, func(clock float64) bool {
		full := at(clock)
		return full.Joules(p, clock) <= p.Burst*full.Seconds(clock)
	})
	*e = at(x)
}

// slower is how much longer work takes at a share of the full clock.
func slower(clocked, clock float64) float64 {
	return math.Sqrt(clocked/(clock*clock) + 1 - clocked)
}

// times is the effort of n such kernels one after another.
func (e Effort) times(n float64) Effort {
	e.Static, e.Working, e.Core, e.Moved = n*e.Static, n*e.Working, n*e.Core, n*e.Moved
	return e
}

// Seconds at a share of the full clock.
func (e *Effort) Seconds(clock float64) float64 {
	return e.Static + e.Working*slower(e.Clocked, clock)
}

// Joules at a share of the full clock.
func (e *Effort) Joules(p *hardware.Power, clock float64) float64 {
	squared := p.Clock.Squared(clock)
	seconds := e.Seconds(clock)
	return seconds*OnWatts(p, clock) + (seconds-e.Static)*p.Busy*clock*squared + e.Core*squared + e.Moved
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

// Under is what kernels take that run over and over under a limit in watts, whose controller sees
// the average of all. Where the lowest clock does not suffice, the limit is exceeded.
func Under(p *hardware.Power, efforts []Effort, limit float64) Spent {
	at := func(clock float64) (s Spent) {
		s.Clock = clock
		for i := range efforts {
			s.Seconds += efforts[i].Seconds(clock)
			s.Joules += efforts[i].Joules(p, clock)
		}
		return s
	}
	fits := func(clock float64) bool { s := at(clock); return s.Joules <= limit*p.Held*s.Seconds }
	if fits(1) {
		return at(1)
	}
	return at(search(p.Clock.Floor(), 1, fits))
}

// Kept is the shares of its rates that a chip keeps at a clock, of those at another.
func Kept(p *hardware.Power, clock, of float64) (compute, memory float64) {
	issued := p.Issue * p.Issue / (1 + p.Issue*p.Issue)
	return clock / of, slower(issued, of) / slower(issued, clock)
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
