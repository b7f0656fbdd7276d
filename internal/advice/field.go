package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
	"throughline/workload"
)

// field is all deployments of one mode on a number of processors. They are weighed in two steps: the bare steps of every
// pool bound what its clients may see at best, and what its bound does not rule out is predicted.
type field struct {
	*stock
	gpus int

	prefills, decodes []*option
	groups            [][][]*option // by engine: prefill pools of one size together, those first that do the most on a processor
	density           []float64     // by engine: the most requests per second that a processor prefills
	dense             []int         // decode pools, those first that decode the most on a processor

	tracker

	plans   int                 // looked at
	refused int                 // of them that no engine can run
	memory  [3]search.Rejection // by role
	lets    [3]string           // share of the memory with which the nearest of them would fit
}

// option is a pool that a deployment may have: a plan behind an engine, and the bounds of its steps.
type option struct {
	engine int
	pool   deploy.Pool // with one instance
	curve  serving.Curve
	rates  []float64 // bounds on its requests per second
	held   float64   // bytes of a processor, of a pool that does not fit
	over   float64   // bytes that are too much
	lets   string    // share of the memory with which it would fit
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

// weighed is a contender at a batch under a closed loop, and what its clients see.
type weighed struct {
	field     *field
	contender *contender
	batch     plan.Batch
	clients   int
	seen      serving.Prediction
}

// newField prepares the deployments of a mode on so many processors.
func (a *adviser) newField(mode Mode, gpus int) (*field, error) {
	s, err := a.stockOf(mode)
	if err != nil {
		return nil, err
	}
	f := &field{stock: s, gpus: gpus, tracker: newTracker(len(s.limits), max(1, a.o.Top))}
	if err := f.enter(); err != nil {
		return nil, err
	}
	f.dense = make([]int, len(f.decodes))
	for i := range f.dense {
		f.dense[i] = i
	}
	each := func(i int) float64 { d := f.decodes[i]; return d.rates[len(d.rates)-1] / float64(d.curve.Procs) }
	slices.SortStableFunc(f.dense, func(i, j int) int { return cmp.Compare(each(j), each(i)) })
	return f, nil
}

// enter lists the pools.
func (f *field) enter() (err error) {
	if f.mode == Disaggregated {
		if f.prefills, err = f.options(deploy.Prefill, f.instances(0)); err != nil {
			return err
		}
		f.group()
	}
	roles := f.roles()
	if len(roles) == 0 {
		return nil
	}
	f.decodes, err = f.options(roles[len(roles)-1], f.instances(len(roles)-1))
	return err
}

// roles are those of the pools.
func (f *field) roles() []deploy.Role {
	switch {
	case f.mode == Disaggregated:
		return []deploy.Role{deploy.Prefill, deploy.Decode}
	case f.space.prefill.System != f.space.decode.System:
		return nil // one pool has one kind of processor
	}
	return []deploy.Role{deploy.Both}
}

// group puts the prefill pools of one engine and size together, the fastest first.
func (f *field) group() {
	slices.SortStableFunc(f.prefills, func(a, b *option) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.curve.Procs, b.curve.Procs), cmp.Compare(b.rates[0], a.rates[0]))
	})
	f.groups, f.density = make([][][]*option, len(f.templates)), make([]float64, len(f.templates))
	for first := 0; first < len(f.prefills); {
		p, last := f.prefills[first], first
		for last < len(f.prefills) && f.prefills[last].engine == p.engine && f.prefills[last].curve.Procs == p.curve.Procs {
			last++
		}
		f.groups[p.engine] = append(f.groups[p.engine], f.prefills[first:last])
		f.density[p.engine] = max(f.density[p.engine], p.density())
		first = last
	}
	for _, groups := range f.groups {
		slices.SortStableFunc(groups, func(a, b []*option) int { return cmp.Compare(b[0].density(), a[0].density()) })
	}
}

// density is the requests per second that a processor of a prefill pool prefills at most.
func (o *option) density() float64 { return o.rates[0] / float64(o.curve.Procs) }

// instances are the sizes of an instance of a pool.
func (f *field) instances(pool int) []int {
	switch {
	case f.pools != nil:
		return f.pools[pool : pool+1]
	case f.space.sizes != nil:
		return f.space.sizes
	case f.mode == Aggregated:
		return sizes(f.gpus, f.o.GPUsPerNode)
	case f.o.PrefillGPUs > 0:
		return sizes([...]int{f.o.PrefillGPUs, f.gpus - f.o.PrefillGPUs}[pool], f.o.GPUsPerNode)
	}
	return sizes(f.gpus-1, f.o.GPUsPerNode)
}

