// Package advice recommends what to launch on a set of processors: it ranks aggregated and
// disaggregated deployments by what their clients see.
package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
	"throughline/workload"
)

// Mode is how the phases share processors.
type Mode = question.Mode

const (
	Aggregated    = question.Aggregated
	Disaggregated = question.Disaggregated
	Both          = question.BothModes
)

// Objective is what the best deployment is best at.
type Objective = question.Objective

const (
	Throughput = question.Throughput
	Cost       = question.Cost
	Latency    = question.Latency
	MinGPUs    = question.MinGPUs
	Energy     = question.Energy
)

// Options refine a search beyond what the files of a question say.
type Options struct {
	question.Search
	GPUsPerNode int
	Engines     []*engine.Engine // the best of them that can run a deployment prices it
	EachEngine  bool             // price with each of them, in separate rows
	Redundant   search.Range     // redundant experts to try
	Drafts      search.Range
	Overlaps    []plan.Overlap // to try for the exchange between experts; nil: none
	PerHour     float64        // dollars per processor and hour; 0: unknown
	Watts       float64        // power of a processor; 0: unknown
	Workers     int

	// Demand is simulated; nil: the closed form decides.
	Demand *Demand
	// Progress reports progress: parts of the work added and parts done.
	Progress func(parts, done int)

	exhaustive bool // disables pruning, so that tests can verify it
}

// OptionsOf returns the options that a question sets.
func OptionsOf(l *question.Loaded, engines []*engine.Engine) Options {
	return Options{
		Search: l.Search, GPUsPerNode: l.GPUsPerNode, Engines: engines,
		EachEngine: l.Question.Engine == engine.Each,
		Redundant:  search.Range{High: l.Redundant}, Drafts: search.Range{High: l.Drafts}, PerHour: l.PerHour, Watts: l.Watts,
		Overlaps: overlaps(l.Overlap),
	}
}

// overlaps lists the overlaps that a search tries.
func overlaps(name string) []plan.Overlap {
	if name == question.AnyOverlap {
		return []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}
	}
	if o, ok := plan.FindOverlap(name); ok && o != plan.NoOverlap {
		return []plan.Overlap{o}
	}
	return nil
}

// Candidate is one deployment, loaded with as many clients as fill its batches.
type Candidate struct {
	Deployment deploy.Deployment
	Load       workload.Load
	// Record describes it; with one pool for both phases, by its decode step.
	result.Record

	steps [op.PhaseCount]*estimate.Contents // bare steps of each phase
}

// PerGPU returns output tokens per second and processor, counting spare processors.
func (c *Candidate) PerGPU() float64 { return c.Tokens() / float64(c.Procs) }

// Advice is the result of a search.
type Advice struct {
	Ranked   []Candidate // best first
	Frontier []Candidate // from the lowest latency to the highest throughput
	Pools    []Alone     // prefill pools, then decode pools, each best first; only on request
	Reasons  []string    // why a mode has no deployment
	Notes    []string    // how the rows were priced
	Tried    []Tried     // verdicts on deployments that practitioners would try; only on request
	Launch   Launching
	Partial  bool // interrupted: the best so far
}

// space bounds the deployments to search.
type space struct {
	base            deploy.Deployment // everything but its pools
	lengths         workload.Lengths
	limits          workload.Limits
	prefill, decode search.Problem // systems and candidates of the pools; a pool for both phases uses decode
	pools           *[2]int        // processors of each pool, one instance each, if given
	sizes           []int          // of an instance of a single-phase pool; nil: those that fit nodes
	batches         []plan.Batch   // to consider; nil: all
}

// adviser holds the state of one search.
type adviser struct {
	ctx context.Context
	space
	o       Options
	caches  map[Mode]*poolCache
	paid    paid     // what the processors of a fleet cost
	worth   float64  // weight of a request per second relative to other kinds of processors
	dropped []string // engines left out, and why
}

// Give ranks the deployments that a question asks for.
func Give(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	if !l.Assumptions.Engine {
		return nil, errors.New("assume: a plan ranks what the clients of an engine see, which these assumptions leave out; run searches under them, or say reference,engine=true")
	}
	got, err := advise(ctx, l, o)
	if got != nil {
		got.addNotes()
	}
	return got, err
}

