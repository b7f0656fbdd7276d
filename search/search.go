// Package search finds the deployment with the highest throughput: it enumerates valid plans, finds
// the best batch of each within the memory and latency limits, and keeps the best, or explains why
// there is none.
//
// One phase alone is searched by Best (search.go, candidates.go, batch.go), both phases on the same
// processors by Fused (fusion.go), on separate ones by Split (split.go). whynot.go explains
// rejections.
package search

import (
	"context"

	"throughline/estimate"
	"throughline/internal/parallel"
	"throughline/plan"
)

// Problem is the search of one phase.
type Problem struct {
	estimate.Problem
	Procs int
	// Limit is the limit on the latency of the phase in seconds, TTFT or TPOT; 0 means none.
	Limit float64
	// Layouts, ExpertLayouts and Batches restrict the search to these candidates; nil means all.
	Layouts       []plan.Split
	ExpertLayouts []plan.ExpertSplit
	Batches       []plan.Batch
	// Contexts are the context parallelisms to try; nil means none.
	Contexts         []int
	SequenceParallel bool
	Redundant        Range // redundant experts to try
	SharedPerCard    bool
	OneCopy          bool  // of the experts in a stage, where they are not given
	Drafts           Range // drafted tokens to try
	// Overlaps are those of the exchange between experts to try, where there is one; nil: none.
	Overlaps []plan.Overlap
	// Slack is the share of the throughput that may be given up for a smaller batch.
	Slack float64
	// MostTokens bounds the new tokens of a prefill, unless a single prompt has more; 0: any.
	MostTokens int
	// Accept rules out valid plans; nil: none. It must be safe for concurrent use.
	Accept func(*plan.Plan) bool
}

// Tick is called after every part of a search, to show progress; it may be nil.
type Tick func()

// Range is the integers from Low to High.
type Range struct{ Low, High int }

// Result is the outcome of the search of a phase.
type Result struct {
	Best      estimate.Estimate
	Found     bool
	Plans     int        // plans tried
	Rejected  Rejections // where a plan is found, by thorough searches only
	Procs     int        // processors of one instance
	Instances int        // equal copies of it
}

// Rate is the request rate of all instances.
func (r *Result) Rate() float64 { return float64(r.Instances) * r.Best.Requests }

// Outcome is a deployment of both phases. The request rate is known if both are found and fit.
type Outcome struct {
	Prefill, Decode Result
	Shared          bool    // both phases run on the same processors
	Requests        float64 // requests per second
}

// Found reports whether there is a plan for both phases together.
func (o *Outcome) Found() bool { return o.Prefill.Found && o.Decode.Found && o.Requests > 0 }

// Spare is how many of procs processors no instance uses.
func (o *Outcome) Spare(procs int) int {
	used := o.Decode.Procs * o.Decode.Instances
	if !o.Shared {
		used += o.Prefill.Procs * o.Prefill.Instances
	}
	return procs - used
}

// Best searches one phase. The result does not depend on the number of workers.
func Best(ctx context.Context, p *Problem, workers int) (Result, error) {
	return best(ctx, p, workers, false)
}

// best is Best; a thorough one looks at plans that cannot win, too, to count all that are out.
func best(ctx context.Context, p *Problem, workers int, thorough bool) (Result, error) {
	plans := p.Plans()
	start := func() (*searcher, error) { return newSearcher(p, thorough) }
	searchers, err := share(ctx, len(plans), workers, start,
		func(s *searcher, i int) { s.try(&plans[i], i) })
	if err != nil {
		return Result{}, err
	}
	r := Result{Plans: len(plans), Procs: p.Procs, Instances: 1}
	var winner *searcher
	for _, s := range searchers {
		r.Rejected.add(&s.rejected)
		if s.found && (winner == nil || s.best.Requests > winner.best.Requests ||
			s.best.Requests == winner.best.Requests && s.bestIndex < winner.bestIndex) {
			winner = s
		}
	}
	if winner != nil {
		winner.settleTies()
		r.Best, r.Found = winner.best, true
		if !thorough {
			r.Rejected = Rejections{} // how many were looked at depends on the order of the work
		}
	}
	return r, nil
}

// share distributes the numbers 0..n-1 to workers, and returns their states.
func share[S any](ctx context.Context, n, workers int, start func() (S, error), do func(S, int)) ([]S, error) {
	// Chunks are large enough to be cheap to take, and small enough to keep workers even.
	const chunk = 64
	states := make([]S, max(1, min(workers, n/chunk)))
	for i := range states {
		var err error
		if states[i], err = start(); err != nil {
			return nil, err
		}
	}
	parallel.Share(ctx, n, chunk, states, do)
	return states, ctx.Err()
}
