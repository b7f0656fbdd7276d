package simulate

import (
	"context"
	"math"
	"slices"
)

// Capacity is what the runs of a trial saw.
type Capacity struct {
	Rate        float64
	Holds       bool
	TTFT, TPOT  Percentiles
	Latency     float64 // mean of whole requests
	Concurrency float64 // requests under way
	Utilisation float64 // as of Result
	Runs        int     // that came to their end
	Requests    int     // of a run
	// Headroom is by how much of itself the rate may grow until limits break, and First what does.
	Headroom float64
	First    Break
}

// Percentiles are those of a time that clients see, in seconds, with the 95% interval of the last.
type Percentiles struct{ Mean, P50, P95, P99, P99Low, P99High float64 }

// Break is what fails first as more requests come.
type Break string

const (
	BreaksTTFT   Break = "ttft"
	BreaksTPOT   Break = "tpot"
	BreaksQueue  Break = "queue"  // requests pile up before a limit is missed
	BreaksMemory Break = "memory" // requests wait for room in the KV cache
)

// traceBlocks is the parts of a run whose scatter stands for that of several, where there is one.
const traceBlocks = 16

// capacity sums up the runs.
func (t *Trial) capacity() *Capacity {
	whole := slices.DeleteFunc(slices.Clone(t.samples), func(s *sample) bool { return s.result == nil })
	out := &Capacity{Rate: t.Rate, Runs: len(whole), Requests: t.Requests}
	if len(whole) == 0 {
		return out
	}
	var ttft, tpot [][]float64
	n := float64(len(whole))
	for _, s := range whole {
		ttft, tpot = append(ttft, s.ttft), append(tpot, s.tpot)
		out.Latency += s.whole / n
		out.Concurrency += s.whole * s.rate / n
		out.Utilisation += s.result.Utilisation() / n
	}
	if len(whole) == 1 {
		out.Requests = int(whole[0].result.Requests)
		ttft, tpot = blocks(ttft[0]), blocks(tpot[0])
	}
	out.TTFT, out.TPOT = percentiles(ttft), percentiles(tpot)
	return out
}

// blocks cuts values into parts that follow each other.
func blocks(values []float64) (out [][]float64) {
	for i := range traceBlocks {
		out = append(out, values[i*len(values)/traceBlocks:(i+1)*len(values)/traceBlocks])
	}
	return out
}

// percentiles are those of all runs together. The interval of the 99th is between the quantiles at 0.99 less and more than
// what the share below it scatters by from run to run (Heidelberger and Lewis 1984).
func percentiles(runs [][]float64) Percentiles {
	all := slices.Concat(runs...)
	if len(all) == 0 {
		return Percentiles{}
	}
	slices.Sort(all)
	at := func(share float64) float64 {
		x := min(max(share, 0), 1) * float64(len(all)-1)
		i := int(x)
		if i+1 >= len(all) {
			return all[i]
		}
		return all[i] + (x-float64(i))*(all[i+1]-all[i])
	}
	mean, _ := meanOf(all)
	p99 := at(0.99)
	var below []float64
	for _, run := range runs {
		n := 0.0
		for _, v := range run {
			if v <= p99 {
				n++
			}
		}
		if len(run) > 0 {
			below = append(below, n/float64(len(run)))
		}
	}
	half := 1.0
	if len(below) > 1 {
		_, deviation := meanOf(below)
		half = student(len(below)-1) * deviation / math.Sqrt(float64(len(below)))
	}
	return Percentiles{mean, at(0.5), at(0.95), p99, at(0.99 - half), at(0.99 + half)}
}

// nearEnough is how far the rate that still holds is told apart from one that does not.
const nearEnough = 1.02

// MostHeadroom is where the search for more ends.
const MostHeadroom = 16

// Reach finds the highest rate that one run holds, from that of the trial upwards or, where it does not hold, downwards; and
// what breaks above it. A rate of 0: none does.
func (t *Trial) Reach(ctx context.Context) (rate float64, first Break, err error) {
	var broken *sample
	holds := func(factor float64) (bool, error) {
		s, err := t.run(ctx, factor*t.Rate, t.Seed, false)
		if err != nil {
			return false, err
		}
		if s.verdict() == breaks {
			broken = s
			return false, nil
		}
		return true, nil
	}
	low, high := 0.0, math.Inf(1)
	for factor := 1.0; low == 0 || high/low > nearEnough; {
		ok, err := holds(factor)
		if err != nil {
			return 0, "", err
		}
		if ok {
			low = factor
		} else {
			high = factor
		}
		switch {
		case low >= MostHeadroom:
			return low * t.Rate, "", nil
		case low == 0 && factor < 1e-4:
			return 0, t.first(broken), nil
		case low == 0:
			factor /= 2
		case math.IsInf(high, 1):
			factor *= min(1.1*factor, 2)
		default:
			factor = math.Sqrt(low * high)
		}
	}
	return low * t.Rate, t.first(broken), nil
}

// first is what fails in a run that does not hold.
func (t *Trial) first(s *sample) Break {
	r := s.result
	var waits [reasonCount]float64
	for i := range r.Pools {
		for reason := Nothing + 1; reason < reasonCount; reason++ {
			waits[reason] = max(waits[reason], r.Pools[i].Waits[reason]/r.Pools[i].Steps)
		}
	}
	switch {
	case waits[Cache] > hardlyWait && waits[Cache] == slices.Max(waits[:]), r.Preemptions > r.Requests/10:
		return BreaksMemory
	case s.piles:
		return BreaksQueue
	case s.margins[0] >= s.margins[1]:
		return BreaksTTFT
	}
	return BreaksTPOT
}
