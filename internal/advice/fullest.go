package advice

import (
	"cmp"
	"math"
	"slices"
)

// Client counts that could serve at most a thousandth more are not tried, nor those between two
// close counts that serve equally much. Tile boundaries of kernels make step times jump, so the
// best may lie between two distant counts.
const (
	level = 1e-3
	near  = 1. / 128
)

// filled is the request rate at a client count; 0: outside the limits.
type filled struct {
	clients int
	rate    float64
}

// filling is the predicted client counts of a contender, in order.
type filling struct {
	contender *contender
	known     []filled
}

// maxRate bounds the rate between predicted client counts and returns the count before it: latency
// never falls as clients are added, and between two counts that serve equally much a pool is full.
func (p *filling) maxRate() (rate float64, behind int) {
	for i, low := range p.known[:max(0, len(p.known)-1)] {
		high := p.known[i+1]
		gap, differ := high.clients-low.clients, math.Abs(high.rate-low.rate)
		if gap < 2 || differ <= equal*low.rate || differ <= level*low.rate && float64(gap) <= near*float64(low.clients) {
			continue
		}
		if r := low.rate * float64(high.clients-1) / float64(low.clients); r > rate {
			rate, behind = r, i
		}
	}
	return rate, behind
}

func (f *field) within(w *weighed) bool {
	return w.seen.Requests > 0 && w.seen.TPOT <= f.tpotLimit() && w.seen.TTFT <= f.ttft
}

// fill records where an untried client count may serve more than the best.
func (f *field) fill(c *contender, all []weighed) {
	if f.batches != nil || f.o.Objective == Latency {
		return
	}
	p := filling{contender: c}
	for i := range all {
		if w := &all[i]; f.within(w) {
			p.known = append(p.known, filled{w.clients, w.seen.Requests})
		}
	}
	slices.SortFunc(p.known, func(a, b filled) int { return cmp.Compare(a.clients, b.clients) })
	if most, _ := p.maxRate(); len(p.known) > 0 && most > f.ranked[0].seen.Requests*(1+level) {
		f.between = append(f.between, p)
	}
}

// refine finds the client count that serves the most of all.
func (f *field) refine() error {
	promise := func(p *filling) float64 { most, _ := p.maxRate(); return most }
	slices.SortStableFunc(f.between, func(a, b filling) int { return cmp.Compare(promise(&b), promise(&a)) })
	for len(f.between) > 0 {
		group := f.between[:min(len(f.between), groupSize)]
		f.between = f.between[len(group):]
		found, beat := make([][]weighed, len(group)), f.ranked[0]
		if err := f.each(len(group), func(w *worker, i int) { found[i] = f.climb(w, &group[i], beat) }); err != nil {
			return err
		}
		for i := range found {
			f.keep(f, found[i])
		}
	}
	return nil
}

// climb returns client counts that beat the best, and the fewest clients with the highest rate.
func (f *field) climb(w *worker, p *filling, best weighed) (out []weighed) {
	for p.contender.maxRate(f, len(f.limits)-1) > best.seen.Requests {
		most, behind := p.maxRate()
		if most <= best.seen.Requests*(1+level) {
			break
		}
		low, high := p.known[behind].clients, p.known[behind+1].clients
		mid := f.under(w, p.contender, low+(high-low)/2)
		if !f.within(&mid) {
			mid.seen.Requests = 0
		}
		p.known = slices.Insert(p.known, behind+1, filled{mid.clients, mid.seen.Requests})
		if mid.seen.Requests > 0 && better(&mid, &best) < 0 {
			best, out = mid, append(out, mid)
		}
	}
	return f.fewest(w, out)
}
