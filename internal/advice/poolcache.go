package advice

import (
	"math"
	"slices"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/parallel"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
)

// poolCache caches the pools of a mode. They do not depend on the number of processors, so a search
// for the fewest processors bounds each pool once.
type poolCache struct {
	*adviser
	mode      Mode
	templates []deploy.Deployment // by engine, without plans and counts
	limits    []float64           // on TPOT in seconds; the requested one last
	ttft      float64             // limit on TTFT in seconds
	workers   []*worker
	cache     map[poolKey]*poolSet
}

type poolKey struct {
	role deploy.Role
	size int
}

// poolSet is the pools of a role on instances of one size.
type poolSet struct {
	options []option
	plans   int // considered
	refused int // those no engine can run
}

func (a *adviser) poolsOf(mode Mode) (*poolCache, error) {
	if s := a.caches[mode]; s != nil {
		return s, nil
	}
	s := &poolCache{adviser: a, mode: mode, ttft: math.Inf(1), cache: map[poolKey]*poolSet{}}
	if l := a.space.limits.TTFT; l != nil {
		s.ttft = *l / 1e3
	}
	s.limits = ladder(a.space.limits.TPOT)
	base := a.base
	base.Pools = []deploy.Pool{{Role: deploy.Both, System: a.decode.System, Count: 1}}
	if mode == Disaggregated {
		base.Pools = []deploy.Pool{{Role: deploy.Prefill, System: a.prefill.System, Count: 1}, {Role: deploy.Decode, System: a.decode.System, Count: 1}}
	}
	for _, e := range a.o.Engines {
		s.templates = append(s.templates, e.Apply(base))
	}
	for range max(1, a.o.Workers) {
		w := &worker{}
		for i := range s.templates {
			p, err := w.predictor(s, i)
			if err != nil {
				return nil, err
			}
			w.predictors = append(w.predictors, p)
		}
		s.workers = append(s.workers, w)
	}
	if a.caches == nil {
		a.caches = map[Mode]*poolCache{}
	}
	a.caches[mode] = s
	return s, nil
}

// worker has its own predictors, by engine.
type worker struct{ predictors []*serving.Predictor }

// predictor reuses one of an engine with the same number formats.
func (w *worker) predictor(s *poolCache, engine int) (*serving.Predictor, error) {
	for i := range w.predictors {
		if s.templates[i].Precision == s.templates[engine].Precision {
			return w.predictors[i], nil
		}
	}
	return serving.NewPredictor(&s.templates[engine])
}

// ladder returns TPOT limits in seconds that span the frontier, and the requested one last.
func ladder(requested *float64) []float64 {
	last := math.Inf(1)
	if requested != nil {
		last = *requested / 1e3
	}
	var out []float64
	for _, ms := range []float64{4, 6, 8, 11, 15, 20, 28, 40, 60, 100} {
		if t := ms / 1e3; t < last {
			out = append(out, t)
		}
	}
	return append(out, last)
}

func (s *poolCache) tpotLimit() float64 { return s.limits[len(s.limits)-1] }

func (s *poolCache) problem(role deploy.Role) *search.Problem {
	if role == deploy.Prefill {
		return &s.space.prefill
	}
	return &s.space.decode
}

// searched reports whether instance sizes and counts are free.
func (s *poolCache) searched() bool { return s.pools == nil && s.space.sizes == nil }

// oneCopy reports whether plans with several copies of the experts per stage can be skipped: copies
// that share no attention replica are separate servers, and no engine runs the others.
func (s *poolCache) oneCopy() bool {
	return s.searched() && !slices.Contains(s.o.Engines, engine.Generic)
}

func (s *poolCache) poolSets(role deploy.Role, sizes []int) ([]*poolSet, error) {
	out := make([]*poolSet, len(sizes))
	var missing []int
	for i, n := range sizes {
		if out[i] = s.cache[poolKey{role, n}]; out[i] == nil {
			missing = append(missing, i)
		}
	}
	err := s.each(len(missing), func(_ *worker, i int) { out[missing[i]] = s.list(role, sizes[missing[i]], s.oneCopy(), nil) })
	if err != nil {
		return nil, err
	}
	// Bounding pools that differ only in their stages together is cheaper.
	type shape struct {
		engine int
		plan   plan.Plan
	}
	shapes := map[shape][]*option{}
	var order []shape
	for _, i := range missing {
		for k := range out[i].options {
			o := &out[i].options[k]
			key := shape{o.engine, o.pool.Plan.Unstaged()}
			if shapes[key] == nil {
				order = append(order, key)
			}
			shapes[key] = append(shapes[key], o)
		}
	}
	err = s.each(len(order), func(w *worker, i int) {
		for _, o := range shapes[order[i]] {
			s.bound(w, o)
		}
	})
	for i, n := range sizes {
		if err == nil {
			s.cache[poolKey{role, n}] = out[i]
		}
	}
	return out, err
}

