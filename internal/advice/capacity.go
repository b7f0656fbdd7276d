package advice

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"throughline/deploy"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
)

// What the closed form leaves to the simulation.
const (
	// shortlist is the shapes of a pool that are simulated at most, those first that need the fewest processors in closed form.
	shortlist = 32
	// slack is how much more than its bound an instance may serve in a simulation: of expert models whose attention replicas
	// step together twice as much, since the closed form has their prompts come one after another.
	slack, lockstepSlack = 1.25, 2.0
	// sideBySide is how many shapes are simulated before what they did rules others out. It does not depend on the workers,
	// so that the result does not either.
	sideBySide = 4
	// prefillsKept is the prefill pools of an engine that are proved, of which the best is taken.
	prefillsKept = 2
	// patience is the requests of the longest runs of what is shown first, unless more are under way at a time.
	patience = 16 * simulate.LeastRequests
	// queueing is how many more instances than the closed form asks for are tried first.
	queueing = 1.15
	// slice is the instances that are only looked at, in place of twice as many or more: they get as much each, and hardly tell
	// how many others there are.
	slice = 16
)

// shape is deployments that differ in the number of instances of one pool.
type shape struct {
	*field
	prefill, decode *option // no prefill: one pool does both
	varies          deploy.Role
	others          int // instances of the other pool
	rate            float64
	demand          *Demand
	times           []simulate.Times
	requests        int // of the longest runs that it took to tell
}

// varied is the pool whose instances are counted.
func (s *shape) varied() *option {
	if s.varies == deploy.Prefill {
		return s.prefill
	}
	return s.decode
}

// processors of so many instances, those of the other pool included where it is settled.
func (s *shape) processors(n int) int {
	p := n * s.varied().curve.Procs
	if s.varies == deploy.Decode {
		p += s.others * s.prefill.curve.Procs
	}
	return p
}

// fewest is the instances that the closed form asks for, if one served so many times its bound.
func (s *shape) fewest(times float64) int {
	return max(1, int(math.Ceil(s.demand.Rate/(times*s.rate))))
}

// slack is how much more than its bound an instance may serve.
func (s *shape) slack() float64 {
	p := &s.varied().pool.Plan
	if p.Experts.EP > 0 && p.Attention.DP > 1 {
		return lockstepSlack
	}
	return slack
}

// with is the shape with so many instances.
func (s *shape) with(n int) contender {
	if s.prefill == nil {
		return contender{decode: s.field.copies(s.decode, n), counts: [2]int{0, 1}}
	}
	c := contender{prefill: s.prefill, decode: s.decode, counts: [2]int{s.others, n}}
	if s.varies == deploy.Prefill {
		c.counts = [2]int{n, s.others}
	}
	return c
}

// batch is the sequences that a rank may decode at a time: as many as there is room for.
func (s *shape) batch() plan.Batch { return plan.Batch{Count: 1, Size: s.decode.curve.Largest} }

// trial is that of so many instances.
func (s *shape) trial(n int) (*simulate.Trial, error) {
	c := s.with(n)
	d := c.deployment(s.field, s.batch())
	t, err := s.demand.trial(&d, s.times)
	if err == nil && s.times == nil {
		for i := range t.Options.Pools {
			s.times = append(s.times, t.Options.Pools[i].Times)
		}
	}
	return t, err
}

// slice is the trial of a part of so many instances, with as much to do for each, where there are many.
func (s *shape) slice(n int) (*simulate.Trial, error) {
	parts := n / slice
	if parts < 2 || s.demand.traffic.Trace != nil {
		return s.trial(n)
	}
	part, demand := *s, *s.demand
	few := (n + parts - 1) / parts
	share := float64(few) / float64(n)
	demand.Rate *= share
	part.demand, part.others = &demand, int(math.Ceil(share*float64(s.others)-1e-9))
	t, err := part.trial(few)
	s.times = part.times
	return t, err
}

// held is a shape with as few instances as hold the demand.
type held struct {
	*shape
	n, gpus  int
	trial    *simulate.Trial
	capacity *simulate.Capacity // nil: not proved
	glanced  *simulate.Capacity // by one run
}

// before orders what holds: fewer processors, then shorter requests, where that is known.
func (h *held) before(o *held) int {
	if order := cmp.Compare(h.gpus, o.gpus); order != 0 || h.capacity == nil || o.capacity == nil {
		return order
	}
	return cmp.Compare(h.capacity.Latency, o.capacity.Latency)
}

