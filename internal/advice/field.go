package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
	"throughline/workload"
)

// field is all deployments of one mode on a number of processors. They are weighed in two steps: the bare steps of every
// pool bound what its clients may see at best, and what its bound does not rule out is predicted.
type field struct {
	*adviser
	mode      Mode
	gpus      int
	templates []deploy.Deployment // by engine: all but plans and counts
	limits    []float64           // on the time per output token, in seconds; the one that was asked for last
	ttft      float64             // limit on the time to the first token

	prefills, decodes []option
	groups            [][]option // prefill pools of one engine and size

	workers []*worker
	tracker

	plans   int                 // looked at
	refused int                 // of them that no engine can run
	memory  [3]search.Rejection // by role
}

// worker has its own prepared systems, by engine.
type worker struct{ predictors []*serving.Predictor }

// option is a pool that a deployment may have: a plan behind an engine, and the bounds of its steps.
type option struct {
	engine int
	pool   deploy.Pool // with one instance
	curve  serving.Curve
	rates  []float64 // bounds on its requests per second
	index  int
}

// contender is one deployment but for its batch.
type contender struct {
	prefill, decode *option // no prefill: one pool does both
	counts          [2]int  // instances of either
}

// before orders contenders, to settle ties.
func (c *contender) before(o *contender) int {
	place := func(x *option) int {
		if x == nil {
			return -1
		}
		return x.index
	}
	return cmp.Or(cmp.Compare(c.decode.index, o.decode.index), cmp.Compare(place(c.prefill), place(o.prefill)), cmp.Compare(c.counts[1], o.counts[1]))
}

// weighed is a contender at a batch, and what its clients see.
type weighed struct {
	field     *field
	contender *contender
	batch     plan.Batch
	seen      serving.Prediction
}

// newField prepares the deployments of a mode on so many processors.
func (a *adviser) newField(mode Mode, gpus int) (*field, error) {
	f := &field{adviser: a, mode: mode, gpus: gpus, ttft: math.Inf(1)}
	if l := a.space.limits.TTFT; l != nil {
		f.ttft = *l / 1e3
	}
	f.limits = ladder(a.space.limits.TPOT)
	f.tracker = newTracker(len(f.limits), max(1, a.o.Top))
	base := a.base
	base.Pools = []deploy.Pool{{Role: deploy.Both, System: a.decode.System, Count: 1}}
	if mode == Disaggregated {
		base.Pools = []deploy.Pool{{Role: deploy.Prefill, System: a.prefill.System, Count: 1}, {Role: deploy.Decode, System: a.decode.System, Count: 1}}
	}
	for _, e := range a.o.Engines {
		f.templates = append(f.templates, e.Apply(base))
	}
	for range max(1, a.o.Workers) {
		w := &worker{}
		for i := range f.templates {
			p, err := w.predictor(f, i)
			if err != nil {
				return nil, err
			}
			w.predictors = append(w.predictors, p)
		}
		f.workers = append(f.workers, w)
	}
	return f, f.enter()
}

// predictor is that of an engine; engines with the same number formats share one.
func (w *worker) predictor(f *field, engine int) (*serving.Predictor, error) {
	for i := range w.predictors {
		if f.templates[i].Precision == f.templates[engine].Precision {
			return w.predictors[i], nil
		}
	}
	return serving.NewPredictor(&f.templates[engine])
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
func (f *field) asked() float64 { return f.limits[len(f.limits)-1] }

// problem is the enumeration of the plans of a role.
func (f *field) problem(role deploy.Role) *search.Problem {
	if role == deploy.Prefill {
		return &f.space.prefill
	}
	return &f.space.decode
}

// enter lists the pools.
func (f *field) enter() (err error) {
	if f.mode == Aggregated {
		if f.space.prefill.System != f.space.decode.System {
			return nil // one pool has one kind of processor
		}
		f.decodes, err = f.options(deploy.Both, f.instances(0))
		return err
	}
	if f.prefills, err = f.options(deploy.Prefill, f.instances(0)); err != nil {
		return err
	}
	// Those of one engine and size together, the fastest first.
	slices.SortStableFunc(f.prefills, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.curve.Procs, b.curve.Procs), cmp.Compare(b.rates[0], a.rates[0]))
	})
	for first := 0; first < len(f.prefills); {
		last := first
		for last < len(f.prefills) && f.prefills[last].engine == f.prefills[first].engine && f.prefills[last].curve.Procs == f.prefills[first].curve.Procs {
			last++
		}
		f.groups = append(f.groups, f.prefills[first:last])
		first = last
	}
	f.decodes, err = f.options(deploy.Decode, f.instances(1))
	return err
}

