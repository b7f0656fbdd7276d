package simulate

import (
	"context"
	"math"
	"slices"
)

// Capacity summarises the runs of a trial.
type Capacity struct {
	Rate        float64
	Holds       bool
	TTFT, TPOT  Percentiles
	Latency     float64 // mean, from arrival to the last token
	Concurrency float64 // mean requests in the system
	Utilisation float64 // as of Result
	Runs        int     // completed
	Requests    int     // per run
	// Headroom is the share by which the rate may grow until limits break; First is what breaks.
	Headroom float64
	First    Break
}

// Percentiles of a latency in seconds, with the 95% interval of the 99th.
type Percentiles struct {
	Mean, P50, P95, P99, P99Low, P99High float64
	Asked                                Asked
}

// Asked is the statistic that a limit bounds.
type Asked struct {
	Value float64
	Noise float64 // standard deviation of its logarithm from run to run
}

// Break is what fails first as the rate grows.
type Break string

const (
	BreaksTTFT   Break = "ttft"
	BreaksTPOT   Break = "tpot"
	BreaksQueue  Break = "queue"  // requests pile up before a limit is missed
	BreaksMemory Break = "memory" // requests wait for room in the KV cache
)

// traceBlocks is how many parts of a single run stand in for replications.
const traceBlocks = 16

func (t *Trial) capacity() *Capacity {
	complete := slices.DeleteFunc(slices.Clone(t.samples), func(s *sample) bool { return s.result == nil })
	out := &Capacity{Rate: t.Rate, Runs: len(complete), Requests: t.Requests}
	if len(complete) == 0 {
		return out
	}
	var ttft, tpot [][]float64
	n := float64(len(complete))
	for _, s := range complete {
		ttft, tpot = append(ttft, s.ttft), append(tpot, s.tpot)
		out.Latency += s.latency / n
		out.Concurrency += s.latency * s.rate / n
		out.Utilisation += s.result.Utilisation() / n
	}
	if len(complete) == 1 {
		out.Requests = int(complete[0].result.Requests)
		ttft, tpot = blocks(ttft[0]), blocks(tpot[0])
	}
	out.TTFT, out.TPOT = percentiles(ttft, t.TTFT.Share), percentiles(tpot, t.TPOT.Share)
	return out
}

// blocks cuts values into successive parts.
func blocks(values []float64) (out [][]float64) {
	for i := range traceBlocks {
		out = append(out, values[i*len(values)/traceBlocks:(i+1)*len(values)/traceBlocks])
	}
	return out
}

// percentiles pools all runs. The interval of the 99th lies between the quantiles at 0.99 ± the
// scatter of the share below it from run to run (Heidelberger and Lewis 1984). A share of 0 asks
// for the mean.
func percentiles(runs [][]float64, asked float64) Percentiles {
	all := slices.Concat(runs...)
	if len(all) == 0 {
		return Percentiles{}
	}
	slices.Sort(all)
	at := func(share float64) float64 { return Quantile(all, share) }
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
	out := Percentiles{Mean: mean, P50: at(0.5), P95: at(0.95), P99: p99, P99Low: at(0.99 - half), P99High: at(0.99 + half)}
	if out.Asked.Value = mean; asked > 0 {
		out.Asked.Value = at(asked)
	}
	out.Asked.Noise = scatter(runs, asked)
	return out
}

// Quantile of sorted values, between neighbours in proportion.
func Quantile(sorted []float64, share float64) float64 {
	x := min(max(share, 0), 1) * float64(len(sorted)-1)
	i := int(x)
	if i+1 >= len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (x-float64(i))*(sorted[i+1]-sorted[i])
}

// scatter is the standard deviation of the logarithm of a statistic from run to run; 0 for one run.
func scatter(runs [][]float64, share float64) float64 {
	var logs []float64
	for _, run := range runs {
		if len(run) == 0 {
			continue
		}
		value, _ := meanOf(run)
		if share > 0 {
			value = Quantile(slices.Sorted(slices.Values(run)), share)
		}
		if value > 0 {
			logs = append(logs, math.Log(value))
		}
	}
	if len(logs) < 2 {
		return 0
	}
	_, deviation := meanOf(logs)
	return deviation
}

// rateTolerance is the ratio at which the search for the highest sustained rate stops.
const rateTolerance = 1.02

// MostHeadroom bounds the search for a higher rate.
const MostHeadroom = 16

// Reach finds the highest rate that one run sustains, starting at that of the trial, and what
// breaks above it. A rate of 0 means that none is sustained.
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
	for factor := 1.0; low == 0 || high/low > rateTolerance; {
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

// first is what fails in an unsustainable run.
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
