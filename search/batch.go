package search

import (
	"math"
	"slices"

	"throughline/estimate"
	"throughline/plan"
)

// searcher is one worker: it tries plans one after another and keeps the best.
type searcher struct {
	problem   *Problem
	evaluator *estimate.Evaluator
	capacity  float64
	second    float64                  // capacity of the second memory tier
	memoryAt  func(*plan.Plan) float64 // memory of a processor under a plan

	found     bool
	best      estimate.Estimate
	bestIndex int
	rejected  Rejections

	thorough bool // looks at plans that cannot win, too
	scratch  estimate.Estimate
	cuts     []int
	straight bool // no efficiency depends on the size of the work: every plan is one segment
	// floor is the request rate below which a plan does not count, whatever its batch.
	floor float64
}

func newSearcher(p *Problem, thorough bool) (*searcher, error) {
	e, err := estimate.NewEvaluator(&p.Problem)
	if err != nil {
		return nil, err
	}
	s := &searcher{problem: p, evaluator: e, capacity: p.Assume.Usable(p.System.Memory.GiB), straight: !e.HasSteps(), thorough: thorough}
	if t := p.System.Memory2; t != nil {
		s.second = t.GiB * estimate.GiB
	}
	s.memoryAt = func(p *plan.Plan) float64 {
		m := e.MemoryOf(p)
		return s.held(&m, m.Total())
	}
	return s, nil
}

// held is what a processor holds in its memory, plus what does not fit the second tier.
func (s *searcher) held(m *estimate.Memory, total float64) float64 {
	if m.Second > s.second {
		return max(total, s.capacity) + m.Second - s.second
	}
	return total
}

// try finds the best batch of a plan, and keeps it if it beats what was found before.
func (s *searcher) try(p *plan.Plan, index int) {
	q := *p
	if s.problem.Batches != nil {
		for _, b := range s.problem.Batches {
			q.Batch = b
			s.tryBatch(&q, index)
		}
		return
	}
	if s.beaten(&q) {
		return
	}
	largest, needs := s.largestFitting(&q)
	if largest == 0 {
		q.Batch = plan.Batch{Count: 1, Size: 1}
		s.rejected.Memory.Note(&q, index, needs, needs-s.capacity)
		return
	}
	s.bestBatch(&q, index, largest)
}

// rounding is far above the errors of sums of floating-point numbers.
const rounding = 1e-9

// beaten reports whether no batch of a plan reaches the rate to beat: where a plan is one segment,
// throughput rises up to the most sequences whose cache alone fits. Rejected plans need not be
// counted once one is found.
func (s *searcher) beaten(p *plan.Plan) bool {
	least := max(s.record(), s.floor)
	if !s.straight || s.thorough || least == 0 {
		return false
	}
	p.Batch = plan.Batch{Count: 1, Size: 1}
	s.timeAt(p, s.mostCached(p))
	return s.scratch.Requests*(1+rounding) <= least
}

// mostCached is the most sequences that fit if nothing but their cache takes memory, and one more:
// each takes its share in one tier or the other.
func (s *searcher) mostCached(p *plan.Plan) int {
	return int((s.capacity+s.second)/s.evaluator.CacheOf(p)) + 1
}

// bestBatch tries batches up to the largest, and keeps the best if it beats what was found before.
func (s *searcher) bestBatch(p *plan.Plan, index, largest int) {
	if most := s.problem.MostTokens; most > 0 {
		largest = min(largest, max(1, most/max(1, s.problem.Lengths.Input-s.problem.Lengths.Cached)))
	}
	fits := false
	for lo, hi := range s.segments(p, largest) {
		if s.topOf(p, lo, hi) > 0 {
			fits = true
			if s.scratch.Requests > s.record() {
				s.keep(index)
			}
		}
	}
	if !fits {
		t := s.timeAt(p, 1)
		s.rejected.Latency.Note(p, index, t, t-s.problem.Limit)
	}
}

// tryBatch evaluates one given batch.
func (s *searcher) tryBatch(p *plan.Plan, index int) {
	if m := s.memoryAt(p); m > s.capacity {
		s.rejected.Memory.Note(p, index, m, m-s.capacity)
		return
	}
	s.evaluator.Evaluate(p, &s.scratch)
	if t := s.scratch.Latency; !s.inTime(t) {
		s.rejected.Latency.Note(p, index, t, t-s.problem.Limit)
		return
	}
	if s.scratch.Requests > s.record() {
		s.keep(index)
	}
}

func (s *searcher) keep(index int) {
	s.found, s.best, s.bestIndex = true, s.scratch, index
}

// record is the request rate to beat.
func (s *searcher) record() float64 {
	if s.found {
		return s.best.Requests
	}
	return 0
}

func (s *searcher) inTime(t float64) bool { return s.problem.Limit == 0 || t <= s.problem.Limit }

