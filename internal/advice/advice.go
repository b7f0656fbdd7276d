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
	"sync"

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
	Tariff      hardware.Tariff
	Workers     int

	// Foremost: only the first of the ranked deployments is asked for, and not the frontier.
	Foremost bool

	// Demand is simulated; nil: the closed form decides.
	Demand *Demand
	// Progress reports progress: parts of the work added and parts done.
	Progress func(parts, done int)
	// Phase tells what begins.
	Phase func(name string)
	// Sofar is given what is simulated while the rest still is, first without any deployment.
	Sofar func(*Advice)

	tightened  [2]float64 // factors of the limits on TTFT and TPOT; 0: none
	exhaustive bool       // disables pruning, so that tests can verify it
	rough      bool       // results only start another search: they are those of the closed form
	spares     bool       // those with the least energy in closed form are simulated
}

// Tell tells the progress of a search: its phase, the parts of that and those done, one at a time.
func (o *Options) Tell(tell func(phase string, parts, done int)) {
	var mu sync.Mutex
	phase, parts, done := "searching", 0, 0
	o.Phase = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		phase, parts, done = name, 0, 0
		tell(phase, parts, done)
	}
	o.Progress = func(more, ended int) {
		mu.Lock()
		defer mu.Unlock()
		parts, done = parts+more, done+ended
		tell(phase, parts, done)
	}
}

func OptionsOf(l *question.Loaded, engines []*engine.Engine) Options {
	return Options{
		Search: l.Search, GPUsPerNode: l.GPUsPerNode, Engines: engines,
		EachEngine: l.Question.Engine == engine.Each,
		Redundant:  search.Range{High: l.Redundant}, Drafts: search.Range{High: l.Drafts}, PerHour: l.PerHour, Watts: l.Watts,
		Tariff:   l.Tariff,
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
	Dots     []Dot       // all that were weighed, also those that were left out
	Pools    []Alone     // prefill pools, then decode pools, each best first; only on request
	Reasons  []string    // why a mode has no deployment
	Notes    []string    // how the rows were priced
	Nearest  []Near      // changes that have an answer, where there is none
	Tried    []Tried     // verdicts on deployments that practitioners would try; only on request
	Launch   Launching
	Partial  bool // interrupted: the best so far
	// Limited are the best under each of several power limits, from the first on.
	Limited []Candidate
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
	feed    *feed    // of what is simulated; nil: nobody listens
}

// Give ranks the deployments that a question asks for.
func Give(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	if !l.Assumptions.Engine {
		return nil, errors.New("assume: a plan ranks what the clients of an engine see, which these assumptions leave out; run searches under them, or say reference,engine=true")
	}
	if o.Objective == MinGPUs || o.Objective == Energy || o.Chance > 0 || len(l.Shares) > 0 || len(l.SearchedLimits()) > 0 {
		o.Sofar = nil // of several searches one has the answer
	}
	got, err := underLimits(ctx, l, o)
	if got != nil {
		got.addNotes()
		got.addPrices(l)
		got.judge(l, &o)
	}
	if err == nil && len(got.Ranked) == 0 && !got.Partial && len(l.Shares) == 0 {
		got.Nearest = append(nearest(ctx, l), got.Nearest...)
	}
	return got, err
}

func advise(ctx context.Context, l *question.Loaded, o Options) (got *Advice, err error) {
	if len(l.Shares) > 0 {
		return giveFleet(ctx, l, o)
	}
	o.Demand = o.demand()
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
		base: l.Deployment(), lengths: l.Lengths, limits: o.limits(l.Limits()), prefill: problem(l.Prefill), decode: problem(l.Decode),
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

// fewest finds the smallest number of processors that serves the rate: in closed form, and of those
// from there on the first that does so in a simulation.
func (a *adviser) fewest() (*Advice, error) {
	rough := a.o.rough
	a.o.rough = true
	got, err := a.fewestRough()
	a.o.rough = rough
	if err != nil || rough || len(got.Ranked) == 0 || got.Partial {
		return got, err
	}
	for n := got.Ranked[0].Procs; n <= a.o.GPUs; n++ {
		if got, err = a.serves(n); err != nil || len(got.Ranked) > 0 {
			return got, err
		}
	}
	return a.tooFew(got), nil
}

// serves is what serves the rate on a number of processors.
func (a *adviser) serves(n int) (*Advice, error) {
	got, err := a.searchOn(n)
	if err == nil {
		got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Requests < a.o.Rate })
		if got.Partial && len(got.Ranked) == 0 {
			err = a.ctx.Err()
		}
	}
	return got, err
}