// list enumerates the pools of a role and size, without bounds; refused, if set, receives plans
// that no engine runs, as each would have run them.
func (s *poolCache) list(role deploy.Role, size int, oneCopy bool, refused func(engine int, p *deploy.Pool)) *poolSet {
	var out poolSet
	problem := *s.problem(role)
	problem.Procs, problem.OneCopy = size, oneCopy
	for _, p := range problem.Plans() {
		if s.searched() && severalServers(&p) {
			continue // the same as several smaller instances
		}
		extra := p.Overlap != plan.NoOverlap && len(s.o.Overlaps) > 1 // the plan itself is also tried without overlap
		if !extra {
			out.plans++
		}
		p.Batch = plan.Batch{Count: 1, Size: p.Overlap.Least()}
		pool := deploy.Pool{Role: role, System: problem.System, Plan: p, Count: 1}
		options := s.placements(&pool, extra)
		out.options = append(out.options, options...)
		if len(options) > 0 || extra {
			continue
		}
		out.refused++
		for i := range s.o.Engines {
			if refused != nil {
				placed := s.place(i, pool)
				refused(i, &placed)
			}
		}
	}
	return &out
}

// place returns a pool as an engine runs it.
func (s *poolCache) place(engine int, pool deploy.Pool) deploy.Pool {
	pool.Plan.Behaviour = s.o.Engines[engine].Behaviour(&s.templates[engine], &pool)
	return pool
}

// placements returns the pool on each engine that runs it, an extra one only with an exchange.
func (s *poolCache) placements(pool *deploy.Pool, extra bool) (out []option) {
	for i, e := range s.o.Engines {
		placed := s.place(i, *pool)
		if placed.Plan.Gathered { // nothing is exchanged
			if extra {
				continue
			}
			placed.Plan.Overlap = plan.NoOverlap
		}
		if e.Runs(&s.templates[i], &placed) {
			out = append(out, option{engine: i, pool: placed})
		}
	}
	return out
}

// bound prices the steps of a pool and what they allow or, if it does not fit, how much it holds.
func (s *poolCache) bound(w *worker, o *option) {
	d, p := &s.templates[o.engine], w.predictors[o.engine]
	pool := o.pool
	if s.o.Objective == Latency { // of one client
		pool.Plan = pool.Under(1)
	}
	o.curve = p.Curve(d, &pool, s.lengths, estimate.TokensPerStep(d.Acceptance, o.pool.Plan.Drafts), s.limits...)
	if o.curve.Largest == 0 {
		m := p.Memory(d, &o.pool, s.lengths)
		o.held, o.over = m.Total(), m.Total()-d.Usable(&o.pool, &m)
		o.lets = d.Lets(&o.pool, &m)
		return
	}
	s.rate(o)
}

// severalServers reports whether a plan is independent copies of a smaller one: replicas of a dense
// model, or the replicas around each copy of the experts.
func severalServers(p *plan.Plan) bool {
	if p.Experts.EP == 0 {
		return p.Attention.DP > 1
	}
	return p.Experts.DP > 1 && p.Attention.DP%p.Experts.DP == 0
}

// copies scales a pool and its bounds to n independent copies.
func (s *poolCache) copies(o *option, n int) *option {
	out := *o
	out.pool.Plan.Attention.DP *= n
	out.pool.Plan.Experts.DP *= n
	out.curve.Ranks *= n
	out.curve.Procs *= n
	if s.o.Objective != Latency {
		out.rates = make([]float64, len(o.rates))
		for k := range o.rates {
			out.rates[k] = float64(n) * o.rates[k]
		}
	}
	return &out
}

// each hands the numbers 0..n-1 to the workers.
func (s *poolCache) each(n int, do func(w *worker, i int)) error {
	s.progress(n, 0)
	parallel.Share(s.ctx, n, 1, s.workers, func(w *worker, i int) {
		do(w, i)
		s.progress(0, 1)
	})
	return s.ctx.Err()
}

// rate bounds the requests per second of an instance: of a prefill pool once, of others under each
// limit.
func (s *poolCache) rate(o *option) {
	switch {
	case o.curve.Largest == 0:
	case o.pool.Role == deploy.Prefill:
		o.rates = []float64{o.curve.Prefills()}
	default:
		rules := &s.templates[o.engine].Engine
		o.rates = make([]float64, 0, len(s.limits))
		for _, limit := range s.limits {
			r := 0.0
			switch first := rules.Entry(s.lengths.Input, false) + o.curve.Own; {
			case first > s.ttft || o.curve.Token[0] > limit && s.lengths.Output > 1:
			case s.o.Objective == Latency:
				r = o.curve.Fastest(first)
			default:
				r = o.curve.Requests(limit, first)
			}
			o.rates = append(o.rates, r)
		}
	}
}
