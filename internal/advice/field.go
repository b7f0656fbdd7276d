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

// field is all deployments of one mode on a number of processors. Bare steps bound what each pool
// can serve; only deployments that these bounds do not rule out are predicted.
type field struct {
	*poolCache
	gpus int

	prefills, decodes []*option
	groups            [][][]*option // by engine and size, densest first
	density           []float64     // by engine: the most requests per second that a processor prefills
	dense             []int         // decode pools, densest first

	tracker

	plans   int                 // considered
	refused int                 // those no engine can run
	memory  [3]search.Rejection // by role
	lets    [3]string           // memory share with which the nearest would fit
}

// option is a pool that a deployment may use: a plan on an engine, and the bounds of its steps.
type option struct {
	engine int
	pool   deploy.Pool // with one instance
	curve  serving.Curve
	rates  []float64 // bounds on its requests per second
	held   float64   // bytes per processor, if it does not fit
	over   float64   // bytes too many
	lets   string    // memory share with which it would fit
	index  int
}

// contender is a deployment without its batch.
type contender struct {
	prefill, decode *option // nil prefill: one pool for both phases
	counts          [2]int  // instances of prefill and decode
}

// before breaks ties.
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
	simulated bool // seen is, and not in closed form
}

// leastKept is how many layouts are simulated at least: fewer rows show no other first one.
const leastKept = 5

// kept is how many deployments of a mode stay: the rows or, where simulations are still to rank
// them, those of each engine.
func (a *adviser) kept() int {
	if a.o.rough {
		return max(1, a.o.Top)
	}
	n := max(leastKept, a.o.Top)
	if a.o.spares {
		n = max(n, considered)
	}
	if !a.o.EachEngine {
		n *= max(1, len(a.o.Engines))
	}
	return n
}

func (a *adviser) newField(mode Mode, gpus int) (*field, error) {
	s, err := a.poolsOf(mode)
	if err != nil {
		return nil, err
	}
	f := &field{poolCache: s, gpus: gpus, tracker: newTracker(len(s.limits), a.kept())}
	if err := f.listPools(); err != nil {
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

func (f *field) listPools() (err error) {
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

func (f *field) roles() []deploy.Role {
	switch {
	case f.mode == Disaggregated:
		return []deploy.Role{deploy.Prefill, deploy.Decode}
	case f.space.prefill.System != f.space.decode.System:
		return nil // one pool has one kind of processor
	}
	return []deploy.Role{deploy.Both}
}

// group collects the prefill pools of each engine and size, fastest first.
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

// density bounds the requests per second that a processor of a prefill pool prefills.
func (o *option) density() float64 { return o.rates[0] / float64(o.curve.Procs) }

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

func (f *field) options(role deploy.Role, sizes []int) ([]*option, error) {
	lots, err := f.poolSets(role, sizes)
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
			o.index = index // independent of the processors: those that fit on fewer come first
			index++
			switch {
			case o.curve.Largest == 0:
				f.recordUnfit(o)
			case f.mode == Aggregated && f.searched():
				out = append(out, f.copies(o, f.instanceCount(o, sizes[i])))
			default:
				out = append(out, o)
			}
		}
	}
	return out, nil
}

func (f *field) recordUnfit(o *option) {
	m := &f.memory[o.pool.Role]
	if m.Note(&o.pool.Plan, o.index, o.held, o.over); m.Nearest == o.pool.Plan {
		f.lets[o.pool.Role] = o.lets
	}
}

func (c *contender) minTTFT(f *field) float64 {
	rules := &f.templates[c.decode.engine].Engine
	if c.prefill == nil {
		return rules.Entry(f.lengths.Input, false) + c.decode.curve.Own
	}
	return rules.Entry(f.lengths.Input, true) + c.prefill.curve.Own + rules.HandoverSeconds
}

func (c *contender) maxRate(f *field, limit int) float64 {
	first := c.minTTFT(f)
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
	// Launch commands cap running requests, so servers reserve no logits memory beyond them.
	d.ServerOptions.Sequences = f.o.Engines[c.decode.engine].Sequences(&d, &d.Pools[len(d.Pools)-1])
	d.Engine.Sequences = d.ServerOptions.Sequences
	return d
}

// launched is the deployment as its launch command starts it: what an engine captures depends on
// the requests that may run, which a search does not know yet.
func (w *weighed) launched() deploy.Deployment {
	d := w.contender.deployment(w.field, w.batch)
	e := w.field.o.Engines[w.contender.decode.engine]
	for i := range d.Pools {
		d.Pools[i].Plan.Behaviour = e.Behaviour(&d, &d.Pools[i])
	}
	return d
}

// at predicts a contender with the clients that fill a batch or, for latency, with one.
func (f *field) at(w *worker, c *contender, batch plan.Batch) weighed {
	d := c.deployment(f, batch)
	clients := d.Clients()
	if f.o.Objective == Latency {
		clients = 1
	}
	return f.loaded(w, c, &d, clients)
}

// under predicts a contender at the smallest batch that holds the clients.
func (f *field) under(w *worker, c *contender, clients int) weighed {
	d := c.deployment(f, plan.Batch{Count: 1, Size: 1})
	size := max(c.decode.pool.Plan.Overlap.Least(), (clients+d.Clients()-1)/d.Clients())
	d = c.deployment(f, plan.Batch{Count: 1, Size: size})
	return f.loaded(w, c, &d, clients)
}

// loaded predicts a deployment; one without room for a request serves nothing.
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

// reason explains why a field is empty.
func (f *field) reason() string {
	f.recount()
	switch {
	case f.mode == Disaggregated && f.gpus < 2:
		return "two pools need at least two GPUs"
	case f.mode == Aggregated && f.space.prefill.System != f.space.decode.System:
		return "one pool has one kind of GPU, but there is a system for decode"
	case f.mode == Disaggregated && f.o.PrefillGPUs >= f.gpus:
		return fmt.Sprintf("a prefill pool of %d GPUs leaves none of %d to decode", f.o.PrefillGPUs, f.gpus)
	case f.plans == 0:
		return fmt.Sprintf("no valid way to split %s over %d GPUs", f.base.Model.Name, f.gpus)
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
		if len(parts) == 0 { // otherwise some plans run
			why = f.refusals()
		}
		parts = append(parts, fmt.Sprintf("no engine can run %d of %d plans%s", f.refused, f.plans, why))
	}
	return strings.Join(parts, "; ")
}

// recount includes plans that were skipped because no engine runs them.
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

// refusals gives the most frequent reason of each engine for plans that none runs.
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

// rejected counts what ruled out the pools of each role.
func (f *field) rejected() [3]search.Result {
	var out [3]search.Result
	for role := range out {
		out[role] = search.Result{Plans: f.plans, Procs: f.gpus, Instances: 1, Rejected: search.Rejections{Memory: f.memory[role]}}
	}
	out[deploy.Both].Rejected.Latency, out[deploy.Both].Rejected.FirstToken = f.overTPOT, f.overTTFT
	if f.mode == Disaggregated {
		out[deploy.Both] = search.Result{Plans: f.plans, Procs: f.gpus}
		out[deploy.Decode].Rejected.Latency = f.overTPOT
		out[deploy.Prefill].Rejected.FirstToken = f.overTTFT
	}
	return out
}
