package advice

import (
	"cmp"
	"math"
	"slices"
)

// Numbers of clients are not tried where they could be served a thousandth more at most, nor between two that are near each
// other and served the same to that. Steps jump with the tiles of kernels: the best may lie between two that are not near.
const (
	level = 1e-3
	near  = 1. / 128
)

// filled is the request rate of a contender under some clients; 0: not within the limits.
type filled struct {
	clients int
	rate    float64
}

// filling is the numbers of clients of a contender that were predicted, in order.
type filling struct {
	contender *contender
	known     []filled
}

// most bounds the request rate under numbers of clients between those that were predicted, and says behind which it is: requests
// take no less time as clients grow in number. Where two serve the very same, a pool is full in between, too.
func (p *filling) most() (rate float64, behind int) {
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

// within reports whether clients see what was asked for.
func (f *field) within(w *weighed) bool {
	return w.seen.Requests > 0 && w.seen.TPOT <= f.asked() && w.seen.TTFT <= f.ttft
}

// fill keeps where a number of clients between those that were predicted may serve more than the best.
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
	if most, _ := p.most(); len(p.known) > 0 && most > f.ranked[0].seen.Requests*(1+level) {
		f.between = append(f.between, p)
	}
}

// refine finds the number of clients that serves the most of all.
func (f *field) refine() error {
	promise := func(p *filling) float64 { most, _ := p.most(); return most }
	slices.SortStableFunc(f.between, func(a, b filling) int { return cmp.Compare(promise(&b), promise(&a)) })
	for len(f.between) > 0 {
		group := f.between[:min(len(f.between), together)]
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

// climb is numbers of clients of a contender that are served more than the best, and the fewest that are served the most.
func (f *field) climb(w *worker, p *filling, best weighed) (out []weighed) {
	for p.contender.most(f, len(f.limits)-1) > best.seen.Requests {
		most, behind := p.most()
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
