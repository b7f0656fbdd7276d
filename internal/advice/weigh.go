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
	ranked []weighed // each deployment once, the best first
	best   []weighed // under each limit on the time per output token

	between []filling // what may serve more under other numbers of clients

	late, tooLate search.Rejection // what misses the limits on the time per output token and to the first token
}

func newTracker(limits, top int) tracker { return tracker{top: top, best: make([]weighed, limits)} }

// worst is what a contender must beat under a limit to change anything; nil: nothing yet.
func (t *tracker) worst(limit int) *weighed {
	switch {
	case limit == len(t.best)-1 && len(t.ranked) < t.top, t.best[limit].contender == nil:
		return nil
	case limit == len(t.best)-1:
		return &t.ranked[len(t.ranked)-1]
	}
	return &t.best[limit]
}

// toBeat is the request rate that a contender must be able to exceed.
func (t *tracker) toBeat(limit int) float64 {
	if w := t.worst(limit); w != nil {
		return w.seen.Requests * (1 - equal)
	}
	return 0
}

// equal is the relative difference of request rates that count as one. Where a pool is full, more clients only wait.
const equal = 1e-9

// value is the request rate, by how much that of its processors counts.
func (w *weighed) value() float64 { return w.seen.Requests * w.field.worth }

// better orders what was weighed: by request rate, equal ones by how long requests take, and ties by the order of the contenders.
func better(a, b *weighed) int {
	rate := func(w *weighed) float64 { return math.Floor(math.Log(w.value()) / equal) }
	return cmp.Or(cmp.Compare(rate(b), rate(a)), cmp.Compare(a.seen.Latency, b.seen.Latency), a.contender.before(b.contender))
}

// keep adds the batches of a contender.
func (t *tracker) keep(f *field, all []weighed) {
	for k, limit := range f.limits {
		best := f.choose(all, limit)
		if best == nil {
			continue
		}
		if old := &t.best[k]; old.contender == nil || better(best, old) < 0 {
			*old = *best
		}
		if k == len(f.limits)-1 {
			t.rank(*best)
		}
	}
}

