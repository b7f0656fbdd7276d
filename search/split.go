package search

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"throughline/estimate"
)

// SplitProblem is the search of a deployment whose prefill and decode run on processors of their own.
type SplitProblem struct {
	Prefill, Decode Problem
	Procs           int // in all
	// Pools fixes the processors of the two sides, one instance each; nil: the split is searched.
	Pools *[2]int
}

// SplitResult is the outcome of a split search. Each side is found or not on its own; the rates are known when both are.
type SplitResult struct {
	Prefill, Decode           Result
	PrefillProcs, DecodeProcs int // of one instance
	PrefillCount, DecodeCount int // instances
	Requests                  float64
}

// Found reports whether both sides have a plan.
func (r *SplitResult) Found() bool { return r.Prefill.Found && r.Decode.Found }

// PrefillRate and DecodeRate are the request rates of all instances of a side.
func (r *SplitResult) PrefillRate() float64 {
	return float64(r.PrefillCount) * r.Prefill.Best.Requests
}
func (r *SplitResult) DecodeRate() float64 { return float64(r.DecodeCount) * r.Decode.Best.Requests }

// Spare is the processors that no instance uses.
func (r *SplitResult) Spare(procs int) int {
	return procs - r.PrefillCount*r.PrefillProcs - r.DecodeCount*r.DecodeProcs
}

// Split searches the deployment with the highest request rate, which is that of the slower side. Without given pools all
// instance sizes and numbers are considered; of the splits with the highest rate the one with the fewest processors.
func Split(ctx context.Context, p *SplitProblem, workers int) (SplitResult, error) {
	if p.Pools != nil {
		r := SplitResult{PrefillProcs: p.Pools[0], DecodeProcs: p.Pools[1], PrefillCount: 1, DecodeCount: 1}
		prefill, decode := p.Prefill, p.Decode
		prefill.Procs, decode.Procs = p.Pools[0], p.Pools[1]
		var err error
		if r.Prefill, err = Best(ctx, &prefill, workers); err != nil {
			return r, err
		}
		if r.Decode, err = Best(ctx, &decode, workers); err != nil {
			return r, err
		}
		r.Requests = min(r.PrefillRate(), r.DecodeRate())
		return r, nil
	}
	prefill, err := instances(ctx, &p.Prefill, p.Procs-1, workers)
	if err != nil {
		return SplitResult{}, err
	}
	decode, err := instances(ctx, &p.Decode, p.Procs-1, workers)
	if err != nil {
		return SplitResult{}, err
	}
	return match(prefill, decode, p.Procs), nil
}

// instances searches a phase for every size of an instance from 1 to most; index 0 stays empty.
func instances(ctx context.Context, p *Problem, most, workers int) ([]Result, error) {
	out := make([]Result, most+1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for n := 1; n <= most; n++ {
		g.Go(func() error {
			q := *p
			q.Procs = n
			var err error
			out[n], err = Best(ctx, &q, 1)
			return err
		})
	}
	return out, g.Wait()
}

// side is a number of equal instances.
type side struct {
	procs, count int
	rate         float64
}

// sides is, for every number of processors, the equal instances on exactly so many with the highest rate; fewer, larger
// instances on a tie.
func sides(results []Result) []side {
	out := make([]side, len(results))
	for n := len(results) - 1; n >= 1; n-- {
		if !results[n].Found {
			continue
		}
		for count := 1; count*n < len(results); count++ {
			rate := float64(count) * results[n].Best.Requests
			if s := &out[count*n]; rate > s.rate*(1+tie) {
				*s = side{n, count, rate}
			}
		}
	}
	return out
}

// match picks the split of procs processors with the highest rate of the slower side, and of those the one with the
// fewest processors.
func match(prefill, decode []Result, procs int) SplitResult {
	p, d := sides(prefill), sides(decode)
	bestD := make([]float64, len(d)) // highest decode rate on at most so many processors
	for n := 1; n < len(d); n++ {
		bestD[n] = max(bestD[n-1], d[n].rate)
	}
	highest := 0.0
	for n := 1; n < procs; n++ {
		highest = max(highest, min(p[n].rate, bestD[procs-n]))
	}
	var out SplitResult
	if highest == 0 {
		out.Prefill, out.Decode = nearest(prefill), nearest(decode)
		return out
	}
	first := func(s []side) side {
		for _, c := range s {
			if c.rate >= highest*(1-tie) {
				return c
			}
		}
		panic("search: no side reaches the rate of a split that was found")
	}
	ps, ds := first(p), first(d)
	return SplitResult{
		Prefill: prefill[ps.procs], Decode: decode[ds.procs],
		PrefillProcs: ps.procs, DecodeProcs: ds.procs, PrefillCount: ps.count, DecodeCount: ds.count,
		Requests: min(ps.rate, ds.rate),
	}
}

// nearest sums up why no size of instance has a plan, or returns the smallest that has one.
func nearest(results []Result) Result {
	var out Result
	for i := range results {
		if results[i].Found {
			return results[i]
		}
		out.Plans += results[i].Plans
		out.Rejected.add(&results[i].Rejected)
	}
	return out
}

// Balance is how evenly the two sides are loaded: the slower rate over the faster.
func (r *SplitResult) Balance() float64 {
	a, b := r.PrefillRate(), r.DecodeRate()
	return math.Min(a, b) / math.Max(a, b)
}

// Transfer is the KV transfer of the prefill that was found.
func (r *SplitResult) Transfer() estimate.Transfer { return r.Prefill.Best.KV }