func advise(ctx context.Context, l *question.Loaded, o Options) (got *Advice, err error) {
	if len(l.Shares) > 0 {
		return giveFleet(ctx, l, o)
	}
	a := newAdviser(ctx, l, o)
	if err := a.checkSettings(); err != nil {
		return nil, err
	}
	switch {
	case o.Demand != nil:
		got, err = a.hold()
	case o.Objective == MinGPUs:
		got, err = a.fewest()
	default:
		got, err = a.searchOn(o.GPUs)
	}
	if got != nil {
		got.Notes = a.dropped
	}
	return got, err
}

func newAdviser(ctx context.Context, l *question.Loaded, o Options) *adviser {
	problem := func(sys *hardware.System) search.Problem {
		return search.Problem{
			Problem: estimate.Problem{Model: l.Shape, Settings: l.Settings, System: sys, Assume: l.Assumptions},
			// Engines do not route to the shared experts: every processor has them.
			SharedPerCard: true,
		}
	}
	a := &adviser{ctx: ctx, o: o, worth: 1, space: space{
		base: l.Deployment(), lengths: l.Lengths, limits: l.Limits(), prefill: problem(l.Prefill), decode: problem(l.Decode),
	}}
	a.base.GPUsPerNode, a.base.Fitted = o.GPUsPerNode, l.Fit(l.Lengths)
	a.base.ServerOptions.MemoryShare = cmp.Or(a.base.ServerOptions.MemoryShare, l.Assumptions.MemoryFraction) // launch commands pass it
	for _, p := range []*search.Problem{&a.prefill, &a.decode} {
		p.Redundant, p.Overlaps, p.Accept = o.Redundant, o.Overlaps, a.worthwhile
	}
	a.decode.Drafts = o.Drafts
	a.dropUnmeasured()
	return a
}

// bothPools returns the deployment with a pool on the system of each phase, without plans.
func (a *adviser) bothPools() deploy.Deployment {
	d := a.base
	d.Pools = []deploy.Pool{{Role: deploy.Prefill, System: a.prefill.System, Count: 1}, {Role: deploy.Decode, System: a.decode.System, Count: 1}}
	return d
}

// checkSettings returns an error if no engine accepts the server settings, whatever the plan.
func (a *adviser) checkSettings() error {
	d := a.bothPools()
	var why []string
	refused := false
	for _, e := range a.o.Engines {
		maker, settings := e.Takes(&d)
		if len(maker)+len(settings) == 0 {
			return nil
		}
		refused = refused || len(settings) > 0
		why = append(why, fmt.Sprintf("%s: %s", e.Name, strings.Join(append(maker, settings...), "; ")))
	}
	if !refused {
		return nil // unsupported chips are not a mistake in the settings
	}
	return &document.Error{Problems: []document.Problem{{Path: "engine", Message: strings.Join(why, "; ")}}}
}

// dropUnmeasured drops engines priced by stand-in attention kernels if others have measured ones.
func (a *adviser) dropUnmeasured() {
	d := a.bothPools()
	var runs []deploy.Deployment
	for _, e := range a.o.Engines {
		if maker, settings := e.Takes(&d); len(maker)+len(settings) == 0 {
			runs = append(runs, e.Apply(d))
		}
	}
	kept, left := serving.Measured(runs)
	if a.dropped = append(serving.Unsupported(a.o.Engines, &d), left...); len(left) == 0 {
		return
	}
	a.o.Engines = slices.DeleteFunc(slices.Clone(a.o.Engines), func(e *engine.Engine) bool {
		return !slices.ContainsFunc(kept, func(d deploy.Deployment) bool { return d.Engine.Name == e.Name })
	})
}

// worthwhile rejects plans with more redundant experts than help: two per rank beyond what it must
// hold balance load nearly as well as any number. With even routing there is nothing to balance.
func (a *adviser) worthwhile(p *plan.Plan) bool {
	if p.Redundant == 0 {
		return true
	}
	ep, routed, more := p.Experts.EP, a.base.Model.Experts.Routed, 2
	if v := a.base.Visited; v == nil || v.Even() {
		more = 0
	}
	return ep > 1 && (routed+p.Redundant)/ep <= (routed+ep-1)/ep+more
}

