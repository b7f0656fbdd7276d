// Package advice answers a platform engineer's question: what to launch on these processors. It looks at aggregated and
// disaggregated deployments behind the engines that can run them, ranks them by what their clients see, and finds the
// frontier between the speed a user sees and the throughput of a processor.
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

// Options are what is asked beyond the files.
type Options struct {
	question.Search
	GPUsPerNode int
	Engines     []*engine.Engine // each deployment is priced with the best of those that can run it
	EachEngine  bool             // or with each of them, in rows of their own
	Redundant   search.Range     // redundant experts to try
	Drafts      search.Range
	Overlaps    []plan.Overlap // of the exchange between experts, to try; nil: none
	PerHour     float64        // dollars per processor and hour; 0: not known
	Watts       float64        // power of a processor; 0: not known
	Workers     int

	// Demand is what deployments are simulated under; nil: the closed form decides.
	Demand *Demand
	// Told hears of parts of the work that there are, and of those that are done; nil: no one listens.
	Told func(parts, done int)

	exhaustive bool // look at everything, for tests of what is left out otherwise
}

// OptionsOf is what a question asks of engines beyond its files.
func OptionsOf(l *question.Loaded, engines []*engine.Engine) Options {
	return Options{
		Search: l.Search, GPUsPerNode: l.GPUsPerNode, Engines: engines,
		EachEngine: l.Question.Engine == engine.Each,
		Redundant:  search.Range{High: l.Redundant}, Drafts: search.Range{High: l.Drafts}, PerHour: l.PerHour, Watts: l.Watts,
		Overlaps: overlaps(l.Overlap),
	}
}

// overlaps are those that a search tries; the empty name is none.
func overlaps(name string) []plan.Overlap {
	if name == question.AnyOverlap {
		return []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}
	}
	if o, ok := plan.FindOverlap(name); ok && o != plan.NoOverlap {
		return []plan.Overlap{o}
	}
	return nil
}

// Candidate is one deployment, under a closed loop of so many clients as fill its batches.
type Candidate struct {
	Deployment deploy.Deployment
	Load       workload.Load
	// Record is all that is said about it. One that does both phases with the same processors is known by its decode.
	result.Record

	steps [op.PhaseCount]*estimate.Contents // bare ones
}

// PerGPU is the output tokens per second of a processor, spare ones included.
func (c *Candidate) PerGPU() float64 { return c.Tokens() / float64(c.Procs) }

// Advice is the answer.
type Advice struct {
	Ranked   []Candidate // the best first
	Frontier []Candidate // from the fastest for a user to the highest throughput
	Pools    []Alone     // of prefill, then of decode, the best by itself first, where they are asked for
	Reasons  []string    // why there is nothing, by mode
	Notes    []string    // what is to know of how the rows were priced
	Tried    []Tried     // what became of deployments that practitioners would try, where that is asked
	Launch   Launching   // what is said of how to start one of them
	Partial  bool        // the search was interrupted: these are the best so far
}

// space is the deployments that are considered.
type space struct {
	base            deploy.Deployment // all but its pools
	lengths         workload.Lengths
	limits          workload.Limits
	prefill, decode search.Problem // systems and candidates of the pools; one that does both has those of decode
	pools           *[2]int        // processors of either pool, one instance each, where they are given
	sizes           []int          // of an instance of a pool of one phase; nil: those that fit nodes
	batches         []plan.Batch   // that are considered; nil: all
}

// adviser holds a question while it is worked on.
type adviser struct {
	ctx context.Context
	space
	o      Options
	stocks map[Mode]*stock
	paid   paid     // of the processors of a fleet
	worth  float64  // by how much a request per second counts, against those of other processors
	left   []string // engines that are not compared, and why
}

// Give answers a question.
func Give(ctx context.Context, l *question.Loaded, o Options) (*Advice, error) {
	if !l.Assumptions.Engine {
		return nil, errors.New("assume: a plan ranks what the clients of an engine see, which these assumptions leave out; run searches under them, or say reference,engine=true")
	}
	got, err := give(ctx, l, o)
	if got != nil {
		got.note()
	}
	return got, err
}

func give(ctx context.Context, l *question.Loaded, o Options) (got *Advice, err error) {
	if len(l.Shares) > 0 {
		return giveFleet(ctx, l, o)
	}
	a := newAdviser(ctx, l, o)
	if err := a.taken(); err != nil {
		return nil, err
	}
	switch {
	case o.Demand != nil:
		got, err = a.hold()
	case o.Objective == MinGPUs:
		got, err = a.fewest()
	default:
		got, err = a.on(o.GPUs)
	}
	if got != nil {
		got.Notes = a.left
	}
	return got, err
}

// newAdviser prepares the answer to a question.
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
	a.base.Told.MemoryShare = cmp.Or(a.base.Told.MemoryShare, l.Assumptions.MemoryFraction) // launch commands tell it
	for _, p := range []*search.Problem{&a.prefill, &a.decode} {
		p.Redundant, p.Overlaps, p.Accept = o.Redundant, o.Overlaps, a.worthwhile
	}
	a.decode.Drafts = o.Drafts
	a.compare()
	return a
}

// either is the deployment on the systems of both phases, without plans.
func (a *adviser) either() deploy.Deployment {
	d := a.base
	d.Pools = []deploy.Pool{{Role: deploy.Prefill, System: a.prefill.System, Count: 1}, {Role: deploy.Decode, System: a.decode.System, Count: 1}}
	return d
}

