package search

import (
	"context"

	"golang.org/x/sync/errgroup"

	"throughline/internal/parallel"
)

// SplitProblem is the search of a deployment with separate processors for prefill and decode.
type SplitProblem struct {
	Prefill, Decode Problem
	Procs           int // in all
	// Pools fixes the processors of the two sides, one instance each; nil: the split is searched.
	Pools *[2]int
	// Sizes are the sizes of an instance to consider; nil: all.
	Sizes []int
	Tick  Tick // after every size of an instance
	// Thorough looks at plans that cannot win, too, to count all that are ruled out.
	Thorough bool
}

func (p *SplitProblem) sizes() []int {
	var out []int
	if p.Sizes == nil {
		for n := 1; n < p.Procs; n++ {
			out = append(out, n)
		}
		return out
	}
	for _, n := range p.Sizes {
		if n < p.Procs {
			out = append(out, n)
		}
	}
	return out
}

// Split finds the deployment with the highest request rate of the slower side over all instance
// sizes and counts; of equals the one with the fewest processors.
func Split(ctx context.Context, p *SplitProblem, workers int) (Outcome, error) {
	if p.Pools != nil {
		return pools(ctx, p, workers)
	}
	out, err := SplitUnder(ctx, p, []float64{p.Decode.Limit}, workers)
	if err != nil {
		return Outcome{}, err
	}
	return out[0], nil
}

// SplitUnder searches the split under each of several limits on the time per output token.
func SplitUnder(ctx context.Context, p *SplitProblem, limits []float64, workers int) ([]Outcome, error) {
	prefill, err := p.instances(ctx, &p.Prefill, workers)
	if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(limits))
	for i, limit := range limits {
		q := p.Decode
		q.Limit = limit
		decode, err := p.instances(ctx, &q, workers)
		if err != nil {
			return nil, err
		}
		out[i] = match(prefill, decode, p.Procs)
	}
	return out, nil
}

// pools searches the two sides on given processors, one instance each.
func pools(ctx context.Context, p *SplitProblem, workers int) (Outcome, error) {
	var out Outcome
	for i, side := range []struct {
		problem Problem
		result  *Result
	}{{p.Prefill, &out.Prefill}, {p.Decode, &out.Decode}} {
		side.problem.Procs = p.Pools[i]
		var err error
		if *side.result, err = best(ctx, &side.problem, workers, p.Thorough); err != nil {
			return out, err
		}
	}
	out.Requests = min(out.Prefill.Rate(), out.Decode.Rate())
	return out, nil
}

// instances searches a phase for the sizes of an instance; the results are indexed by size.
func (p *SplitProblem) instances(ctx context.Context, phase *Problem, workers int) ([]Result, error) {
	out := make([]Result, max(1, p.Procs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, n := range p.sizes() {
		g.Go(parallel.Caught(func() error {
			q := *phase
			q.Procs = n
			var err error
			out[n], err = best(ctx, &q, 1, p.Thorough)
			if p.Tick != nil {
				p.Tick()
			}
			return err
		}))
	}
	return out, g.Wait()
}

// side is a number of equal instances.
type side struct {
	procs, count int
	rate         float64
}

// sides is, by number of processors, the equal instances on exactly that many with the highest
// rate; fewer, larger instances on a tie.
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

// match picks the split with the highest rate of the slower side, then the fewest processors.
func match(prefill, decode []Result, procs int) Outcome {
	p, d := sides(prefill), sides(decode)
	bestD := make([]float64, len(d)) // highest decode rate on at most n processors
	for n := 1; n < len(d); n++ {
		bestD[n] = max(bestD[n-1], d[n].rate)
	}
	highest := 0.0
	for n := 1; n < procs; n++ {
		highest = max(highest, min(p[n].rate, bestD[procs-n]))
	}
	if highest == 0 {
		return Outcome{Prefill: nearest(prefill), Decode: nearest(decode)}
	}
	pick := func(s []side, results []Result) Result {
		for _, c := range s {
			if c.rate >= highest*(1-tie) {
				r := results[c.procs]
				r.Instances = c.count
				return r
			}
		}
		panic("search: no side reaches the rate of a split that was found")
	}
	out := Outcome{Prefill: pick(p, prefill), Decode: pick(d, decode)}
	out.Requests = min(out.Prefill.Rate(), out.Decode.Rate())
	return out
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