// fewest bisects for the smallest number of processors that serves the rate; throughput never falls
// with more processors, since some may stay spare.
func (a *adviser) fewest() (*Advice, error) {
	serves := func(n int) (*Advice, error) {
		got, err := a.searchOn(n)
		if err == nil {
			got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Requests < a.o.Rate })
			if got.Partial && len(got.Ranked) == 0 {
				err = a.ctx.Err()
			}
		}
		return got, err
	}
	var last, best *Advice
	low, high := 0, 1 // low does not serve the rate, high may
	for best == nil && low < a.o.GPUs {
		high = min(high, a.o.GPUs)
		got, err := serves(high)
		switch {
		case err != nil || got.Partial:
			return got, err
		case len(got.Ranked) > 0:
			best = got
		default:
			last, low, high = got, high, 2*high
		}
	}
	for best != nil && high-low > 1 {
		mid := low + (high-low)/2
		got, err := serves(mid)
		switch {
		case a.ctx.Err() != nil:
			best.Partial = true
			return best, nil
		case err != nil:
			return nil, err
		case len(got.Ranked) > 0:
			best, high = got, mid
		default:
			low = mid
		}
	}
	if best != nil {
		return best, nil
	}
	reason := fmt.Sprintf("no deployment on up to %d processors serves %s requests per second", a.o.GPUs, number.Plain(a.o.Rate, 4))
	if last != nil && len(last.Frontier) > 0 {
		reason += fmt.Sprintf("; %d of them serve %s", a.o.GPUs, number.Plain(last.Frontier[len(last.Frontier)-1].Requests, 4))
	}
	return &Advice{Reasons: []string{reason}}, nil
}

// searchOn searches a given number of processors; when interrupted it returns what it has so far.
func (a *adviser) searchOn(gpus int) (*Advice, error) {
	f, err := a.find(gpus)
	if err != nil {
		return nil, err
	}
	return f.advice(&a.o, gpus)
}

type found struct {
	ranked, frontier []weighed
	pools            []Alone
	reasons, notes   []string
	partial          bool // interrupted
}

func (a *adviser) find(gpus int) (out found, err error) {
	for _, m := range []Mode{Aggregated, Disaggregated} {
		if a.o.Mode != Both && a.o.Mode != m {
			continue
		}
		f, err := a.newField(m, gpus)
		if err == nil {
			err = f.weigh()
		}
		if err != nil && a.ctx.Err() != nil {
			out.partial = true
			if f != nil {
				out.ranked = append(out.ranked, f.ranked...)
			}
			break
		}
		if err != nil {
			return out, err
		}
		if a.o.Pools > 0 && m == Disaggregated {
			out.pools = f.alone()
		}
		if len(f.ranked) == 0 {
			out.reasons = append(out.reasons, fmt.Sprintf("%s: %s", m, f.reason()))
		}
		out.ranked, out.frontier = append(out.ranked, f.ranked...), append(out.frontier, f.points()...)
	}
	if out.partial && len(out.ranked) == 0 {
		return out, a.ctx.Err()
	}
	return out, nil
}

// advice turns the best results into candidates with all their figures.
func (f *found) advice(o *Options, gpus int) (*Advice, error) {
	out := Advice{Pools: f.pools, Reasons: f.reasons, Notes: f.notes, Partial: f.partial}
	for _, list := range []struct {
		from []weighed
		to   *[]Candidate
	}{{rank(f.ranked, o.Top), &out.Ranked}, {pareto(f.frontier), &out.Frontier}} {
		for _, w := range list.from {
			c := w.field.candidate(&w, gpus)
			if err := c.describe(w.predictor()); err != nil {
				return nil, err
			}
			*list.to = append(*list.to, c)
		}
	}
	return &out, nil
}

// addNotes collects remarks on weights, exchanges and stand-in kernels, each once.
func (a *Advice) addNotes() {
	for _, rows := range [][]Candidate{a.Ranked, a.Frontier} {
		for i := range rows {
			d := &rows[i].Deployment
			texts := engine.Notes(d)
			for _, why := range d.StandIns() {
				texts = append(texts, fmt.Sprintf("rows of %s: %s", d.Engine.Name, why))
			}
			for _, text := range texts {
				if !slices.Contains(a.Notes, text) {
					a.Notes = append(a.Notes, text)
				}
			}
		}
	}
}

// rank keeps the top results, and the best of each mode in any case.
func rank(all []weighed, top int) []weighed {
	slices.SortStableFunc(all, func(x, y weighed) int { return better(&x, &y) })
	var out []weighed
	modes := map[Mode]bool{}
	for _, w := range all {
		if m := w.field.mode; len(out) < max(1, top) || !modes[m] {
			modes[m] = true
			out = append(out, w)
		}
	}
	return out
}