// taken says what servers are told that no engine takes, whatever the plans.
func (a *adviser) taken() error {
	d := a.either()
	var why []string
	refused := false
	for _, e := range a.o.Engines {
		maker, told := e.Takes(&d)
		if len(maker)+len(told) == 0 {
			return nil
		}
		refused = refused || len(told) > 0
		why = append(why, fmt.Sprintf("%s: %s", e.Name, strings.Join(append(maker, told...), "; ")))
	}
	if !refused {
		return nil // the chips are no one's mistake
	}
	return &document.Error{Problems: []document.Problem{{Path: "engine", Message: strings.Join(why, "; ")}}}
}

// compare leaves out engines whose attention is priced by kernels that stand in for others, where those of others were measured.
func (a *adviser) compare() {
	d := a.either()
	var runs []deploy.Deployment
	for _, e := range a.o.Engines {
		if maker, told := e.Takes(&d); len(maker)+len(told) == 0 {
			runs = append(runs, e.Apply(d))
		}
	}
	kept, left := serving.Measured(runs)
	if a.left = append(serving.Untold(a.o.Engines, &d), left...); len(left) == 0 {
		return
	}
	a.o.Engines = slices.DeleteFunc(slices.Clone(a.o.Engines), func(e *engine.Engine) bool {
		return !slices.ContainsFunc(kept, func(d deploy.Deployment) bool { return d.Engine.Name == e.Name })
	})
}

// worthwhile rules out plans with more redundant experts than help: two more on a rank than it must hold balance the others
// nearly as well as any number does. Where all experts are visited alike, there is nothing to balance.
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

// fewest looks for the smallest number of processors that serves the rate. More of them never serve less, since some may be
// spare: so the number is found by halving.
func (a *adviser) fewest() (*Advice, error) {
	serves := func(n int) (*Advice, error) {
		got, err := a.on(n)
		if err == nil {
			got.Ranked = slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Requests < a.o.Rate })
			if got.Partial && len(got.Ranked) == 0 {
				err = a.ctx.Err()
			}
		}
		return got, err
	}
	var last, best *Advice
	low, high := 0, 1 // the first does not serve it, the second may
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

// on answers on exactly so many processors. Interrupted, it answers with what it has found, if there is anything.
func (a *adviser) on(gpus int) (*Advice, error) {
	f, err := a.find(gpus)
	if err != nil {
		return nil, err
	}
	return f.advice(&a.o, gpus)
}

// found is what a search has found.
type found struct {
	ranked, frontier []weighed
	pools            []Alone
	reasons, notes   []string
	partial          bool // interrupted
}

// find searches either mode.
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

// advice is the best of what was found on so many processors, in full.
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

// note says of the rows, once, what is to be known of their weights and exchanges, and which kernels stand in for others.
func (a *Advice) note() {
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

// rank keeps the best, and the best of either mode in any case.
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

// pareto is what no other beats in both what a user sees and what the processors do, the fastest for a user first.
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

// candidate is what was weighed, in full.
func (a *adviser) candidate(w *weighed, gpus int) Candidate {
	d := w.contender.deployment(w.field, w.batch)
	c := Candidate{Deployment: d, Load: w.load()}
	c.Describe(&d, c.Load)
	c.See(w.seen)
	c.Mode, c.Procs, c.Spare, c.Remark = string(w.field.mode), gpus, gpus-d.Procs(), strings.Join(d.StandIns(), "; ")
	a.value(&c)
	return c
}

// value works out what a candidate does for its processors.
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

// predictor is one that has predicted what was weighed.
func (w *weighed) predictor() *serving.Predictor {
	return w.field.workers[0].predictors[w.contender.decode.engine]
}

// describe works out what is said about the pools.
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
		step.Plan = pool.Plan // as it is launched; its step may hold more prompts
		s.Instances, s.Held, s.Usable = pool.Count, held.Total(), d.Usable(pool, &held)
		c.Sides[phase], c.Held = s, max(c.Held, s.Held)
	}
	c.See(c.Prediction)
	return nil
}

// bare is the plan of a bare step of a phase. One of prompts holds as many as the engine puts into it; those of a pool that does both
// phases are of sequences of its batch.
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

// Numbers are all looked at up to twice so many, and so many between a power of two and the next: of instances of a pool, and of the
// nodes of an instance.
const (
	mostCounts = 256
	mostNodes  = 64
)

// upTo is the next number from n on of so many that are looked at between a power of two and the next. It does not depend on how
// many there may be: what there is on fewer processors there is on more.
func upTo(most, n int) int {
	step := max(1, 1<<(bits.Len(uint(n))-1)/most)
	return (n + step - 1) / step * step
}

// sizes are the sizes of an instance on so many processors: up to 8, more of one node in fours or as parts of it, and whole
// nodes.
func sizes(gpus, perNode int) []int {
	var out []int
	for n := 1; n <= min(gpus, perNode-1); n++ {
		if n <= 8 || n%4 == 0 || perNode%n == 0 {
			out = append(out, n)
		}
	}
	for nodes := 1; nodes*perNode <= gpus; nodes = upTo(mostNodes, nodes+1) {
		out = append(out, nodes*perNode)
	}
	return out
}
