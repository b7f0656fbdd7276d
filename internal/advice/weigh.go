package advice

import (
	"cmp"
	"math"
	"slices"

	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// tracker keeps the best of what was weighed.
type tracker struct {
	top    int
	ranked []weighed // each deployment once, best first
	best   []weighed // under each limit on TPOT

	dots []Dot // what was weighed, each once

	between []filling // contenders that other client counts may improve

	overTPOT, overTTFT search.Rejection // what misses the limits on TPOT and TTFT
}

func newTracker(limits, top int) tracker { return tracker{top: top, best: make([]weighed, limits)} }

// worst returns what a contender must beat under a limit, or nil.
func (t *tracker) worst(limit int) *weighed {
	switch {
	case limit == len(t.best)-1 && len(t.ranked) < t.top, t.best[limit].contender == nil:
		return nil
	case limit == len(t.best)-1:
		return &t.ranked[len(t.ranked)-1]
	}
	return &t.best[limit]
}

// toBeat returns the request rate that a contender must be able to exceed.
func (t *tracker) toBeat(limit int) float64 {
	if w := t.worst(limit); w != nil {
		return w.seen.Requests * (1 - equal)
	}
	return 0
}

// equal is the relative difference below which request rates tie: beyond a full pool, more clients
// only wait.
const equal = 1e-9

// value weighs the request rate by the cost of its processors.
func (w *weighed) value() float64 { return w.seen.Requests * w.field.worth }

// better orders by request rate, then by latency, then by contender.
func better(a, b *weighed) int {
	rate := func(w *weighed) float64 { return math.Floor(math.Log(w.value()) / equal) }
	return cmp.Or(cmp.Compare(rate(b), rate(a)), cmp.Compare(a.seen.Latency, b.seen.Latency), a.contender.before(b.contender))
}

func (t *tracker) keep(f *field, all []weighed) {
	var last *weighed
	for k, limit := range f.limits {
		best := f.choose(all, limit)
		if best == nil {
			continue
		}
		if best != last {
			t.dots = append(t.dots, f.dot(best))
		}
		last = best
		if old := &t.best[k]; old.contender == nil || better(best, old) < 0 {
			*old = *best
		}
		if k == len(f.limits)-1 {
			t.rank(*best)
		}
	}
}

// rank inserts a deployment, each once.
func (t *tracker) rank(w weighed) {
	key := identityOf(w.contender)
	if at := slices.IndexFunc(t.ranked, func(o weighed) bool { return identityOf(o.contender) == key }); at >= 0 {
		if better(&w, &t.ranked[at]) >= 0 {
			return
		}
		t.ranked = slices.Delete(t.ranked, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(t.ranked, w, func(a, b weighed) int { return better(&a, &b) })
	t.ranked = slices.Insert(t.ranked, at, w)
	t.ranked = t.ranked[:min(len(t.ranked), t.top)]
}

// Dot is a deployment that was weighed, as the closed form sees it: charts show it faintly.
type Dot struct {
	TTFT, TPOT, Latency float64 // seconds
	PerGPU              float64 // output tokens per second
}

func (f *field) dot(w *weighed) Dot {
	return Dot{w.seen.TTFT, w.seen.TPOT, w.seen.Latency, w.seen.Requests * float64(f.lengths.Output) / float64(f.gpus)}
}

func (t *tracker) points() []weighed {
	return slices.DeleteFunc(slices.Clone(t.best), func(w weighed) bool { return w.contender == nil })
}

// identity distinguishes deployments by layouts, engine and instances.
type identity struct {
	layouts
	counts [2]int
}

// layouts are those of the pools of a deployment.
type layouts struct {
	prefill, decode plan.Layout
	engine          int // its index, where engines are told apart
}

func (c *contender) layouts() layouts {
	out := layouts{decode: c.decode.pool.Plan.Layout}
	if c.prefill != nil {
		out.prefill = c.prefill.pool.Plan.Layout
	}
	return out
}

func identityOf(c *contender) identity {
	k := identity{c.layouts(), c.counts}
	k.engine = c.decode.engine
	return k
}

// layout is the identity behind whichever engine, unless each has rows of its own.
func (s *poolCache) layout(c *contender) identity {
	if s.o.EachEngine {
		return identityOf(c)
	}
	return identity{c.layouts(), c.counts}
}

// choose returns what serves the most within a limit on TPOT, or nil.
func (f *field) choose(all []weighed, limit float64) (best *weighed) {
	for i := range all {
		if w := &all[i]; f.within(w) && w.seen.TPOT <= limit && (best == nil || better(w, best) < 0) {
			best = w
		}
	}
	return best
}

// groupSize is how many contenders are predicted before their results prune others; it is
// independent of the workers so that the result is too.
const groupSize = 8

// weigh finds the best deployments over all batches, then refines their client counts.
func (f *field) weigh() error {
	if err := f.survey(); err != nil {
		return err
	}
	f.recordUnreached()
	return f.refine()
}

// survey predicts the contenders that can win under some limit, starting with the highest bounds,
// whose results prune most of the others.
func (f *field) survey() error {
	done := map[contender]bool{}
	try := func(list []contender) error { return f.try(list, done) }
	if f.o.exhaustive {
		var all []contender
		beat := make([]float64, len(f.limits))
		for k := range beat {
			beat[k] = -1
		}
		f.visitContenders(beat, func(c contender, _ []float64) { all = append(all, c) })
		return try(all)
	}
	top := make([]float64, len(f.limits)) // highest bound under each limit
	for k := range f.limits {
		n := 1
		if k == len(f.limits)-1 {
			n = 2 * f.top
		}
		var list []contender
		if list, top[k] = f.highest(k, n); len(list) > 0 {
			if err := try(list); err != nil {
				return err
			}
		}
	}
	// The highest bounds are predicted anyway, and often prune the rest before it is listed.
	for share, left := shell, true; left; share *= shell {
		if share < 0.5 {
			share = 0
		}
		beat := make([]float64, len(f.limits))
		left = false
		for k := range beat {
			if beat[k] = f.toBeat(k); share > 0 && share*top[k] > beat[k] { // a model that does not decode may have no bound
				beat[k], left = share*top[k], true
			}
		}
		open := f.open(beat, done)
		for k := len(f.limits) - 1; k >= 0; k-- {
			if err := f.tryOpen(k, open, try); err != nil {
				return err
			}
		}
	}
	return nil
}

// try predicts the contenders that were not predicted before.
func (f *field) try(list []contender, done map[contender]bool) error {
	list = slices.DeleteFunc(list, func(c contender) bool { return done[c] })
	results, spans := make([][]weighed, len(list)), make([]span, len(list))
	for i := range list {
		spans[i] = f.span(&list[i])
	}
	err := f.each(len(list), func(w *worker, i int) { results[i] = f.predict(w, &list[i], spans[i]) })
	for i := range list {
		done[list[i]] = true
		f.keep(f, results[i])
		f.fill(&list[i], results[i])
		f.recordMiss(&list[i], results[i])
	}
	return err
}

// shell is the ratio of bounds considered together.
const shell = 0.97

// open returns the unpredicted contenders whose bounds beat the best under some limit.
func (f *field) open(beat []float64, done map[contender]bool) (open []bounded) {
	f.visitContenders(beat, func(c contender, rates []float64) {
		if done[c] {
			return
		}
		b := bounded{contender: c}
		for k := range rates {
			if rates[k] > beat[k] {
				most := min(rates[k], c.maxRate(f, k))
				if b.most == nil {
					b.most = make([]float64, len(rates))
				}
				b.most[k] = most
			}
		}
		for k := range b.most {
			if b.most[k] > f.toBeat(k) {
				open = append(open, b)
				break
			}
		}
	})
	return open
}

// bounded is a contender with bounds on its request rate under each limit.
type bounded struct {
	contender
	most []float64
}

// visitContenders visits the contenders whose pools can beat the best under some limit. All
// processors that do not decode prefill, since more prefill never hurts. The visitor may raise
// beat.
func (f *field) visitContenders(beat []float64, visit func(c contender, rates []float64)) {
	rates := make([]float64, len(f.limits))
	for _, i := range f.dense {
		d := f.decodes[i]
		first, last := f.counts(d, beat)
		for count := nextCount(mostCounts, first); count <= last; count = nextCount(mostCounts, count+1) {
			for k := range rates {
				if rates[k] = float64(count) * d.rates[k]; f.o.Objective == Latency {
					rates[k] = d.rates[k] // one client uses one instance
				}
			}
			if f.mode == Aggregated {
				if _, any := least(rates, beat); any {
					visit(contender{decode: d, counts: [2]int{0, 1}}, rates)
				}
				continue
			}
			f.pairPrefills(d, count, beat, rates, visit)
		}
	}
}

// counts returns the range of decode instances that can win: enough to decode the rate, and few
// enough that the rest can prefill it.
func (f *field) counts(d *option, beat []float64) (first, last int) {
	if f.mode == Aggregated || f.pools != nil {
		return 1, 1
	}
	if f.o.PrefillGPUs > 0 {
		n := (f.gpus - f.o.PrefillGPUs) / d.curve.Procs
		return n, n
	}
	most := (f.gpus - 1) / d.curve.Procs
	first, last = most+1, 0
	for k, b := range beat {
		low, high := 1, most
		if f.o.Objective != Latency {
			low = int(min(math.Floor(b/d.rates[k])+1, float64(most+1)))
			high = int(min(float64(most), (float64(f.gpus)-b/f.density[d.engine])/float64(d.curve.Procs)))
		}
		if low <= high && b < math.Inf(1) && d.rates[k] > 0 {
			first, last = min(first, max(1, low)), max(last, high)
		}
	}
	return first, last
}

// least returns the lowest rate to beat among limits whose bound exceeds it, if any.
func least(rates, beat []float64) (float64, bool) {
	out, any := math.Inf(1), false
	for k := range beat {
		if rates[k] > beat[k] {
			out, any = min(out, beat[k]), true
		}
	}
	return out, any
}

// pairPrefills visits a number of decode instances with each prefill pool that can win.
func (f *field) pairPrefills(d *option, count int, beat, rates []float64, visit func(c contender, rates []float64)) {
	left := f.gpus - count*d.curve.Procs
	if f.o.PrefillGPUs > 0 {
		left = f.o.PrefillGPUs
	}
	for _, group := range f.groups[d.engine] {
		n := f.roomBeside(d, count, group[0].curve.Procs)
		if f.o.PrefillGPUs > 0 {
			n = min(n, f.o.PrefillGPUs/group[0].curve.Procs)
		}
		if f.pools != nil {
			n = 1
		} else if toBeat, any := least(rates, beat); f.o.Objective != Latency && (!any || float64(left)*group[0].density() <= toBeat) {
			return // the other groups prefill less per processor
		}
		if n >= 1 {
			f.pairGroup(group, d, [2]int{n, count}, beat, rates, visit)
		}
	}
}

// pairGroup visits decode instances with each prefill pool of a group that can win.
func (f *field) pairGroup(group []*option, d *option, counts [2]int, beat, rates []float64, visit func(c contender, rates []float64)) {
	both := make([]float64, len(rates))
	for _, p := range group {
		rate := float64(counts[0]) * p.rates[0]
		if f.o.Objective == Latency {
			rate = math.Inf(1)
		}
		if toBeat, any := least(rates, beat); !any || rate <= toBeat {
			break // the others are slower
		}
		if !f.o.Engines[d.engine].Pairs(&p.pool.Plan, &d.pool.Plan) {
			continue
		}
		for k := range both {
			both[k] = min(rates[k], rate)
		}
		visit(contender{p, d, counts}, both)
	}
}

// highest returns the n contenders with the highest bounds under a limit, and the top bound.
func (f *field) highest(limit, n int) (list []contender, most float64) {
	var top []bounded
	beat := make([]float64, len(f.limits))
	for k := range beat {
		beat[k] = math.Inf(1)
	}
	beat[limit] = 0
	f.visitContenders(beat, func(c contender, rates []float64) {
		if rates[limit] <= beat[limit] {
			return
		}
		b := bounded{c, []float64{rates[limit]}}
		at, _ := slices.BinarySearchFunc(top, b, func(x, y bounded) int {
			return cmp.Or(cmp.Compare(y.most[0], x.most[0]), x.before(&y.contender))
		})
		top = slices.Insert(top, at, b)
		if len(top) > n {
			top = top[:n]
			beat[limit] = top[n-1].most[0]
		}
	})
	for i := range top {
		list = append(list, top[i].contender)
		most = max(most, top[i].most[0])
	}
	return list, most
}

// tryOpen predicts the contenders that may win under one limit, most promising first.
func (f *field) tryOpen(limit int, all []bounded, try func([]contender) error) error {
	var open []*bounded
	for i := range all {
		if b := &all[i]; b.most[limit] > f.toBeat(limit) {
			open = append(open, b)
		}
	}
	slices.SortFunc(open, func(a, b *bounded) int {
		return cmp.Or(cmp.Compare(b.most[limit], a.most[limit]), a.before(&b.contender))
	})
	for len(open) > 0 && open[0].most[limit] > f.toBeat(limit) {
		var list []contender
		for ; len(open) > 0 && len(list) < groupSize; open = open[1:] {
			list = append(list, open[0].contender)
		}
		if err := try(list); err != nil {
			return err
		}
	}
	return nil
}

// fewTokens is the output length up to which answers may decode in bursts as prefill pools hand
// them over: one more in the batch may then move times by more than unsteady (2.7 times was seen
// with two tokens).
const fewTokens = 4

// span is the batches that matter: those of a decode curve from an index on, up to a TPOT in
// seconds.
type span struct {
	first int
	limit float64
}

// span returns the batches that meet a limit on TPOT and can beat the best under it.
func (f *field) span(c *contender) span {
	if f.o.exhaustive || f.o.Objective == Latency || f.batches != nil || f.lengths.Output <= fewTokens {
		return span{0, math.Inf(1)}
	}
	out := span{len(c.decode.curve.Batches), 0}
	most := c.decode.curve.Most()
	for k, limit := range f.limits {
		beat := f.toBeat(k)
		first := slices.IndexFunc(most, func(rate float64) bool { return float64(c.counts[1])*rate >= beat })
		if first >= 0 && c.allowed(k) > beat {
			out = span{min(out.first, max(0, first-1)), limit} // the best may lie before the first
		}
	}
	return out
}

// allowed bounds the rate by each pool alone.
func (c *contender) allowed(limit int) float64 {
	rate := float64(c.counts[1]) * c.decode.rates[limit]
	if c.prefill != nil {
		rate = min(rate, float64(c.counts[0])*c.prefill.rates[0])
	}
	return rate
}

// predict evaluates batches of the curve within the limits, the most clients that meet them, and
// the fewest that reach the same rate.
func (f *field) predict(w *worker, c *contender, s span) (out []weighed) {
	if f.batches != nil {
		return f.predictGiven(w, c)
	}
	batches := c.decode.curve.Batches
	for i := s.first; i < len(batches); i++ {
		r := f.at(w, c, plan.Batch{Count: 1, Size: batches[i]})
		if f.within(&r) {
			out = append(out, r)
			if f.o.Objective == Latency || r.seen.TPOT > unsteady*s.limit {
				return out
			}
			continue
		}
		if i == 0 {
			return []weighed{r} // outside the limits, by a known margin
		}
		if out = f.fillUp(w, c, out, r.clients/batches[i]*batches[i-1], r.clients); !f.mayRecover(&r) {
			break
		}
	}
	return f.fewest(w, out)
}

func (f *field) predictGiven(w *worker, c *contender) (out []weighed) {
	for _, b := range f.batches {
		if b.Size > c.decode.curve.Largest {
			continue
		}
		if r := f.at(w, c, b); f.within(&r) {
			out = append(out, r)
		}
	}
	return out
}

// fillUp bisects for the most clients within the limits and keeps those on the way.
func (f *field) fillUp(w *worker, c *contender, all []weighed, low, high int) []weighed {
	for high-low > 1 {
		if mid := f.under(w, c, low+(high-low)/2); f.within(&mid) {
			all, low = append(all, mid), mid.clients
		} else {
			high = mid.clients
		}
	}
	return all
}

// fewest adds the fewest clients with the highest rate: beyond a full pool, more only wait.
func (f *field) fewest(w *worker, all []weighed) []weighed {
	best := f.choose(all, f.tpotLimit())
	if best == nil {
		return all
	}
	low, high := 0, *best
	for i := range all {
		if n := all[i].clients; n < high.clients {
			low = max(low, n)
		}
	}
	for mid := high.clients - 1; mid > low; mid = low + (high.clients-low)/2 {
		if fewer := f.under(w, high.contender, mid); f.within(&fewer) && fewer.seen.Requests >= best.seen.Requests*(1-equal) {
			high = fewer
		} else if low = mid; mid == best.clients-1 {
			return all
		}
	}
	return append(all, high)
}

// unsteady is how far times fluctuate as batches grow while prefill pools are full: 1.31 times was
// seen for TPOT, with prompts of 19 tokens.
const unsteady = 1.35

// mayRecover reports whether larger batches may still meet a missed limit: TTFT fluctuates as steps
// become longer and fewer.
func (f *field) mayRecover(w *weighed) bool {
	const littleLate = 1.2
	return w.seen.Requests > 0 && w.seen.TPOT <= f.tpotLimit() && w.seen.TTFT <= littleLate*f.ttft
}

// recordMiss records a contender whose smallest batch misses a limit.
func (f *field) recordMiss(c *contender, all []weighed) {
	if len(all) == 0 && f.batches != nil {
		d := c.deployment(f, f.batches[0])
		pool := d.Of(op.Decode)
		m := f.workers[0].predictors[c.decode.engine].Memory(&d, pool, f.lengths)
		if over := m.Total() - d.Usable(pool, &m); over > 0 {
			f.memory[pool.Role].Note(&pool.Plan, c.decode.index, m.Total(), over)
		}
		return
	}
	if len(all) != 1 || all[0].batch.Size != 1 {
		return
	}
	q := c.decode.pool.Plan
	q.Batch.Size = 1
	switch seen := &all[0].seen; {
	case seen.TPOT > f.tpotLimit():
		f.overTPOT.Note(&q, c.decode.index, seen.TPOT, seen.TPOT-f.tpotLimit())
	case seen.TTFT > f.ttft:
		f.overTTFT.Note(&q, c.decode.index, seen.TTFT, seen.TTFT-f.ttft)
	}
}

// recordUnreached records pools never predicted because their bare steps miss a limit.
func (f *field) recordUnreached() {
	if len(f.ranked) > 0 && f.searched() {
		return // no need
	}
	for i := range f.decodes {
		d := f.decodes[i]
		if d.rates[len(d.rates)-1] > 0 {
			continue
		}
		if token := d.curve.Token[0]; token > f.tpotLimit() {
			f.overTPOT.Note(&d.pool.Plan, d.index, token, token-f.tpotLimit())
		} else if first := f.templates[d.engine].Engine.Entry(f.lengths.Input, false) + d.curve.Own; first > f.ttft {
			f.overTTFT.Note(&d.pool.Plan, d.index, first, first-f.ttft)
		}
	}
	for i := range f.prefills {
		p := f.prefills[i]
		rules := &f.templates[p.engine].Engine
		if first := rules.Entry(f.lengths.Input, true) + rules.HandoverSeconds + p.curve.Own; first > f.ttft {
			f.overTTFT.Note(&p.pool.Plan, p.index, first, first-f.ttft)
		}
	}
}