// pareto keeps what no other beats in both TPOT and throughput, lowest TPOT first.
func pareto(all []weighed) []weighed {
	slices.SortStableFunc(all, func(x, y weighed) int {
		return cmp.Or(cmp.Compare(x.seen.TPOT, y.seen.TPOT), cmp.Compare(y.value(), x.value()))
	})
	var out []weighed
	for _, w := range all {
		if len(out) == 0 || w.value() > out[len(out)-1].value()*(1+1e-9) {
			out = append(out, w)
		}
	}
	return out
}

func (a *adviser) candidate(w *weighed, gpus int) Candidate {
	d := w.contender.deployment(w.field, w.batch)
	c := Candidate{Deployment: d, Load: w.load()}
	c.Describe(&d, c.Load)
	c.See(w.seen)
	c.Mode, c.Procs, c.Spare, c.Remark = string(w.field.mode), gpus, gpus-d.Procs(), strings.Join(d.StandIns(), "; ")
	a.value(&c)
	return c
}

// value sets cost and energy per token.
func (a *adviser) value(c *Candidate) {
	p, tokens := a.paid, c.Tokens()
	if p == (paid{}) {
		p = p.and(c.Procs, a.o.PerHour, a.o.Watts)
	}
	if p.perHour > 0 {
		c.DollarsPerMillion = p.perHour / 3600 / tokens * 1e6
	}
	if p.watts > 0 {
		c.TokensPerJoule = tokens / p.watts
	}
}

func (w *weighed) predictor() *serving.Predictor {
	return w.field.workers[0].predictors[w.contender.decode.engine]
}

// describe fills in the figures of each pool.
func (c *Candidate) describe(p *serving.Predictor) (err error) {
	d, n := &c.Deployment, c.Load.Lengths
	trusted := p.Confidence(d, c.Load, &c.Prediction)
	c.Trusted, c.Held = &trusted, 0
	for phase := range op.PhaseCount {
		pool := d.Of(phase)
		if c.steps[phase], err = p.Step(d, phase, bare(d, phase, c.Load), n); err != nil {
			return err
		}
		if phase == op.Prefill && !d.Split() {
			continue
		}
		held, step := p.Memory(d, pool, n), *c.steps[phase]
		s := result.NewSide(phase, pool.System, &step, d.Model.IsMoE())
		step.Plan = pool.Plan // as launched: its step may hold more prompts
		s.Instances, s.Held, s.Usable = pool.Count, held.Total(), d.Usable(pool, &held)
		c.Sides[phase], c.Held = s, max(c.Held, s.Held)
	}
	c.See(c.Prediction)
	return nil
}

// bare returns the plan of a bare step: a prefill step holds the prompts the engine batches, and a
// decode step of a pool for both phases holds its batch.
func bare(d *deploy.Deployment, phase op.Phase, l workload.Load) *plan.Plan {
	pool := d.Of(phase)
	q, most := pool.Under(l.Clients), d.Engine.PerStep(l.Lengths.Uncached())
	switch {
	case pool.Role == deploy.Prefill:
		q.Batch.Size = most
	case phase == op.Prefill:
		q.Batch, q.Drafts = plan.Batch{Count: 1, Size: min(q.Batch.Size, most)}, 0
	}
	return &q
}

// Counts of instances in a pool, and of nodes in an instance, are all tried up to twice these
// values, and this many between successive powers of two beyond.
const (
	mostCounts = 256
	mostNodes  = 64
)

// nextCount returns the next count from n on, independent of the maximum: what is tried on fewer
// processors is also tried on more.
func nextCount(most, n int) int {
	step := max(1, 1<<(bits.Len(uint(n))-1)/most)
	return (n + step - 1) / step * step
}

// sizes lists instance sizes: up to 8, multiples of four or divisors of a node, and whole nodes.
func sizes(gpus, perNode int) []int {
	var out []int
	for n := 1; n <= min(gpus, perNode-1); n++ {
		if n <= 8 || n%4 == 0 || perNode%n == 0 {
			out = append(out, n)
		}
	}
	for nodes := 1; nodes*perNode <= gpus; nodes = nextCount(mostNodes, nodes+1) {
		out = append(out, nodes*perNode)
	}
	return out
}
