// Package search finds the plan with the highest throughput: it enumerates the valid plans, finds the best batch of each
// under the memory and latency limits, and keeps the best. When there is none it says what stood in the way.
package search

import (
	"context"
	"sync"
	"sync/atomic"

	"throughline/estimate"
	"throughline/plan"
)

// Problem is one search.
type Problem struct {
	estimate.Problem
	Procs int
	// Limit is the limit on the latency of the phase in seconds, TTFT or TPOT; 0 means none.
	Limit float64
	// Layouts, ExpertLayouts and Batches restrict the search to these candidates; nil means all.
	Layouts       []plan.Layout
	ExpertLayouts []plan.ExpertLayout
	Batches       []plan.Batch
	// RedundantLow and RedundantHigh bound the number of redundant experts.
	RedundantLow, RedundantHigh int
	SharedPerCard               bool
}

// Result is the outcome of a search.
type Result struct {
	Best     estimate.Estimate
	Found    bool
	Plans    int // plans looked at
	Rejected Rejections
}

// Plans lists the valid plans of the problem without their batches, in a fixed order.
func (p *Problem) Plans() []plan.Plan {
	m := p.Model
	layouts := p.Layouts
	if layouts == nil {
		layouts = plan.Layouts(m, p.Procs, 1)
	}
	var out []plan.Plan
	if !m.IsMoE() {
		for _, l := range layouts {
			if l.Procs() == p.Procs && plan.ValidLayout(m, l) {
				out = append(out, plan.Plan{Attention: l})
			}
		}
		return out
	}
	expertLayouts := p.ExpertLayouts
	if expertLayouts == nil {
		expertLayouts = plan.ExpertLayouts(m, p.Procs)
	}
	for r := p.RedundantLow; r <= p.RedundantHigh; r++ {
		for _, e := range expertLayouts {
			q := plan.Plan{Experts: e, Redundant: r, SharedReplicas: p.Settings.SharedReplicas, SharedPerCard: p.SharedPerCard}
			if e.Procs() != p.Procs || !q.ValidExperts(m) {
				continue
			}
			for _, l := range layouts {
				if l.Procs() == p.Procs && plan.ValidLayout(m, l) {
					q.Attention = l
					out = append(out, q)
				}
			}
		}
	}
	return out
}

// Best searches with the given number of workers. The result does not depend on their number.
func Best(ctx context.Context, p *Problem, workers int) (Result, error) {
	plans := p.Plans()
	first, err := newSearcher(p)
	if err != nil {
		return Result{}, err
	}
	// Plans are taken in chunks, large enough that taking one costs nothing, small enough to keep workers even.
	const chunk = 64
	workers = max(1, min(workers, len(plans)/chunk))
	searchers := make([]*searcher, workers)
	var next atomic.Int64
	var wait sync.WaitGroup
	for i := range searchers {
		s := first
		if i > 0 {
			if s, err = newSearcher(p); err != nil {
				return Result{}, err
			}
		}
		searchers[i] = s
		wait.Go(func() {
			for ctx.Err() == nil {
				to := int(next.Add(chunk))
				from := to - chunk
				if from >= len(plans) {
					return
				}
				for j := from; j < min(to, len(plans)); j++ {
					s.try(&plans[j], j)
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return merge(searchers, len(plans)), nil
}

// merge picks the best of the workers' bests: the highest throughput, the earliest plan on a tie.
func merge(searchers []*searcher, plans int) Result {
	r := Result{Plans: plans}
	var winner *searcher
	for _, s := range searchers {
		r.Rejected.add(&s.rejected)
		if !s.found {
			continue
		}
		if winner == nil || s.best.Throughput > winner.best.Throughput ||
			s.best.Throughput == winner.best.Throughput && s.bestIndex < winner.bestIndex {
			winner = s
		}
	}
	if winner != nil {
		winner.settleTies()
		r.Best, r.Found = winner.best, true
	}
	return r
}