// options are the pools of a role on instances of the given sizes.
func (f *field) options(role deploy.Role, sizes []int) ([]*option, error) {
	lots, err := f.lots(role, sizes)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, lot := range lots {
		f.plans, f.refused, all = f.plans+lot.plans, f.refused+lot.refused, all+len(lot.options)
	}
	out, index := make([]*option, 0, all), 0
	for i, lot := range lots {
		for k := range lot.options {
			o := &lot.options[k]
			o.index = index // on more processors it has the same, since what there is on fewer comes first
			index++
			switch {
			case o.curve.Largest == 0:
				f.note(o)
			case f.mode == Aggregated && f.searched():
				out = append(out, f.copies(o, f.fitting(o, sizes[i])))
			default:
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// note remembers a pool that does not fit.
func (f *field) note(o *option) {
	m := &f.memory[o.pool.Role]
	if m.Note(&o.pool.Plan, o.index, o.held, o.over); m.Nearest == o.pool.Plan {
		f.lets[o.pool.Role] = o.lets
	}
}

// first is the least that a client waits for its first token.
func (c *contender) first(f *field) float64 {
	rules := &f.templates[c.decode.engine].Engine
	if c.prefill == nil {
		return rules.Entry(f.lengths.Input, false) + c.decode.curve.Own
	}
	return rules.Entry(f.lengths.Input, true) + c.prefill.curve.Own + rules.HandoverSeconds
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
	// Launch commands tell servers how many requests to run, so that they keep no memory for the logits of more.
	d.Told.Sequences = f.o.Engines[c.decode.engine].Sequences(&d, &d.Pools[len(d.Pools)-1])
	d.Engine.Sequences = d.Told.Sequences
	return d
}

// at predicts a contender at a batch, under the clients that fill it; for the shortest request, under one.
func (f *field) at(w *worker, c *contender, batch plan.Batch) weighed {
	d := c.deployment(f, batch)
	clients := d.Clients()
	if f.o.Objective == Latency {
		clients = 1
	}
	return f.loaded(w, c, &d, clients)
}

// under predicts a contender under a number of clients, at the smallest batch that holds them.
func (f *field) under(w *worker, c *contender, clients int) weighed {
	d := c.deployment(f, plan.Batch{Count: 1, Size: 1})
	size := max(c.decode.pool.Plan.Overlap.Least(), (clients+d.Clients()-1)/d.Clients())
	d = c.deployment(f, plan.Batch{Count: 1, Size: size})
	return f.loaded(w, c, &d, clients)
}

// loaded predicts a deployment of a contender; where it has no room for a request, nothing is served.
func (f *field) loaded(w *worker, c *contender, d *deploy.Deployment, clients int) weighed {
	out := weighed{field: f, contender: c, batch: d.Of(op.Decode).Plan.Batch, clients: clients}
	if seen, err := w.predictors[c.decode.engine].Predict(d, out.load()); err == nil {
		out.seen = seen
	}
	return out
}

func (w *weighed) load() workload.Load {
	return workload.Load{Lengths: w.field.lengths, Clients: w.clients}
}

// reason says why a field has nothing.
func (f *field) reason() string {
	f.recount()
	switch {
	case f.mode == Disaggregated && f.gpus < 2:
		return "two pools need at least two processors"
	case f.mode == Aggregated && f.space.prefill.System != f.space.decode.System:
		return "one pool has one kind of processor, but there is a system for decode"
	case f.mode == Disaggregated && f.o.PrefillGPUs >= f.gpus:
		return fmt.Sprintf("a prefill pool of %d processors leaves none of %d to decode", f.o.PrefillGPUs, f.gpus)
	case f.plans == 0:
		return fmt.Sprintf("no valid way to split %s over %d processors", f.base.Model.Name, f.gpus)
	}
	var parts []string
	for role, r := range f.rejected() {
		if text := f.problem(deploy.Role(role)).Reason(&r); text != "" {
			if lets := f.lets[role]; lets != "" {
				text += "; with " + lets + " that one does"
			}
			parts = append(parts, text)
		}
	}
	if f.refused > 0 {
		why := ""
		if len(parts) == 0 { // else there are plans that run
			why = f.refusals()
		}
		parts = append(parts, fmt.Sprintf("no engine can run %d of %d plans%s", f.refused, f.plans, why))
	}
	return strings.Join(parts, "; ")
}

// recount looks at all plans there are, where those that no engine runs were passed over.
func (f *field) recount() {
	if !f.oneCopy() {
		return
	}
	f.plans, f.refused = 0, 0
	for pool, role := range f.roles() {
		for _, n := range f.instances(pool) {
			lot := f.list(role, n, false, nil)
			f.plans, f.refused = f.plans+lot.plans, f.refused+lot.refused
		}
	}
}

// refusals are the reasons of the engines for plans that none of them runs, of each the one that stands before the most.
func (f *field) refusals() string {
	counts := make([]map[string]int, len(f.templates))
	for i := range counts {
		counts[i] = map[string]int{}
	}
	for pool, role := range f.roles() {
		for _, n := range f.instances(pool) {
			f.list(role, n, false, func(i int, p *deploy.Pool) {
				for _, why := range f.o.Engines[i].Refuses(&f.templates[i], p) {
					counts[i][why]++
				}
			})
		}
	}
	var out []string
	for i, e := range f.o.Engines {
		reasons := slices.SortedFunc(maps.Keys(counts[i]), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[i][b], counts[i][a]), cmp.Compare(a, b))
		})
		if len(reasons) > 0 {
			out = append(out, fmt.Sprintf("%s: %s (%d of them)", e.Name, reasons[0], counts[i][reasons[0]]))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, "; ")
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
		out[deploy.Prefill].Rejected.FirstToken = f.tooLate
	}
	return out
}