// settle finds the fewest instances of a shape that hold its demand, on up to so many processors; nil: none does. The first
// number that is tried is the most, where others have been found: if those do not hold there is nothing more to find.
func (a *adviser) settle(s *shape, most int, crowded bool) (*held, error) {
	low := s.fewest(s.slack()) - 1
	high := low
	for s.processors(high+1) <= most {
		high++ // beyond a bound of processors this ends
	}
	if high <= low {
		return nil, nil
	}
	found := 0 // instances that hold
	var glanced *simulate.Capacity
	try := func(n int) error {
		t, err := s.slice(n)
		if err != nil {
			return err
		}
		ok, seen, err := t.Glance(a.ctx)
		if ok {
			found, glanced = n, seen
		} else {
			low = n
		}
		return err
	}
	n := min(high, max(low+1, s.fewest(1/queueing)))
	if crowded {
		n = high
	}
	for found == 0 {
		if low == high {
			return nil, nil
		}
		if err := try(n); err != nil {
			return nil, err
		}
		n = min(high, n+max(1, n/4))
	}
	for found-low > 1 {
		if err := try(low + (found-low)/2); err != nil {
			return nil, err
		}
	}
	return &held{shape: s, n: found, gpus: s.processors(found), glanced: glanced}, nil
}

// prove finds the fewest instances by runs that are long enough to tell: that so many hold, and that one fewer does not. For
// what is shown first, the runs of both are equally long.
func (a *adviser) prove(h *held, first bool, most int) error {
	p := proof{held: h, first: first, runs: simulate.Replications / 2, known: map[int]*simulate.Capacity{}}
	if first {
		p.runs, p.least = simulate.Replications, h.requests
	}
	for {
		if err := p.search(a, most); err != nil || h.n == 0 {
			return err
		}
		if p.least = h.requests; !first || h.capacity.Requests >= p.least {
			return nil
		}
		n := h.n // which was told by shorter runs than one fewer
		h.capacity = nil
		if err := p.decide(a, n); err != nil || h.capacity != nil {
			return err
		}
		h.n++
	}
}

// proof is the runs of a shape that decide.
type proof struct {
	*held
	first bool
	runs  int
	least int // requests of a run
	known map[int]*simulate.Capacity
}

// decide tells whether so many instances hold; if so, they are the ones.
func (p *proof) decide(a *adviser, n int) error {
	if got := p.known[n]; got != nil && !got.Holds && got.Requests >= p.least {
		return nil
	}
	t, err := p.shape.trial(n)
	if err != nil {
		return err
	}
	t.Runs, t.Requests = p.runs, max(t.Requests, p.least)
	if p.first {
		t.Patience = patience
	}
	got, err := t.Decide(a.ctx)
	if err != nil {
		return err
	}
	p.known[n] = got
	if p.requests = max(p.requests, got.Requests); got.Holds {
		p.n, p.trial, p.capacity = n, t, got
	}
	return nil
}

// search goes up from the number that a glance found until so many hold, in ever longer steps, and back down to the fewest.
func (p *proof) search(a *adviser, most int) error {
	fails := 0 // instances that do not hold
	for n, step := p.n, 1; p.capacity == nil; n, step = n+step, 2*step {
		for step > 1 && p.shape.processors(n) > most {
			n, step = n-step/4, step/2
		}
		if p.shape.processors(n) > most {
			p.n = 0
			return nil
		}
		if err := p.decide(a, n); err != nil {
			return err
		}
		if p.capacity == nil {
			fails = n
		}
	}
	for p.n-1 > fails {
		n := p.n - 1
		if fails > 0 {
			n = fails + (p.n-fails)/2
		}
		if err := p.decide(a, n); err != nil {
			return err
		}
		if p.n != n {
			fails = n
		}
	}
	p.gpus = p.shape.processors(p.n)
	return nil
}

// proveAll proves what is ranked. Where that takes more processors than it seemed, the order changes.
func (a *adviser) proveAll(r *ranking) error {
	a.told(len(r.list), 0)
	err := a.side(len(r.list), func(i int) error {
		return a.prove(&r.list[i], i == 0, r.most)
	})
	if err != nil {
		return err
	}
	r.sort()
	for len(r.list) > 0 && !r.list[0].shown() {
		r.list[0].capacity = nil
		if err := a.prove(&r.list[0], true, r.most); err != nil {
			return err
		}
		r.sort()
	}
	return nil
}

// shown reports whether there are as many and as long runs as for what is shown first.
func (h *held) shown() bool {
	return h.trial.Recorded || h.capacity.Runs >= simulate.Replications && h.capacity.Requests >= h.requests
}

