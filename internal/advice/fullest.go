package advice

import (
	"cmp"
	"math"
	"slices"

	"throughline/plan"
)

// equal is the relative difference of request rates that count as one: more clients than keep a bottleneck busy only wait.
const equal = 1e-9

// level is the relative difference of request rates below which no batch is looked for: where two batches that lie near each other
// serve the same to that there is a bottleneck, which those between them have, too. Batches are near within a 128th: steps
// jump with the tiles of kernels, so that the best batch may lie between two that are equal and further apart.
const (
	level = 1e-3
	near  = 1. / 128
)

// fuller orders by request rate alone, and equal ones by how long requests take.
func fuller(a, b *weighed) int {
	rate := func(w *weighed) float64 { return math.Floor(math.Log(w.value()) / equal) }
	return cmp.Or(cmp.Compare(rate(b), rate(a)), cmp.Compare(a.seen.Latency, b.seen.Latency), a.contender.before(b.contender))
}

// filled is the request rate of a contender at a batch.
type filled struct {
	batch int
	rate  float64
}

// filling is the batches of a contender that were predicted and are within the limits, in order.
type filling struct {
	contender *contender
	known     []filled
}

// most bounds the request rate at batches between those that were predicted, and says behind which it is: requests take no less
// time as batches grow.
func (p *filling) most() (rate float64, behind int) {
	for i, low := range p.known[:max(0, len(p.known)-1)] {
		high := p.known[i+1]
		gap := high.batch - low.batch
		if flat := math.Abs(high.rate-low.rate) <= level*low.rate; gap < 2 || flat && float64(gap) <= near*float64(low.batch) {
			continue
		}
		if r := low.rate * float64(high.batch-1) / float64(low.batch); r > rate {
			rate, behind = r, i
		}
	}
	return rate, behind
}

// within reports whether clients see what was asked for.
func (f *field) within(w *weighed) bool {
	return w.seen.Requests > 0 && w.seen.TPOT <= f.asked() && w.seen.TTFT <= f.ttft
}

// fill keeps the batch of a contender that serves the most, and where a batch between those that were predicted may serve more.
func (f *field) fill(c *contender, all []weighed) {
	p := filling{contender: c}
	for i := range all {
		w := &all[i]
		if !f.within(w) {
			continue
		}
		p.known = append(p.known, filled{w.batch.Size, w.seen.Requests})
		if f.fullest.contender == nil || fuller(w, &f.fullest) < 0 {
			f.fullest = *w
		}
	}
	slices.SortFunc(p.known, func(a, b filled) int { return cmp.Compare(a.batch, b.batch) })
	if most, _ := p.most(); f.everyBatch && f.batches == nil && most > f.fullest.seen.Requests*(1+level) {
		f.between = append(f.between, p)
	}
}

// refine finds the batch that serves the most of all, where each counts.
func (f *field) refine() error {
	promise := func(p *filling) float64 { most, _ := p.most(); return most }
	slices.SortStableFunc(f.between, func(a, b filling) int { return cmp.Compare(promise(&b), promise(&a)) })
	for len(f.between) > 0 {
		group := f.between[:min(len(f.between), together)]
		f.between = f.between[len(group):]
		found, beat := make([]weighed, len(group)), f.fullest
		if err := f.each(len(group), func(w *worker, i int) { found[i] = f.climb(w, &group[i], beat) }); err != nil {
			return err
		}
		for i := range found {
			if fuller(&found[i], &f.fullest) < 0 {
				f.fullest = found[i]
			}
		}
	}
	return nil
}

// climb is the batch of a contender that serves the most, or what there is to beat where none serves more.
func (f *field) climb(w *worker, p *filling, best weighed) weighed {
	if p.contender.most(f, len(f.limits)-1) <= best.seen.Requests {
		return best
	}
	for {
		most, behind := p.most()
		if most <= best.seen.Requests*(1+level) {
			return best
		}
		low, high := p.known[behind].batch, p.known[behind+1].batch
		mid := weighed{field: f, contender: p.contender, batch: plan.Batch{Count: 1, Size: low + (high-low)/2}}
		d := p.contender.deployment(f, mid.batch)
		mid.seen, _ = w.predictors[p.contender.decode.engine].Predict(&d, mid.load(&d)) // nothing is served where it fails
		p.known = slices.Insert(p.known, behind+1, filled{mid.batch.Size, mid.seen.Requests})
		if f.within(&mid) && fuller(&mid, &best) < 0 {
			best = mid
		}
	}
}