// instances are the sizes of an instance of a pool.
func (f *field) instances(pool int) []int {
	switch {
	case f.pools != nil:
		return f.pools[pool : pool+1]
	case f.space.sizes != nil:
		return f.space.sizes
	case f.mode == Aggregated:
		return sizes(f.gpus, f.o.GPUsPerNode)
	}
	return sizes(f.gpus-1, f.o.GPUsPerNode)
}

// options are the pools of a role on instances of the given sizes.
func (f *field) options(role deploy.Role, sizes []int) ([]option, error) {
	var all []option
	for _, n := range sizes {
		problem := *f.problem(role)
		problem.Procs = n
		for _, p := range problem.Plans() {
			if f.pools == nil && f.space.sizes == nil {
				if severalServers(&p) {
					continue // as many instances of a smaller size are the same
				}
				if f.mode == Aggregated {
					copies(&p, f.gpus/n)
				}
			}
			extra := p.Overlap != plan.NoOverlap && len(f.o.Overlaps) > 1 // the plan itself is tried without
			if !extra {
				f.plans++
			}
			p.Batch = plan.Batch{Count: 1, Size: 1}
			pool := deploy.Pool{Role: role, System: problem.System, Plan: p, Count: 1}
			ran := false
			for i, e := range f.o.Engines {
				placed := pool
				placed.Plan = e.Place(&f.templates[i], &pool)
				if placed.Plan.Gathered { // nothing is exchanged
					if extra {
						continue
					}
					placed.Plan.Overlap = plan.NoOverlap
				}
				if len(e.Refuses(&f.templates[i], &placed)) > 0 {
					continue
				}
				ran = true
				all = append(all, option{engine: i, pool: placed})
			}
			if !ran && !extra {
				f.refused++
			}
		}
	}
	err := f.each(len(all), func(w *worker, i int) {
		o := &all[i]
		d := &f.templates[o.engine]
		tokens := estimate.TokensPerStep(d.Acceptance, o.pool.Plan.Drafts)
		o.curve = w.predictors[o.engine].Curve(d, &o.pool, f.lengths, tokens)
		f.rate(o)
	})
	var out []option
	for i := range all {
		all[i].index = i
		if o := &all[i]; o.curve.Largest > 0 {
			out = append(out, *o)
		} else {
			f.note(o, i)
		}
	}
	return out, err
}

// severalServers reports whether a plan is copies of a smaller one that exchange nothing: the replicas of a dense model, or
// the replicas around each copy of the experts.
func severalServers(p *plan.Plan) bool {
	if p.Experts.EP == 0 {
		return p.Attention.DP > 1
	}
	return p.Experts.DP > 1 && p.Attention.DP%p.Experts.DP == 0
}

// copies makes a plan one of so many copies of its servers.
func copies(p *plan.Plan, n int) {
	p.Attention.DP *= n
	p.Experts.DP *= n
}

// note remembers a pool that does not fit.
func (f *field) note(o *option, index int) {
	d := &f.templates[o.engine]
	m := f.workers[0].predictors[o.engine].Memory(d, &o.pool, f.lengths)
	f.memory[o.pool.Role].Note(&o.pool.Plan, index, m.Total(), m.Total()-d.Assume.Usable(o.pool.System.Memory.GiB))
}

// each gives the numbers 0..n-1 to the workers.
func (f *field) each(n int, do func(w *worker, i int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for _, w := range f.workers {
		wait.Go(func() {
			for f.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(w, i)
			}
		})
	}
	wait.Wait()
	return f.ctx.Err()
}