// sort puts what is proved in order, and forgets the rest.
func (r *ranking) sort() {
	r.list = slices.DeleteFunc(r.list, func(h held) bool { return h.n == 0 || h.capacity == nil })
	slices.SortStableFunc(r.list, func(x, y held) int { return x.before(&y) })
}

// ranking is what holds so far, each layout once, the best first.
type ranking struct {
	list []held
	keep int
	most int // processors
}

// limit is the processors on which something must hold to be ranked.
func (r *ranking) limit() (most int, crowded bool) {
	if len(r.list) < r.keep {
		return r.most, false
	}
	return r.list[r.keep-1].gpus - 1, true
}

func (r *ranking) add(h *held) {
	key := func(x *held) identity { c := x.with(1); k := x.identity(&c); k.counts = [2]int{}; return k }
	if at := slices.IndexFunc(r.list, func(o held) bool { return key(&o) == key(h) }); at >= 0 {
		if h.before(&r.list[at]) >= 0 {
			return
		}
		r.list = slices.Delete(r.list, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(r.list, *h, func(a, b held) int { return a.before(&b) })
	r.list = slices.Insert(r.list, at, *h)
	r.list = r.list[:min(len(r.list), r.keep)]
}

// settleAll settles shapes, the most promising first.
func (a *adviser) settleAll(shapes []*shape, r *ranking) error {
	promise := func(s *shape) int { return s.processors(s.fewest(1)) }
	slices.SortStableFunc(shapes, func(x, y *shape) int {
		return cmp.Or(cmp.Compare(promise(x), promise(y)), cmp.Compare(y.rate/float64(y.varied().curve.Procs), x.rate/float64(x.varied().curve.Procs)))
	})
	shapes = shapes[:min(len(shapes), shortlist)]
	a.told(len(shapes), 0)
	for len(shapes) > 0 {
		group := shapes[:min(len(shapes), sideBySide)]
		shapes = shapes[len(group):]
		most, crowded := r.limit()
		results := make([]*held, len(group))
		if err := a.side(len(group), func(i int) (err error) {
			results[i], err = a.settle(group[i], most, crowded)
			return err
		}); err != nil {
			return err
		}
		for _, h := range results {
			if h != nil {
				r.add(h)
			}
		}
	}
	return nil
}

// side does parts of the work side by side, as many at a time as there are workers.
func (a *adviser) side(n int, do func(i int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, n)
	free := make(chan bool, max(1, a.o.Workers))
	for i := range n {
		free <- true
		wait.Go(func() {
			errs[i] = do(i)
			a.told(0, 1)
			<-free
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// told tells of parts of the work, and of those that are done.
func (a *adviser) told(parts, done int) {
	if a.o.Told != nil {
		a.o.Told(parts, done)
	}
}

// pools are those of a role that keep the limits by themselves, each layout of an engine once: the overlap and the redundant
// experts that serve the most.
func (f *field) shapes(role deploy.Role, sizes []int, d *Demand) ([]*shape, error) {
	lots, err := f.lots(role, sizes)
	if err != nil {
		return nil, err
	}
	type name struct {
		engine int
		layout plan.Layout
	}
	at := map[name]int{}
	var out []*shape
	for _, lot := range lots {
		for _, o := range lot.options {
			if o.curve.Largest == 0 || o.rates[len(o.rates)-1] == 0 {
				continue
			}
			s := &shape{field: f, varies: role, rate: o.rates[len(o.rates)-1], demand: d}
			if role == deploy.Prefill {
				s.prefill = &o
			} else {
				s.decode = &o
			}
			key := name{o.engine, o.pool.Plan.Layout}
			if i, ok := at[key]; !ok {
				at[key] = len(out)
				out = append(out, s)
			} else if s.rate > out[i].rate {
				out[i] = s
			}
		}
	}
	return out, nil
}

// aggregated settles deployments whose pool does both phases.
func (a *adviser) aggregated(d *Demand, r *ranking) error {
	if a.space.prefill.System != a.space.decode.System {
		return nil
	}
	s, err := a.stockOf(Aggregated)
	if err != nil {
		return err
	}
	list, err := (&field{stock: s}).shapes(deploy.Both, sizes(r.most, a.o.GPUsPerNode), d)
	if err != nil {
		return err
	}
	return a.settleAll(list, r)
}

// disaggregated settles deployments of two pools. The first token comes from the prefill pool, and the others from the decode
// pool: so for each engine the prefill pool of the fewest processors is found by itself, and the decode pools beside it.
func (a *adviser) disaggregated(d *Demand, r *ranking) error {
	s, err := a.stockOf(Disaggregated)
	if err != nil || r.most < 2 {
		return err
	}
	f := &field{stock: s}
	sizes := sizes(r.most-1, a.o.GPUsPerNode)
	prefills, err := f.shapes(deploy.Prefill, sizes, d.prompts())
	if err != nil {
		return err
	}
	decodes, err := f.shapes(deploy.Decode, sizes, d)
	if err != nil {
		return err
	}
	var list []*ranking
	for e := range f.templates {
		p, err := a.settlePrefill(e, prefills, decodes, r.most)
		if err != nil {
			return err
		}
		if len(p.list) > 0 {
			list = append(list, p)
		}
	}
	// The best first: what is found beside it rules others out.
	least := func(p *ranking) int { return p.list[0].gpus + leastDecode(p.list[0].prefill.engine, decodes) }
	slices.SortStableFunc(list, func(x, y *ranking) int { return cmp.Compare(least(x), least(y)) })
	for _, p := range list {
		if most, _ := r.limit(); least(p) > most {
			continue
		}
		if err := a.settleBeside(p, decodes, r); err != nil {
			return err
		}
	}
	return nil
}

// leastDecode is the fewest processors of a decode pool of an engine in closed form.
func leastDecode(engine int, decodes []*shape) int {
	out := math.MaxInt / 2
	for _, x := range decodes {
		if x.decode.engine == engine {
			out = min(out, x.fewest(1)*x.decode.curve.Procs)
		}
	}
	return out
}

// settlePrefill is the prefill pools of an engine that hold the limit on the first token with the fewest processors, at a glance.
func (a *adviser) settlePrefill(engine int, prefills, decodes []*shape, most int) (*ranking, error) {
	var list []*shape
	for _, p := range prefills {
		if p.prefill.engine != engine || a.o.PrefillGPUs > 0 && a.o.PrefillGPUs < p.prefill.curve.Procs {
			continue
		}
		at := slices.IndexFunc(decodes, func(x *shape) bool {
			return x.decode.engine == engine && a.o.Engines[engine].Pairs(&p.prefill.pool.Plan, &x.decode.pool.Plan)
		})
		if at < 0 {
			continue
		}
		p.decode, p.others = decodes[at].decode, 1 // which gets nothing to do
		list = append(list, p)
	}
	r := &ranking{keep: prefillsKept, most: most - 1}
	if a.o.PrefillGPUs > 0 {
		r.most = a.o.PrefillGPUs
	}
	return r, a.settleAll(list, r)
}

// settleBeside proves the best of the prefill pools of an engine, and settles the decode pools beside it.
func (a *adviser) settleBeside(p *ranking, decodes []*shape, r *ranking) error {
	if err := a.proveAll(p); err != nil || len(p.list) == 0 {
		return err
	}
	best := &p.list[0]
	engine := best.prefill.engine
	if a.o.PrefillGPUs > 0 {
		best.n = a.o.PrefillGPUs / best.prefill.curve.Procs
	}
	var beside []*shape
	for _, x := range decodes {
		if x.decode.engine == engine && a.o.Engines[engine].Pairs(&best.prefill.pool.Plan, &x.decode.pool.Plan) {
			x.prefill, x.others, x.requests = best.prefill, best.n, best.requests
			beside = append(beside, x)
		}
	}
	return a.settleAll(beside, r)
}

// hold answers with deployments that hold a demand in simulations.
func (a *adviser) hold() (*Advice, error) {
	a.o.Rate = a.o.Demand.Rate
	if a.o.Objective == MinGPUs || a.o.Objective == Cost {
		return a.holdFewest()
	}
	return a.holdBest()
}

// holdFewest finds the fewest processors. The closed form, in which no one queues, says where to begin.
func (a *adviser) holdFewest() (*Advice, error) {
	objective := a.o.Objective
	a.o.Objective = MinGPUs
	start, err := a.fewest()
	a.o.Objective = objective
	if err != nil {
		return nil, err
	}
	if start.Partial {
		return nil, a.ctx.Err() // nothing of it was simulated
	}
	if len(start.Ranked) == 0 {
		return a.nearest(start)
	}
	modes := []func(*Demand, *ranking) error{a.aggregated, a.disaggregated}
	switch {
	case a.o.Mode == Aggregated:
		modes = modes[:1]
	case a.o.Mode == Disaggregated:
		modes = modes[1:]
	case start.Ranked[0].Mode == string(Disaggregated):
		slices.Reverse(modes) // what is found first rules more of the others out
	}
	const least = 8 // processors to look at
	r := &ranking{keep: max(1, a.o.Top)}
	for most := max(least, 2*start.Ranked[0].Procs); ; most *= 2 {
		r.most = min(most, a.o.GPUs)
		for _, mode := range modes {
			if err = mode(a.o.Demand, r); err != nil {
				break
			}
		}
		if err == nil {
			err = a.proveAll(r)
		}
		switch {
		case err != nil && (a.ctx.Err() == nil || len(r.list) == 0):
			return nil, err
		case err != nil || len(r.list) > 0:
			return a.answer(r, err != nil)
		case r.most == a.o.GPUs:
			return a.nearest(start)
		}
	}
}

// answer is what was found, in full.
func (a *adviser) answer(r *ranking, partial bool) (*Advice, error) {
	r.list = slices.DeleteFunc(r.list, func(h held) bool { return h.n == 0 || h.capacity == nil && h.glanced == nil })
	out := &Advice{Ranked: make([]Candidate, len(r.list)), Partial: partial}
	a.told(len(r.list), 0)
	err := a.side(len(r.list), func(i int) error {
		h := &r.list[i]
		if h.capacity == nil { // interrupted
			h.capacity = h.glanced
		} else if err := a.headroom(h.trial, h.capacity); err != nil && a.ctx.Err() == nil {
			return err
		}
		w := weighed{field: h.field, contender: new(contender), batch: h.batch()}
		*w.contender = h.with(h.n)
		c := &out.Ranked[i]
		*c = a.candidate(&w, h.gpus)
		a.seenBy(c, h.capacity)
		return nil
	})
	for i := 0; i < len(r.list) && err == nil; i++ {
		err = out.Ranked[i].describe(r.list[i].workers[0].predictors[r.list[i].decode.engine])
	}
	out.Partial = out.Partial || a.ctx.Err() != nil
	return out, err
}

// headroom adds by how much the rate may grow, and what breaks then.
func (a *adviser) headroom(t *simulate.Trial, c *simulate.Capacity) error {
	rate, first, err := t.Reach(a.ctx)
	c.Headroom, c.First = max(0, rate/c.Rate-1), first
	return err
}

// seenBy makes a candidate what its simulation saw.
func (a *adviser) seenBy(c *Candidate, seen *simulate.Capacity) {
	c.Capacity = seen
	c.See(serving.Prediction{TTFT: seen.TTFT.Mean, TPOT: seen.TPOT.Mean, Latency: seen.Latency, Requests: seen.Rate})
	c.Load.Clients = max(1, int(math.Round(seen.Concurrency)))
	c.Clients = c.Load.Clients
	a.value(c)
}

// holdBest finds the best deployments on a number of processors: those that hold with the most to spare or, where latency is
// asked for, with the shortest requests.
func (a *adviser) holdBest() (*Advice, error) {
	asked, top := a.o.Objective, a.o.Top
	a.o.Objective, a.o.Top = Throughput, max(shortlist/2, top)
	start, err := a.on(a.o.GPUs)
	a.o.Objective, a.o.Top = asked, top
	if err != nil {
		return nil, err
	}
	if start.Partial {
		return nil, a.ctx.Err()
	}
	list, err := a.glance(start.Ranked, func(x, y *Candidate) int {
		if asked == Latency {
			return cmp.Compare(x.Latency, y.Latency)
		}
		return cmp.Compare(y.Capacity.Headroom, x.Capacity.Headroom)
	})
	if err == nil {
		list, err = a.confirm(list, max(1, top))
	}
	switch {
	case err != nil && (a.ctx.Err() == nil || len(list) == 0):
		return nil, err
	case len(list) == 0:
		return a.nearest(start)
	}
	return &Advice{Ranked: list[:min(len(list), max(1, top))], Partial: err != nil}, nil
}

// glance is the candidates that hold the demand in a run, with their headroom, in an order. What there is when it is interrupted
// comes with the error.
func (a *adviser) glance(list []Candidate, order func(x, y *Candidate) int) ([]Candidate, error) {
	list = slices.Clone(list)
	a.told(len(list), 0)
	err := a.side(len(list), func(i int) error {
		c := &list[i]
		t, p, err := a.o.Demand.candidate(c)
		if err != nil {
			return err
		}
		ok, got, err := t.Glance(a.ctx)
		if err != nil || !ok {
			return err
		}
		if err := a.headroom(t, got); err != nil {
			return err
		}
		a.seenBy(c, got)
		return c.describe(p)
	})
	list = slices.DeleteFunc(list, func(c Candidate) bool { return c.Capacity == nil })
	slices.SortStableFunc(list, func(x, y Candidate) int { return order(&x, &y) })
	return list, err
}

// confirm is the first of the candidates that hold in as many runs as it takes, and those that it had no time for.
func (a *adviser) confirm(list []Candidate, top int) ([]Candidate, error) {
	var out []Candidate
	for len(list) > 0 && len(out) < top {
		group := list[:min(len(list), top-len(out))]
		list = list[len(group):]
		a.told(len(group), 0)
		if err := a.side(len(group), func(i int) error {
			c := &group[i]
			t, _, err := a.o.Demand.candidate(c)
			if err != nil {
				return err
			}
			t.Runs = simulate.Replications
			got, err := t.Decide(a.ctx)
			if err == nil {
				got.Headroom, got.First = c.Capacity.Headroom, c.Capacity.First
				a.seenBy(c, got)
			}
			return err
		}); err != nil {
			return append(out, group...), err
		}
		for _, c := range group {
			if c.Capacity.Holds {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// candidate is the demand on a candidate, whose ranks decode as many sequences at a time as there is room for, and what predicts it.
func (d *Demand) candidate(c *Candidate) (*simulate.Trial, *serving.Predictor, error) {
	on := &c.Deployment
	p, err := serving.NewPredictor(on)
	if err != nil {
		return nil, nil, err
	}
	on.Pools = slices.Clone(on.Pools)
	pool := on.Of(op.Decode)
	pool.Plan.Batch.Size = max(pool.Plan.Batch.Size, p.Curve(on, pool, c.Load.Lengths, 1).Largest)
	t, err := d.trial(on, nil)
	return t, p, err
}

// nearest says why nothing holds, and what would.
func (a *adviser) nearest(start *Advice) (*Advice, error) {
	out := &Advice{Reasons: start.Reasons}
	objective, top := a.o.Objective, a.o.Top
	a.o.Objective, a.o.Top = Throughput, sideBySide
	on, err := a.on(a.o.GPUs)
	a.o.Objective, a.o.Top = objective, top
	if err != nil {
		return nil, err
	}
	if len(on.Ranked) == 0 {
		out.Reasons = on.Reasons
		return out, nil
	}
	list, err := a.reaching(on.Ranked)
	if err != nil {
		return nil, err
	}
	best := slices.MaxFunc(list, func(x, y reached) int { return cmp.Compare(x.rate, y.rate) })
	what := fmt.Sprintf("no deployment that was simulated on up to %d processors holds the limits at %s requests per second; ", a.o.GPUs, number.Plain(a.o.Rate, 4))
	if best.rate == 0 {
		what += fmt.Sprintf("%s does at no rate: %s", best.name, brokenWords[best.first])
	} else {
		what += fmt.Sprintf("%s holds them at %s, and above that %s", best.name, number.Plain(best.rate, 3), brokenWords[best.first])
	}
	out.Reasons = []string{what}
	return out, nil
}

// brokenWords say what breaks.
var brokenWords = map[simulate.Break]string{
	simulate.BreaksTTFT: "the limit on the time to the first token is missed", simulate.BreaksTPOT: "the limit on the time per output token is missed",
	simulate.BreaksQueue: "requests pile up", simulate.BreaksMemory: "requests wait for room in the KV cache",
}

// reached is a deployment, and the highest rate at which one run of it holds.
type reached struct {
	name  string
	rate  float64
	first simulate.Break
}

// reaching finds those rates.
func (a *adviser) reaching(list []Candidate) ([]reached, error) {
	out := make([]reached, len(list))
	a.told(len(list), 0)
	return out, a.side(len(list), func(i int) error {
		c := &list[i]
		t, _, err := a.o.Demand.candidate(c)
		if err != nil {
			return err
		}
		out[i].name = c.name()
		out[i].rate, out[i].first, err = t.Reach(a.ctx)
		return err
	})
}

// name is a candidate in a few words.
func (c *Candidate) name() string {
	text := c.Deployment.Engine.Name
	for i := range c.Deployment.Pools {
		p := &c.Deployment.Pools[i]
		text += fmt.Sprintf(", %s %s", p.Role, result.Instances(p.Count, &p.Plan))
	}
	return text
}