// tooFew says that even the most processors, of which this is the last answer, do not serve the
// rate.
func (a *adviser) tooFew(last *Advice) *Advice {
	reason := fmt.Sprintf("no deployment on up to %d GPUs serves %s requests per second", a.o.GPUs, number.Plain(a.o.Rate, 4))
	if last != nil && len(last.Frontier) > 0 {
		reason += fmt.Sprintf("; %d of them serve %s", a.o.GPUs, number.Plain(last.Frontier[len(last.Frontier)-1].Requests, 4))
	}
	return &Advice{Reasons: []string{reason}}
}

// fewestRough bisects; throughput never falls with more processors, since some may stay spare.
func (a *adviser) fewestRough() (*Advice, error) {
	var last, best *Advice
	low, high := 0, 1 // low does not serve the rate, high may
	for best == nil && low < a.o.GPUs {
		high = min(high, a.o.GPUs)
		got, err := a.serves(high)
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
		got, err := a.serves(mid)
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
		if n := a.wholeNodes(high); n > high {
			return a.serves(n)
		}
		return best, nil
	}
	return a.tooFew(last), nil
}

// searchOn searches a given number of processors; when interrupted it returns what it has so far.
func (a *adviser) searchOn(gpus int) (*Advice, error) {
	f, err := a.find(gpus)
	if err != nil {
		return nil, err
	}
	return f.advice(a, gpus)
}

type found struct {
	ranked, frontier []weighed
	dots             []Dot
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
		out.dots = append(out.dots, f.dots...)
	}
	if out.partial && len(out.ranked) == 0 {
		return out, a.ctx.Err()
	}
	return out, nil
}

// advice turns the best results into candidates with all their figures, which are simulated unless
// they only start another search.
func (f *found) advice(a *adviser, gpus int) (*Advice, error) {
	out := Advice{Dots: f.dots, Pools: f.pools, Reasons: f.reasons, Notes: f.notes, Partial: f.partial}
	ranked, frontier := f.ranked, pareto(f.frontier)
	if a.o.Foremost {
		frontier = nil
	}
	if !a.o.rough {
		a.begin(f, gpus)
		var err error
		if a.o.spares {
			if ranked, err = a.sparing(ranked, gpus); err != nil {
				return nil, err
			}
		}
		if ranked, frontier, err = a.simulate(ranked, frontier); err != nil {
			return nil, err
		}
		if out.Partial = out.Partial || a.ctx.Err() != nil; out.Partial && len(ranked) == 0 {
			return nil, a.ctx.Err()
		}
		frontier = pareto(frontier)
	}
	if err := a.list(&out, rank(ranked, a.o.Top), frontier, gpus); err != nil {
		return nil, err
	}
	return &out, nil
}

// rank keeps the top results, each layout once, and the best of each mode in any case.
func rank(all []weighed, top int) []weighed {
	slices.SortStableFunc(all, func(x, y weighed) int { return better(&x, &y) })
	var out []weighed
	modes, layouts := map[Mode]bool{}, map[identity]bool{}
	for _, w := range all {
		key := w.field.layout(w.contender)
		if layouts[key] {
			continue // behind another engine, which serves more
		}
		layouts[key] = true
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
	d := w.launched()
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
func (c *Candidate) describe(p *serving.Predictor, tariff hardware.Tariff) (err error) {
	d, n := &c.Deployment, c.Load.Lengths
	trusted := p.Confidence(d, c.Load, &c.Prediction)
	c.Trusted, c.Held = &trusted, 0
	for phase := range op.PhaseCount {
		pool, bare := d.Of(phase), d.Bare(phase, c.Load)
		if c.steps[phase], err = p.Step(d, phase, &bare, n); err != nil {
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
	c.Draw(d, c.steps, tariff)
	c.lengthen(p)
	return nil
}

// lengthen lets servers take requests up to the model's length, or as long as the cache of every
// pool has room for.
func (c *Candidate) lengthen(p *serving.Predictor) {
	d := &c.Deployment
	longest := d.Model.Positions
	for i := range d.Pools {
		tokens, err := p.CacheTokens(d, &d.Pools[i], c.Load.Lengths)
		if err != nil {
			return // a request has no room, which is reported elsewhere
		}
		if room := int(tokens) / blockTokens * blockTokens; tokens > 0 && (longest == 0 || room < longest) {
			longest = room
		}
	}
	d.Context, d.Longest = max(longest, d.MaxContext), longest == d.Model.Positions
}

// blockTokens rounds the longest request, so that few blocks more or less do not show.
const blockTokens = 1024

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
