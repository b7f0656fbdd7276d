package search

import (
	"context"

	"throughline/estimate"
	"throughline/plan"
)

// FusedProblem is the search of a deployment whose processors do both phases. The decode problem
// sets layouts, experts and batches; the prefill problem contributes its limit.
type FusedProblem struct {
	Prefill, Decode Problem
	// Thorough looks at plans that cannot win, too, to count all that are ruled out.
	Thorough bool
	// Top is how many plans FusedTop returns.
	Top int
}

// sharedRate is the request rate of processors that do both phases of every request.
func sharedRate(prefill, decode float64) float64 { return 1 / (1/prefill + 1/decode) }

type fuser struct {
	prefill, decode *searcher

	top      ranking[fusedPlan]
	rejected Rejections
}

type fusedPlan struct{ prefill, decode estimate.Estimate }

func newFuser(p *FusedProblem) (*fuser, error) {
	beside := p.Prefill
	beside.Batches = nil // the best beside the decode batch is searched
	prefill, err := newSearcher(&beside, true)
	if err != nil {
		return nil, err
	}
	decode, err := newSearcher(&p.Decode, p.Thorough)
	if err != nil {
		return nil, err
	}
	f := &fuser{prefill: prefill, decode: decode}
	f.top.size = max(1, p.Top)
	decode.memoryAt = f.memoryWithPrefill
	return f, nil
}

// Fused finds the highest request rate. The decode batch has the highest throughput that leaves
// room for a prefill of one; the prefill batch is the best that fits beside it.
func Fused(ctx context.Context, p *FusedProblem, workers int) (Outcome, error) {
	q := *p
	q.Top = 1
	top, none, err := FusedTop(ctx, &q, workers)
	if err != nil || len(top) == 0 {
		return none, err
	}
	return top[0], nil
}

// FusedTop is Fused for several plans, best first. Without any, the second result explains why.
func FusedTop(ctx context.Context, p *FusedProblem, workers int) (top []Outcome, none Outcome, err error) {
	plans := p.Decode.Plans()
	fusers, err := share(ctx, len(plans), workers, func() (*fuser, error) { return newFuser(p) },
		func(f *fuser, i int) { f.try(&plans[i], i) })
	if err != nil {
		return nil, Outcome{}, err
	}
	all := ranking[fusedPlan]{size: max(1, p.Top)}
	side := Result{Plans: len(plans), Procs: p.Decode.Procs, Instances: 1}
	for _, f := range fusers {
		side.Rejected.add(&f.rejected)
		for _, r := range f.top.items {
			all.add(r.rate, r.index, r.item)
		}
	}
	none = Outcome{Prefill: side, Decode: side, Shared: true}
	side.Found = true
	if !p.Thorough {
		side.Rejected = Rejections{}
	}
	for _, r := range all.items {
		out := Outcome{Prefill: side, Decode: side, Shared: true, Requests: r.rate}
		out.Prefill.Best, out.Decode.Best = r.item.prefill, r.item.decode
		top = append(top, out)
	}
	return top, none, nil
}

// try finds the best batches of a plan, and keeps them if they beat what was found before.
func (f *fuser) try(p *plan.Plan, index int) {
	d := f.decode
	d.found, d.rejected = false, Rejections{}
	// The shared rate is below that of the decode alone.
	d.floor = f.top.toBeat()
	d.try(p, index)
	if !d.found {
		f.rejected.add(&d.rejected)
		return
	}
	if !d.thorough && d.best.Requests <= d.floor {
		return
	}
	d.settleTies()
	if !f.prefillBeside(&d.best, index) {
		return
	}
	f.top.add(sharedRate(f.prefill.best.Requests, d.best.Requests), index, fusedPlan{f.prefill.best, d.best})
}

// memoryWithPrefill is the memory of a decode plan with room for a prefill of one.
func (f *fuser) memoryWithPrefill(p *plan.Plan) float64 {
	m := f.decode.evaluator.MemoryOf(p)
	one := *p
	one.Batch = plan.Batch{Count: 1, Size: 1}
	prefill := f.prefill.evaluator.MemoryOf(&one)
	return f.decode.held(&m, max(m.WithoutCache(), prefill.WithoutCache())+m.Cache)
}

// prefillBeside finds the best prefill batch up to the decode's that fits beside its cache.
func (f *fuser) prefillBeside(decode *estimate.Estimate, index int) bool {
	s := f.prefill
	s.found, s.rejected = false, Rejections{}
	q := decode.Plan.Prefilling()
	memory := func(p *plan.Plan) float64 {
		held := *p
		held.Drafts = decode.Plan.Drafts // the draft module stays in memory
		m := s.evaluator.MemoryOf(&held)
		return m.WithoutCache() + decode.Memory.Cache
	}
	q.Batch = plan.Batch{Count: 1, Size: 1}
	if m := memory(&q); m > s.capacity {
		f.rejected.Memory.Note(&q, index, m, m-s.capacity)
		return false
	}
	largest := LastWithin(1, max(1, decode.Plan.Batch.Size*decode.Plan.Batch.Count), s.capacity, func(size int) float64 {
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
