package advice

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/internal/parallel"
	"throughline/plan"
	"throughline/serving/simulate"
)

// Limits of the simulated search.
const (
	// shortlist limits the shapes of a pool to simulate, those with the lowest closed-form GPU
	// counts first.
	shortlist = 32
	// slack is the factor by which a simulated instance may exceed its closed-form bound. It is
	// larger for experts behind replicas that step together, whose prompts the closed form
	// serializes.
	slack, lockstepSlack = 1.25, 2.0
	// shapeGroupSize is how many shapes are simulated before their results prune others; it is
	// independent of the workers so that the result is too.
	shapeGroupSize = 4
	// prefillsKept is how many prefill pools of an engine are proved before the best is taken.
	prefillsKept = 2
	// patience limits the requests of the longest runs, unless more are in flight at once.
	patience = 16 * simulate.LeastRequests
	// queueing scales the closed-form instance count to the first count to try.
	queueing = 1.15
	// slice is how many instances stand for twice as many or more: each gets the same load, and the
	// total number hardly matters.
	slice = 16
)

// shape is a family of deployments that differ only in the instance count of one pool.
type shape struct {
	*field
	prefill, decode *option // nil prefill: one pool for both phases
	varies          deploy.Role
	others          int // instances of the other pool
	rate            float64
	demand          *Demand
	times           []simulate.Times
	requests        int // of the longest runs needed to decide
}

// varied returns the pool whose instances are counted.
func (s *shape) varied() *option {
	if s.varies == deploy.Prefill {
		return s.prefill
	}
	return s.decode
}

// processors counts those of n instances, including the other pool once it is settled.
func (s *shape) processors(n int) int {
	p := n * s.varied().curve.Procs
	if s.varies == deploy.Decode {
		p += s.others * s.prefill.curve.Procs
	}
	return p
}

// fewest returns the closed-form instance count if each served `times` its bound.
func (s *shape) fewest(times float64) int {
	return max(1, int(math.Ceil(s.demand.Rate/(times*s.rate))))
}

func (s *shape) slack() float64 {
	p := &s.varied().pool.Plan
	if p.Experts.EP > 0 && p.Attention.DP > 1 {
		return lockstepSlack
	}
	return slack
}

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

// batch returns as many sequences per rank as fit in memory.
func (s *shape) batch() plan.Batch { return plan.Batch{Count: 1, Size: s.decode.curve.Largest} }

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

// slice returns a trial of a subset of many instances, at the same load per instance.
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

// held is a shape with the fewest instances that hold the demand.
type held struct {
	*shape
	n, gpus  int
	trial    *simulate.Trial
	capacity *simulate.Capacity // nil: not proved
	glanced  *simulate.Capacity // result of a single run
}

// before orders by processors, then by latency where known.
func (h *held) before(o *held) int {
	if order := cmp.Compare(h.gpus, o.gpus); order != 0 || h.capacity == nil || o.capacity == nil {
		return order
	}
	return cmp.Compare(h.capacity.Latency, o.capacity.Latency)
}

// settle finds the fewest instances that hold the demand on up to most processors, or nil. With a
// full ranking it tries the most allowed first: if those fail, nothing can be found.
func (a *adviser) settle(s *shape, most int, crowded bool) (*held, error) {
	low := s.fewest(s.slack()) - 1
	high := low
	for s.processors(high+1) <= most {
		high++ // the limit on processors ends this
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
	return &held{shape: s, n: found, gpus: a.wholeNodes(s.processors(found)), glanced: glanced}, nil
}

// prove confirms with sufficiently long runs that n instances hold and n-1 do not; for the
// first-ranked, both runs have the same length.
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
		n := h.n // decided by shorter runs than n-1
		h.capacity = nil
		if err := p.decide(a, n); err != nil || h.capacity != nil {
			return err
		}
		h.n++
	}
}

// proof is a sequence of deciding runs of a shape.
type proof struct {
	*held
	first bool
	runs  int
	least int // requests per run
	known map[int]*simulate.Capacity
}

// decide simulates n instances and records them if they hold.
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

// search doubles its steps up from the glanced count until it holds, then bisects down to the
// fewest.
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
	p.gpus = a.wholeNodes(p.shape.processors(p.n))
	return nil
}

// proveAll proves the ranking, and reorders it where the proof takes more processors than a glance.
func (a *adviser) proveAll(r *ranking) error {
	a.phase("proving what holds")
	a.progress(len(r.list), 0)
	err := a.parallel(len(r.list), func(i int) error {
		return a.prove(&r.list[i], i == 0, r.most)
	})
	if err != nil {
		return err
	}
	r.sort()
	for len(r.list) > 0 && !r.list[0].fullyProved() {
		r.list[0].capacity = nil
		if err := a.prove(&r.list[0], true, r.most); err != nil {
			return err
		}
		r.sort()
	}
	return nil
}

