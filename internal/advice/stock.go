package advice

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
)

// stock is the pools of a mode. What is known of a pool does not depend on how many processors there are: a search for the
// fewest of them looks at each pool once.
type stock struct {
	*adviser
	mode      Mode
	templates []deploy.Deployment // by engine: all but plans and counts
	limits    []float64           // on the time per output token, in seconds; the one that was asked for last
	ttft      float64             // limit on the time to the first token
	workers   []*worker
	known     map[lotKey]*lot
}

// lotKey names the pools of a role on instances of one size.
type lotKey struct {
	role deploy.Role
	size int
}

// lot is those pools.
type lot struct {
	options []option
	plans   int // looked at
	refused int // of them that no engine can run
}

// stockOf is that of a mode.
func (a *adviser) stockOf(mode Mode) (*stock, error) {
	if s := a.stocks[mode]; s != nil {
		return s, nil
	}
	s := &stock{adviser: a, mode: mode, ttft: math.Inf(1), known: map[lotKey]*lot{}}
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
	if a.stocks == nil {
		a.stocks = map[Mode]*stock{}
	}
	a.stocks[mode] = s
	return s, nil
}

// worker has its own prepared systems, by engine.
type worker struct{ predictors []*serving.Predictor }

// predictor is that of an engine; engines with the same number formats share one.
func (w *worker) predictor(s *stock, engine int) (*serving.Predictor, error) {
	for i := range w.predictors {
		if s.templates[i].Precision == s.templates[engine].Precision {
			return w.predictors[i], nil
		}
	}
	return serving.NewPredictor(&s.templates[engine])
}

// ladder is the limits on the time per output token to find the best deployment under, in seconds: a range that shows the
// whole frontier, and the one that was asked for, last.
func ladder(asked *float64) []float64 {
	last := math.Inf(1)
	if asked != nil {
		last = *asked / 1e3
	}
	var out []float64
	for _, ms := range []float64{4, 6, 8, 11, 15, 20, 28, 40, 60, 100} {
		if t := ms / 1e3; t < last {
			out = append(out, t)
		}
	}
	return append(out, last)
}

// asked is the limit on the time per output token that was asked for.
func (s *stock) asked() float64 { return s.limits[len(s.limits)-1] }

// problem is the enumeration of the plans of a role.
func (s *stock) problem(role deploy.Role) *search.Problem {
	if role == deploy.Prefill {
		return &s.space.prefill
	}
	return &s.space.decode
}

// searched reports whether sizes and numbers of instances are searched, and not given.
func (s *stock) searched() bool { return s.pools == nil && s.space.sizes == nil }

// oneCopy reports whether all plans that are worth a look have one copy of the experts in a stage. Copies that share no
// attention replica are servers of their own; those that do, no engine runs.
func (s *stock) oneCopy() bool { return s.searched() && !slices.Contains(s.o.Engines, engine.Generic) }

// lots are the pools of a role on instances of the given sizes.
func (s *stock) lots(role deploy.Role, sizes []int) ([]*lot, error) {
	out := make([]*lot, len(sizes))
	var missing []int
	for i, n := range sizes {
		if out[i] = s.known[lotKey{role, n}]; out[i] == nil {
			missing = append(missing, i)
		}
	}
	err := s.each(len(missing), func(_ *worker, i int) { out[missing[i]] = s.list(role, sizes[missing[i]], s.oneCopy(), nil) })
	if err != nil {
		return nil, err
	}
	// Pools that differ in their stages alone cost less together.
	type shape struct {
		engine int
		plan   plan.Plan
	}
	shapes := map[shape][]*option{}
	var order []shape
	for _, i := range missing {
		for k := range out[i].options {
			o := &out[i].options[k]
			key := shape{o.engine, o.pool.Plan}
			key.plan.Attention.PP = 1
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
			s.known[lotKey{role, n}] = out[i]
		}
	}
	return out, err
}

// list is the pools of a role on instances of one size, without their bounds. Of plans that no engine runs, it passes on what each would
// have run; nil: no one listens.
func (s *stock) list(role deploy.Role, size int, oneCopy bool, refused func(engine int, p *deploy.Pool)) *lot {
	var out lot
	problem := *s.problem(role)
	problem.Procs, problem.OneCopy = size, oneCopy
	for _, p := range problem.Plans() {
		if s.searched() && severalServers(&p) {
			continue // as many instances of a smaller size are the same
		}
		extra := p.Overlap != plan.NoOverlap && len(s.o.Overlaps) > 1 // the plan itself is tried without
		if !extra {
			out.plans++
		}
		p.Batch = plan.Batch{Count: 1, Size: p.Overlap.Least()}
		pool := deploy.Pool{Role: role, System: problem.System, Plan: p, Count: 1}
		ran := false
		for i, e := range s.o.Engines {
			placed := pool
			placed.Plan.Behaviour = e.Behaviour(&s.templates[i], &pool)
			if placed.Plan.Gathered { // nothing is exchanged
				if extra {
					continue
				}
				placed.Plan.Overlap = plan.NoOverlap
			}
			if !e.Runs(&s.templates[i], &placed) {
				continue
			}
			ran = true
			out.options = append(out.options, option{engine: i, pool: placed})
		}
		if !ran && !extra {
			out.refused++
			for i, e := range s.o.Engines {
				if refused != nil {
					placed := pool
					placed.Plan.Behaviour = e.Behaviour(&s.templates[i], &pool)
					refused(i, &placed)
				}
			}
		}
	}
	return &out
}

// bound works out the steps of a pool and what they allow or, where it does not fit, how much it holds.
func (s *stock) bound(w *worker, o *option) {
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

// severalServers reports whether a plan is copies of a smaller one that exchange nothing: the replicas of a dense model, or
// the replicas around each copy of the experts.
func severalServers(p *plan.Plan) bool {
	if p.Experts.EP == 0 {
		return p.Attention.DP > 1
	}
	return p.Experts.DP > 1 && p.Attention.DP%p.Experts.DP == 0
}

// copies is a pool of so many copies of the servers of another, which exchange nothing. Each bound is as much higher.
func (s *stock) copies(o *option, n int) *option {
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

// each gives the numbers 0..n-1 to the workers.
func (s *stock) each(n int, do func(w *worker, i int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	s.told(n, 0)
	for _, w := range s.workers {
		wait.Go(func() {
			for s.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(w, i)
				s.told(0, 1)
			}
		})
	}
	wait.Wait()
	return s.ctx.Err()
}

// rate bounds the requests per second of an instance of a pool: of a prefill pool once, of others under each limit.
func (s *stock) rate(o *option) {
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
