package search

import (
	"context"

	"throughline/estimate"
	"throughline/plan"
)

// FusedProblem is the search of a deployment whose processors do both phases. The layouts, experts and batches of the
// decode problem are those of the deployment; the prefill problem contributes its limit.
type FusedProblem struct {
	Prefill, Decode Problem
	// Thorough looks at both phases of every plan, even of those that cannot win, so that all rejections are counted.
	Thorough bool
}

// sharedRate is the request rate of processors that spend on every request what either phase alone would take.
func sharedRate(prefill, decode float64) float64 { return 1 / (1/prefill + 1/decode) }

// fuser is one worker of a fused search.
type fuser struct {
	prefill, decode *searcher
	thorough        bool

	found    bool
	best     Outcome
	index    int
	rejected Rejections
}

func newFuser(p *FusedProblem) (*fuser, error) {
	beside := p.Prefill
	beside.Batches = nil // the best beside the decode batch is searched
	prefill, err := newSearcher(&beside)
	if err != nil {
		return nil, err
	}
	decode, err := newSearcher(&p.Decode)
	if err != nil {
		return nil, err
	}
	f := &fuser{prefill: prefill, decode: decode, thorough: p.Thorough}
	decode.memoryAt = f.memoryWithPrefill
	return f, nil
}

// Fused searches the plan and the batches with the highest request rate. The decode batch is the one with the highest
// decode throughput that leaves room for a prefill of one; the prefill batch the best that fits besides it.
func Fused(ctx context.Context, p *FusedProblem, workers int) (Outcome, error) {
	plans := p.Decode.Plans()
	fusers, err := share(ctx, len(plans), workers, func() (*fuser, error) { return newFuser(p) },
		func(f *fuser, i int) { f.try(&plans[i], i) })
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	var rejected Rejections
	var winner *fuser
	for _, f := range fusers {
		rejected.add(&f.rejected)
		if f.found && (winner == nil || f.best.Requests > winner.best.Requests ||
			f.best.Requests == winner.best.Requests && f.index < winner.index) {
			winner = f
		}
	}
	if winner != nil {
		out = winner.best
	}
	out.Shared = true
	for _, side := range []*Result{&out.Prefill, &out.Decode} {
		side.Found, side.Plans, side.Rejected = winner != nil, len(plans), rejected
		side.Procs, side.Instances = p.Decode.Procs, 1
	}
	return out, nil
}

// try finds the best batches of a plan, and keeps them if they beat what was found before.
func (f *fuser) try(p *plan.Plan, index int) {
	d := f.decode
	d.found, d.rejected = false, Rejections{}
	d.try(p, index)
	if !d.found {
		f.rejected.add(&d.rejected)
		return
	}
	// The shared rate is below that of the decode alone.
	if !f.thorough && f.found && d.best.Requests <= f.best.Requests {
		return
	}
	d.settleTies()
	if !f.prefillBeside(&d.best, index) {
		return
	}
	if r := sharedRate(f.prefill.best.Requests, d.best.Requests); !f.found || r > f.best.Requests {
		f.found, f.index = true, index
		f.best = Outcome{Prefill: Result{Best: f.prefill.best}, Decode: Result{Best: d.best}, Requests: r}
	}
}

// memoryWithPrefill is what a processor must hold under a decode plan so that a prefill of one can run beside it.
func (f *fuser) memoryWithPrefill(p *plan.Plan) float64 {
	m := f.decode.evaluator.MemoryOf(p)
	one := *p
	one.Batch = plan.Batch{Count: 1, Size: 1}
	prefill := f.prefill.evaluator.MemoryOf(&one)
	return max(m.WithoutCache(), prefill.WithoutCache()) + m.Cache
}

// prefillBeside finds the best prefill batch that fits beside the cache of the decode and is not larger than its batch.
func (f *fuser) prefillBeside(decode *estimate.Estimate, index int) bool {
	s := f.prefill
	s.found, s.rejected = false, Rejections{}
	q := decode.Plan
	q.Drafts = 0
	memory := func(p *plan.Plan) float64 {
		held := *p
		held.Drafts = decode.Plan.Drafts // the module that drafts stays where it is
		m := s.evaluator.MemoryOf(&held)
		return m.WithoutCache() + decode.Memory.Cache
	}
	q.Batch = plan.Batch{Count: 1, Size: 1}
	if m := memory(&q); m > s.capacity {
		f.rejected.Memory.note(&q, index, m, m-s.capacity)
		return false
	}
	largest := lastWithin(1, max(1, decode.Plan.Batch.Size*decode.Plan.Batch.Count), s.capacity, func(size int) float64 {
		q.Batch = plan.Batch{Count: 1, Size: size}
		return memory(&q)
	})
	s.bestBatch(&q, index, largest)
	if !s.found {
		f.rejected.FirstToken.add(&s.rejected.Latency)
		return false
	}
	s.settleTies()
	return true
}