// fullyProved reports whether the runs are as many and as long as the first-ranked requires.
func (h *held) fullyProved() bool {
	return h.trial.Recorded || h.capacity.Runs >= simulate.Replications && h.capacity.Requests >= h.requests
}

// sort orders the proved and drops the rest.
func (r *ranking) sort() {
	r.list = slices.DeleteFunc(r.list, func(h held) bool { return h.n == 0 || h.capacity == nil })
	slices.SortStableFunc(r.list, func(x, y held) int { return x.before(&y) })
}

// ranking is what holds so far, each layout once, best first.
type ranking struct {
	list []held
	keep int
	most int // processors
}

// limit returns the most processors with which a shape still enters the ranking.
func (r *ranking) limit() (most int, crowded bool) {
	if len(r.list) < r.keep {
		return r.most, false
	}
	return r.list[r.keep-1].gpus - 1, true
}

func (r *ranking) add(h *held) {
	key := func(x *held) layouts {
		c := x.with(1)
		return x.layout(&c).layouts
	}
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

// settleAll settles shapes, most promising first.
func (a *adviser) settleAll(shapes []*shape, r *ranking) error {
	promise := func(s *shape) int { return s.processors(s.fewest(1)) }
	slices.SortStableFunc(shapes, func(x, y *shape) int {
		return cmp.Or(cmp.Compare(promise(x), promise(y)), cmp.Compare(y.rate/float64(y.varied().curve.Procs), x.rate/float64(x.varied().curve.Procs)))
	})
	shapes = shapes[:min(len(shapes), shortlist)]
	a.phase("simulating layouts")
	a.progress(len(shapes), 0)
	for len(shapes) > 0 {
		group := shapes[:min(len(shapes), shapeGroupSize)]
		shapes = shapes[len(group):]
		most, crowded := r.limit()
		results := make([]*held, len(group))
		if err := a.parallel(len(group), func(i int) (err error) {
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

// parallel runs parts of the work concurrently, at most one per worker.
func (a *adviser) parallel(n int, do func(i int) error) error {
	var wait parallel.Group
	errs := make([]error, n)
	free := make(chan bool, max(1, a.o.Workers))
	for i := range n {
		free <- true
		wait.Go(func() {
			defer func() { <-free }()
			errs[i] = do(i)
			a.progress(0, 1)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (a *adviser) phase(name string) {
	if a.o.Phase != nil {
		a.o.Phase(name)
	}
}

func (a *adviser) progress(parts, done int) {
	if a.o.Progress != nil {
		a.o.Progress(parts, done)
	}
}

// shapes returns the pools of a role that meet the limits alone: per engine and layout the overlap
// and redundant experts that serve the most.
func (f *field) shapes(role deploy.Role, sizes []int, d *Demand) ([]*shape, error) {
	lots, err := f.poolSets(role, sizes)
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

// aggregated settles deployments with one pool for both phases.
func (a *adviser) aggregated(d *Demand, r *ranking) error {
	if a.space.prefill.System != a.space.decode.System {
		return nil
	}
	s, err := a.poolsOf(Aggregated)
	if err != nil {
		return err
	}
	list, err := (&field{poolCache: s}).shapes(deploy.Both, sizes(r.most, a.o.GPUsPerNode), d)
	if err != nil {
		return err
	}
	return a.settleAll(list, r)
}

// disaggregated settles deployments of two pools. Prefill alone decides the first token, so the
// smallest prefill pool of each engine is found first, then the decode pools beside it.
func (a *adviser) disaggregated(d *Demand, r *ranking) error {
	s, err := a.poolsOf(Disaggregated)
	if err != nil || r.most < 2 {
		return err
	}
	f := &field{poolCache: s}
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
	// Best first: its results prune the others.
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

// leastDecode returns the closed-form processor count of the smallest decode pool of an engine.
func leastDecode(engine int, decodes []*shape) int {
	out := math.MaxInt / 2
	for _, x := range decodes {
		if x.decode.engine == engine {
			out = min(out, x.fewest(1)*x.decode.curve.Procs)
		}
	}
	return out
}

// settlePrefill glances at prefill pools of an engine for the smallest that meet the TTFT limit.
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
		p.decode, p.others = decodes[at].decode, 1 // stays idle
		list = append(list, p)
	}
	r := &ranking{keep: prefillsKept, most: most - 1}
	if a.o.PrefillGPUs > 0 {
		r.most = a.o.PrefillGPUs
	}
	return r, a.settleAll(list, r)
}

// settleBeside proves the best prefill pool of an engine and settles decode pools beside it.
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