// rank adds a deployment, each once.
func (t *tracker) rank(w weighed) {
	key := w.field.identity(w.contender)
	if at := slices.IndexFunc(t.ranked, func(o weighed) bool { return o.field.identity(o.contender) == key }); at >= 0 {
		if better(&w, &t.ranked[at]) >= 0 {
			return
		}
		t.ranked = slices.Delete(t.ranked, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(t.ranked, w, func(a, b weighed) int { return better(&a, &b) })
	t.ranked = slices.Insert(t.ranked, at, w)
	t.ranked = t.ranked[:min(len(t.ranked), t.top)]
}

// points are the best under each limit.
func (t *tracker) points() []weighed {
	return slices.DeleteFunc(slices.Clone(t.best), func(w weighed) bool { return w.contender == nil })
}

// identity tells deployments apart: by their layouts and instances and, where rows of each engine are asked for, by engine.
type identity struct {
	prefill, decode plan.Layout
	counts          [2]int
	engine          int // place among the engines; 0 where the best of them is kept
}

func (f *field) identity(c *contender) identity {
	k := identity{decode: c.decode.pool.Plan.Layout, counts: c.counts}
	if c.prefill != nil {
		k.prefill = c.prefill.pool.Plan.Layout
	}
	if f.o.EachEngine {
		k.engine = c.decode.engine
	}
	return k
}

// choose picks what serves the most within a limit on the time per output token; nil: nothing is within it.
func (f *field) choose(all []weighed, limit float64) (best *weighed) {
	for i := range all {
		if w := &all[i]; f.within(w) && w.seen.TPOT <= limit && (best == nil || better(w, best) < 0) {
			best = w
		}
	}
	return best
}

// together is how many contenders are predicted before what they did rules others out. It does not depend on the workers,
// so that the result does not either.
const together = 8

// weigh finds the best deployments among the batches of curves, and then the one that serves the most of all.
func (f *field) weigh() error {
	if err := f.survey(); err != nil {
		return err
	}
	f.unreached()
	return f.refine()
}

// survey predicts the contenders that can win under one of the limits. The highest bounds under each of them are a good
// start: they rule most others out.
func (f *field) survey() error {
	done := map[contender]bool{}
	try := func(list []contender) error { return f.try(list, done) }
	if f.o.exhaustive {
		var all []contender
		beat := make([]float64, len(f.limits))
		for k := range beat {
			beat[k] = -1
		}
		f.contend(beat, func(c contender, _ []float64) { all = append(all, c) })
		return try(all)
	}
	top := make([]float64, len(f.limits)) // the highest bound under each limit
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
	// What has the highest bounds must be predicted in any case, and often rules out the rest, which is then not even listed.
	for share, left := shell, true; left; share *= shell {
		if share < 0.5 {
			share = 0
		}
		beat := make([]float64, len(f.limits))
		left = false
		for k := range beat {
			if beat[k] = f.toBeat(k); share > 0 && share*top[k] > beat[k] { // without decoding there may be no bound
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

// try predicts those of some contenders that were not predicted before, and keeps what they do.
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
		f.miss(&list[i], results[i])
	}
	return err
}

// shell is the ratio of the bounds that are looked at together.
const shell = 0.97

// open are the contenders that were not predicted yet and whose bounds exceed what there is to beat under some limit.
func (f *field) open(beat []float64, done map[contender]bool) (open []bounded) {
	f.contend(beat, func(c contender, rates []float64) {
		if done[c] {
			return
		}
		b := bounded{contender: c}
		for k := range rates {
			if rates[k] > beat[k] {
				most := min(rates[k], c.most(f, k))
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

// contend passes on the contenders whose pools allow more than what there is to beat under some limit, with what they allow.
// Whatever the decode pool leaves prefills: more of that never hurts. The visitor may raise what there is to beat.
func (f *field) contend(beat []float64, visit func(c contender, rates []float64)) {
	rates := make([]float64, len(f.limits))
	for _, i := range f.dense {
		d := f.decodes[i]
		first, last := f.counts(d, beat)
		for count := upTo(mostCounts, first); count <= last; count = upTo(mostCounts, count+1) {
			for k := range rates {
				if rates[k] = float64(count) * d.rates[k]; f.o.Objective == Latency {
					rates[k] = d.rates[k] // one client has one instance
				}
			}
			if f.mode == Aggregated {
				if _, any := least(rates, beat); any {
					visit(contender{decode: d, counts: [2]int{0, 1}}, rates)
				}
				continue
			}
			f.beside(d, count, beat, rates, visit)
		}
	}
}

// counts are the numbers of instances of a decode pool that can beat what there is to beat: so many that they decode fast
// enough, and so few that the rest can prefill as much.
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

// least is the least that there is to beat under those limits where a bound exceeds it; false: under none.
func least(rates, beat []float64) (float64, bool) {
	out, any := math.Inf(1), false
	for k := range beat {
		if rates[k] > beat[k] {
			out, any = min(out, beat[k]), true
		}
	}
	return out, any
}

// beside passes on a number of decode instances with each prefill pool that allows more than there is to beat at least.
func (f *field) beside(d *option, count int, beat, rates []float64, visit func(c contender, rates []float64)) {
	both := make([]float64, len(rates))
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
			return // the others do less on a processor
		}
		if n < 1 {
			continue
		}
		for i := range group {
			rate := float64(n) * group[i].rates[0]
			if f.o.Objective == Latency {
				rate = math.Inf(1)
			}
			if toBeat, any := least(rates, beat); !any || rate <= toBeat {
				break // the others are slower
			}
			if !f.o.Engines[d.engine].Pairs(&group[i].pool.Plan, &d.pool.Plan) {
				continue
			}
			for k := range both {
				both[k] = min(rates[k], rate)
			}
			visit(contender{group[i], d, [2]int{n, count}}, both)
		}
	}
}

// highest are the n contenders whose pools allow the most under a limit, and how much that is.
func (f *field) highest(limit, n int) (list []contender, most float64) {
	var top []bounded
	beat := make([]float64, len(f.limits))
	for k := range beat {
		beat[k] = math.Inf(1)
	}
	beat[limit] = 0
	f.contend(beat, func(c contender, rates []float64) {
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

// tryOpen predicts the contenders that may win under one limit, the most promising first.
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
		for ; len(open) > 0 && len(list) < together; open = open[1:] {
			list = append(list, open[0].contender)
		}
		if err := try(list); err != nil {
			return err
		}
	}
	return nil
}

// fewTokens is the tokens of answers that may decode in bursts, as prefill pools hand them over: with a batch more all of a burst decode together,
// or one after another, and times go up and down by more than unsteady (2.7 times was seen with two tokens).
const fewTokens = 4

// span is the batches that matter: those of the curve of a decode pool from the first, by index, on, as long as a token takes no
// longer than so many seconds.
type span struct {
	first int
	limit float64
}

// span is the batches at which a contender may change anything: which are within a limit on the time per output token, and may do
// enough of what there is to beat under it.
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

// allowed is what the pools allow under a limit, each by itself.
func (c *contender) allowed(limit int) float64 {
	rate := float64(c.counts[1]) * c.decode.rates[limit]
	if c.prefill != nil {
		rate = min(rate, float64(c.counts[0])*c.prefill.rates[0])
	}
	return rate
}

// predict is what the clients of a contender see at some batches of its curve as far as the limits allow, the most clients
// within them, and the fewest that are served as much.
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
			return []weighed{r} // not within the limits: known by how much
		}
		if out = f.fillUp(w, c, out, r.clients/batches[i]*batches[i-1], r.clients); !f.nearly(&r) {
			break
		}
	}
	return f.fewest(w, out)
}

// predictGiven is the same at the batches that are given.
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

// fillUp adds the most clients within the limits, and others on the way to them, between a number that is and one that is not.
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

// fewest adds the fewest clients that serve as much as any: where a pool is full, more only wait.
func (f *field) fewest(w *worker, all []weighed) []weighed {
	best := f.choose(all, f.asked())
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

// unsteady is by how much times go up and down as batches grow, where prefill pools are full: 1.31 times was seen for the time per
// output token, with prompts of 19 tokens.
const unsteady = 1.35

// nearly reports whether larger batches than one that misses a limit may be within it: the time to the first token goes up and down
// a little, as steps become longer and fewer.
func (f *field) nearly(w *weighed) bool {
	const littleLate = 1.2
	return w.seen.Requests > 0 && w.seen.TPOT <= f.asked() && w.seen.TTFT <= littleLate*f.ttft
}

// miss remembers a contender whose smallest batch misses a limit.
func (f *field) miss(c *contender, all []weighed) {
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
	case seen.TPOT > f.asked():
		f.late.Note(&q, c.decode.index, seen.TPOT, seen.TPOT-f.asked())
	case seen.TTFT > f.ttft:
		f.tooLate.Note(&q, c.decode.index, seen.TTFT, seen.TTFT-f.ttft)
	}
}

// unreached remembers the pools that were never predicted since their bare steps miss a limit.
func (f *field) unreached() {
	if len(f.ranked) > 0 && f.searched() {
		return // nobody asks
	}
	for i := range f.decodes {
		d := f.decodes[i]
		if d.rates[len(d.rates)-1] > 0 {
			continue
		}
		if token := d.curve.Token[0]; token > f.asked() {
			f.late.Note(&d.pool.Plan, d.index, token, token-f.asked())
		} else if first := f.templates[d.engine].Engine.Entry(f.lengths.Input, false) + d.curve.Own; first > f.ttft {
			f.tooLate.Note(&d.pool.Plan, d.index, first, first-f.ttft)
		}
	}
	for i := range f.prefills {
		p := f.prefills[i]
		rules := &f.templates[p.engine].Engine
		if first := rules.Entry(f.lengths.Input, true) + rules.HandoverSeconds + p.curve.Own; first > f.ttft {
			f.tooLate.Note(&p.pool.Plan, p.index, first, first-f.ttft)
		}
	}
}