// timeAt evaluates a batch and leaves the estimate in scratch.
func (s *searcher) timeAt(p *plan.Plan, size int) float64 {
	p.Batch = plan.Batch{Count: 1, Size: size}
	s.evaluator.Evaluate(p, &s.scratch)
	return s.scratch.Latency
}

// largestFitting is the largest batch whose memory fits, or 0, and what a batch of one needs.
func (s *searcher) largestFitting(p *plan.Plan) (largest int, needs float64) {
	p.Batch = plan.Batch{Count: 1, Size: 1}
	needs = s.memoryAt(p)
	if needs > s.capacity {
		return 0, needs
	}
	return LastWithin(1, s.mostCached(p), s.capacity, func(size int) float64 {
		if size == 1 {
			return needs
		}
		p.Batch.Size = size
		return s.memoryAt(p)
	}), needs
}

// topOf is the batch in lo..hi with the highest throughput in time, or 0; its estimate stays in
// scratch. Within a segment every operator has one efficiency, so step time is made of sums and
// maxima of work that grows with the batch, but never faster: along lines that start at 0 or above
// and, in expert layers, concave curves. So time never falls and time per sequence never rises with
// the batch, and the largest batch in time is the best.
func (s *searcher) topOf(p *plan.Plan, lo, hi int) int {
	if s.inTime(s.timeAt(p, hi)) {
		return hi
	}
	if s.scratch.Requests <= s.record() {
		// Smaller batches are slower still; only whether one of them is in time matters.
		if lo < hi && s.inTime(s.timeAt(p, lo)) {
			return lo
		}
		return 0
	}
	if lo == hi || !s.inTime(s.timeAt(p, lo)) {
		return 0
	}
	b := LastWithin(lo, hi, s.problem.Limit, func(size int) float64 { return s.timeAt(p, size) })
	s.timeAt(p, b)
	return b
}

// segments cuts the batches 1..largest where an efficiency changes.
func (s *searcher) segments(p *plan.Plan, largest int) func(yield func(lo, hi int) bool) {
	return func(yield func(lo, hi int) bool) {
		s.cuts = s.cuts[:0]
		if s.evaluator.HasSteps() {
			s.cuts = s.evaluator.AppendCuts(s.cuts, p, largest)
			slices.Sort(s.cuts)
		}
		lo := 1
		for _, cut := range s.cuts {
			if cut <= lo || cut > largest {
				continue
			}
			if !yield(lo, cut-1) {
				return
			}
			lo = cut
		}
		yield(lo, largest)
	}
}

// tie is the relative difference in throughput below which batches count as equal: far above
// rounding, far below anything measurable.
const tie = 1e-12

// settleTies replaces the best batch by the smallest of its plan that is as good, or good enough.
func (s *searcher) settleTies() {
	if s.problem.Batches != nil {
		return
	}
	p := s.best.Plan
	enough := s.best.Requests * (1 - max(tie, s.problem.Slack))
	rate := func(size int) float64 {
		s.timeAt(&p, size)
		return s.scratch.Requests
	}
	limit := s.best.Plan.Batch.Size
	for lo, hi := range s.segments(&p, limit) {
		if hi < limit && !s.inTime(s.timeAt(&p, hi)) {
			if !s.inTime(s.timeAt(&p, lo)) {
				continue
			}
			hi = LastWithin(lo, hi, s.problem.Limit, func(size int) float64 { return s.timeAt(&p, size) })
		}
		if rate(hi) < enough {
			continue
		}
		// The first batch of the segment that reaches it: throughput rises within a segment.
		b := lo
		if rate(lo) < enough {
			b = LastWithin(lo, hi, math.Nextafter(enough, 0), rate) + 1
		}
		s.timeAt(&p, b)
		s.best = s.scratch
		return
	}
}

// LastWithin is the largest n in lo..hi with f(n) <= limit, where f never falls and f(lo) <= limit.
// It bisects after a linear guess: the functions here are nearly straight.
func LastWithin(lo, hi int, limit float64, f func(int) float64) int {
	flo, fhi := f(lo), f(hi)
	if fhi <= limit {
		return hi
	}
	for guess := true; hi-lo > 1; guess = !guess {
		mid := lo + (hi-lo)/2
		if guess && fhi > flo {
			at := lo + int(float64(hi-lo)*(limit-flo)/(fhi-flo))
			mid = min(max(at, lo+1), hi-1)
		}
		v := f(mid)
		if v > limit {
			hi, fhi = mid, v
			continue
		}
		lo, flo = mid, v
		if !guess || hi-lo == 1 {
			continue
		}
		// A straight line would now be one step away from the answer.
		if v := f(lo + 1); v > limit {
			return lo
		} else {
			lo, flo = lo+1, v
		}
	}
	return lo
}