// rate bounds the requests per second of an instance of a pool: of a prefill pool once, of others under each limit.
func (f *field) rate(o *option) {
	switch {
	case o.curve.Largest == 0:
	case o.pool.Role == deploy.Prefill:
		o.rates = []float64{o.curve.Prefills()}
	default:
		rules := &f.templates[o.engine].Engine
		for _, limit := range f.limits {
			r := 0.0
			switch first := rules.FirstSeconds + o.curve.Own; {
			case first > f.ttft || o.curve.Token[0] > limit && f.lengths.Output > 1:
			case f.o.Objective == Latency:
				r = o.curve.Fastest(first)
			default:
				r = o.curve.Requests(limit, first)
			}
			o.rates = append(o.rates, r)
		}
	}
}

// first is the least that a client waits for its first token.
func (c *contender) first(f *field) float64 {
	rules := &f.templates[c.decode.engine].Engine
	if c.prefill == nil {
		return rules.FirstSeconds + c.decode.curve.Own
	}
	return rules.FirstSeconds + c.prefill.curve.Own + rules.HandoverSeconds
}

// most bounds the request rate under a limit on the time per output token.
func (c *contender) most(f *field, limit int) float64 {
	first := c.first(f)
	switch {
	case c.prefill == nil:
		return c.decode.rates[limit]
	case first > f.ttft:
		return 0
	case f.o.Objective == Latency:
		return c.decode.curve.Fastest(first)
	}
	return min(float64(c.counts[1])*c.decode.curve.Requests(f.limits[limit], first), float64(c.counts[0])*c.prefill.rates[0])
}

// deployment is the contender with a batch.
func (c *contender) deployment(f *field, batch plan.Batch) deploy.Deployment {
	d := f.templates[c.decode.engine]
	decode := c.decode.pool
	decode.Count = c.counts[1]
	decode.Plan.Batch = batch
	d.Pools = []deploy.Pool{decode}
	if c.prefill != nil {
		prefill := c.prefill.pool
		prefill.Count = c.counts[0]
		prefill.Plan.Batch.Size = d.Engine.PerStep(f.lengths.Uncached()) // as many as a step holds
		d.Pools = []deploy.Pool{prefill, decode}
	}
	return d
}

// load is the closed loop that fills the batches of the deployment; for the shortest request, one client.
func (w *weighed) load(d *deploy.Deployment) workload.Load {
	l := workload.Load{Lengths: w.field.lengths, Clients: d.Clients()}
	if w.field.o.Objective == Latency {
		l.Clients = 1
	}
	return l
}

// reason says why a field has nothing.
func (f *field) reason() string {
	switch {
	case f.mode == Disaggregated && f.gpus < 2:
		return "two pools need at least two processors"
	case f.mode == Aggregated && f.space.prefill.System != f.space.decode.System:
		return "one pool has one kind of processor, but there is a system for decode"
	case f.plans == 0:
		return fmt.Sprintf("no valid way to split %s over %d processors", f.base.Model.Name, f.gpus)
	}
	var parts []string
	for role, r := range f.rejected() {
		if text := f.problem(deploy.Role(role)).Reason(&r); text != "" {
			parts = append(parts, text)
		}
	}
	if f.refused > 0 {
		parts = append(parts, fmt.Sprintf("no engine can run %d of %d plans", f.refused, f.plans))
	}
	return strings.Join(parts, "; ")
}

// rejected is what stood in the way of pools of each role.
func (f *field) rejected() [3]search.Result {
	var out [3]search.Result
	for role := range out {
		out[role] = search.Result{Plans: f.plans, Procs: f.gpus, Instances: 1, Rejected: search.Rejections{Memory: f.memory[role]}}
	}
	out[deploy.Both].Rejected.Latency, out[deploy.Both].Rejected.FirstToken = f.late, f.tooLate
	if f.mode == Disaggregated {
		out[deploy.Both] = search.Result{Plans: f.plans, Procs: f.gpus}
		out[deploy.Decode].Rejected.Latency = f.late
		out[deploy.Prefill].Rejected.Latency = f.tooLate
	}
	return out
}
