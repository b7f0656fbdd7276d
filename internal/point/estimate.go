// Package point answers questions that fix one deployment, without a search, singly or as rows of a
// table that are answered as they arrive.
package point

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

type Answer struct {
	Deployment deploy.Deployment   // as its engine runs it, at batches that fit, or that somebody asked for
	Served     deploy.Deployment   // the same at the batches that clients take, of which a server runs as many as find room
	Load       workload.Load       // clients that fill its batches
	Seen       *serving.Prediction // by the clients; nil where the point asks for bare steps, or none can be served
	Phases     []Result            // bare steps
	Loaded     *question.Loaded    // the files
	Predictor  *serving.Predictor  // of what clients see; nil where nobody is served
	price      func(*hardware.System) (float64, *hardware.Price)
	// Limited are the answers under each of several power limits, the first of which is this.
	Limited []Answer
	// Record holds the full answer. Its remark is about the engine, or why clients are not served.
	*result.Record
}

// Result is a bare step of one phase of a point.
type Result struct {
	Phase   op.Phase
	Loaded  *question.Loaded
	Problem estimate.Problem
	Procs   int // of one instance
	*estimate.Contents
	Usable float64 // bytes of the memory of a processor
	// Ongoing: the point is a decode step at some context, not a share of a request.
	Ongoing bool
}

// Estimator answers questions one after another. What they share, it prepares once.
type Estimator struct {
	examines bool // steps in full: their operators, and when these run
	// Rough: clients see what the closed form says, which ranks engines; otherwise that is
	// simulated.
	Rough bool
	// Tune changes what is known of an engine; nil: nothing.
	Tune func(engine string, s *deploy.Scheduling)

	opened  map[filesKey]*opened
	most    int // of those
	spreads map[spreadKey]workload.Lengths
}

// NewEstimator is one that has answered nothing yet.
func NewEstimator() *Estimator { return NewEstimatorOf(mostOpened) }

// NewEstimatorOf is one that keeps fewer combinations of files, about a megabyte each.
func NewEstimatorOf(most int) *Estimator {
	return &Estimator{opened: map[filesKey]*opened{}, most: most}
}

// NewExaminer is an estimator that also reports the operators of each step and when they run.
func NewExaminer() *Estimator {
	e := NewEstimator()
	e.examines = true
	return e
}

// filesKey is what decides which files are read and how.
type filesKey struct {
	in                          *files.Door
	model, system, decodeSystem string
	changed                     string
	formats                     question.Formats
	assume                      string
	offload                     estimate.Offload
	gpuLayers                   int
	beside, popularity, fitted  string
	engine                      string // which a fit must be of
	perNode                     int    // which a first network may join no more than
	limit                       string // in watts
}

// opened is the files of a point, and what was prepared with them.
type opened struct {
	loaded     *question.Loaded
	err        error
	phases     map[phaseKey]*prepared
	predictors map[predictorKey]*serving.Predictor
}

func newOpened(l *question.Loaded) *opened {
	return &opened{loaded: l, phases: map[phaseKey]*prepared{}, predictors: map[predictorKey]*serving.Predictor{}}
}

// Engines differ in the bytes of the cache, and in the kernels of attention.
type phaseKey struct {
	phase     op.Phase
	precision plan.Precision
	accepted  string // shares of drafts
}

type predictorKey struct {
	split     bool
	precision plan.Precision
	accepted  string // shares of drafts
}

type prepared struct {
	problem   *estimate.Problem
	evaluator *estimate.Evaluator
}

// mostOpened bounds the cached combinations of files: tables use few, but may be of any length.
const mostOpened = 256

func (e *Estimator) open(p *question.Question) *opened {
	key := filesKey{p.In, p.Model, p.System, p.DecodeSystem, p.Changed, p.Formats, p.Assume, p.Offload, p.GPULayers, p.Beside, p.Popularity, p.Fitted, "", p.GPUsPerNode, p.PowerLimit}
	if p.Fitted != "" {
		key.engine = p.Engine
	}
	o, ok := e.opened[key]
	if !ok {
		l, err := p.Read()
		o = newOpened(l)
		o.err = err
		if len(e.opened) >= e.most {
			clear(e.opened)
		}
		e.opened[key] = o
	}
	return o
}

func (e *Estimator) Warnings(p *question.Question) []document.Problem {
	o := e.open(p)
	if o.err != nil {
		return nil
	}
	w := o.loaded.Warnings
	if m := o.loaded.Shape; p.Drafts > 0 && m.DraftLayers == 0 {
		w = append(w, document.Problem{Path: "drafts", Message: m.Name + " does not say that it has a draft module; one more layer is assumed"})
	}
	return w
}

// Answer estimates a point. The error holds all that is wrong with it.
func (e *Estimator) Answer(p *question.Question) (*Answer, error) {
	if limits := p.PowerLimits(); len(limits) > 1 {
		return e.limited(p, limits)
	}
	out, err := e.Serve(p)
	if err != nil {
		return nil, err
	}
	return out, e.open(p).steps(out, p, e.examines)
}

// Serve is the same without bare steps, under the first power limit.
func (e *Estimator) Serve(p *question.Question) (*Answer, error) { return e.serve(e.open(p), p) }

func (e *Estimator) serve(o *opened, p *question.Question) (*Answer, error) {
	errs := p.Problems()
	if o.err != nil {
		return nil, question.Once(document.Join(append(errs, o.err)...))
	}
	choice, err := o.loaded.Engines(p.Engine)
	if err != nil { // of its name, which is among the problems, or of its numbers
		return nil, question.Once(cmp.Or(document.Join(errs...), err))
	}
	lengths, err := e.spread(p)
	if err == nil {
		lengths, err = o.loaded.Fill(lengths)
	}
	errs = append(errs, err)
	price, err := o.loaded.Prices(p.Price)
	errs = append(errs, err)
	d, misses := o.loaded.Deploy(p)
	if err := document.Join(append(errs, misses...)...); err != nil {
		return nil, question.Once(err)
	}
	d.MaxContext, d.MaxPrompt = lengths.MaxFinal(), lengths.MaxInput()
	d.Fitted = o.loaded.Fit(p.FittedBy(lengths))
	out := &Answer{Record: new(result.Record), Loaded: o.loaded, price: price, Load: workload.Load{Lengths: lengths, Clients: cmp.Or(p.Concurrency, alone(p), d.Clients()), Requests: p.PerClient, Repeated: p.Repeated}}
	if err := o.run(p, choice, d, out, e.Tune); err != nil {
		return nil, err
	}
	if out.Seen != nil && !e.Rough {
		if err := out.simulate(p.Traffic.Cold); err != nil {
			return nil, err
		}
	}
	if why := out.Deployment.Fitted.Elsewhere(&out.Deployment); why != "" && p.Clients() {
		out.Remark = strings.Trim(out.Remark+"; "+why, "; ")
	}
	for _, why := range out.Deployment.StandIns() {
		out.Remark = strings.Trim(out.Remark+"; "+why, "; ")
	}
	return out, nil
}

// alone is the one client of a desk, unless a batch is asked for; 0: as many as fill the batches.
func alone(p *question.Question) int {
	if e, err := engine.Find(p.Engine); err == nil && e.OnlyNamed && p.Batch == 0 {
		return 1
	}
	return 0
}

// simulate replaces what the closed form says of clients.
func (a *Answer) simulate(cold bool) error {
	seen, err := simulate.Steady(a.Predictor, &a.Served, a.Load)
	if err != nil {
		return err
	}
	if cold {
		load := a.Load
		load.Requests = cmp.Or(load.Requests, simulate.BenchmarkRequests)
		first, err := simulate.Cold(a.Predictor, &a.Served, load)
		if err != nil {
			return err
		}
		seen.ColdTTFT = first.TTFT
	}
	seen.Prefilling = a.Seen.Prefilling // which is only told roughly
	*a.Seen = seen
	return nil
}

// steps adds the bare steps that a question asks for.
func (o *opened) steps(out *Answer, p *question.Question, examined bool) error {
	for _, phase := range p.Phases() {
		r := Result{Phase: phase, Loaded: o.loaded, Ongoing: p.Context > 0}
		if err := o.step(out, &r, p.Clients(), examined); err != nil {
			return err
		}
		out.Phases = append(out.Phases, r)
	}
	out.record(p.Tariff)
	return nil
}

func (a *Answer) record(tariff hardware.Tariff) {
	d := &a.Deployment
	a.Describe(d, a.Load)
	var steps [op.PhaseCount]*estimate.Contents
	for i := range a.Phases {
		p := &a.Phases[i]
		s := result.NewSide(p.Phase, p.Problem.System, p.Contents, d.Model.IsMoE())
		s.Instances, s.Usable, s.Ongoing = d.Of(p.Phase).Count, p.Usable, p.Ongoing
		a.Sides[p.Phase], steps[p.Phase] = s, p.Contents
	}
	if a.Seen != nil {
		a.See(*a.Seen)
	}
	a.Draw(d, steps, tariff)
	if a.price != nil {
		a.Pay(d, a.price)
	}
}

// Served answers for a measured run, whose deployment is already as an engine runs it.
func Served(d deploy.Deployment, load workload.Load, l *question.Loaded) (*Answer, error) {
	predictor, err := serving.NewPredictor(&d)
	if err != nil {
		return nil, err
	}
	seen, err := simulate.Steady(predictor, &d, load)
	if err != nil {
		return nil, err
	}
	trusted := predictor.Confidence(&d, load, &seen)
	out := &Answer{Deployment: d, Served: d, Load: load, Seen: &seen, Record: &result.Record{Trusted: &trusted, Held: predictor.Held(&d, load.Lengths)}}
	return out, newOpened(l).steps(out, new(question.Question), true) // of clients, who see both phases
}

// WithoutEngine stands before the reasons of engines, where none runs a point.
const WithoutEngine = "no engine can run this, so it is priced without one: "

// refusedByOptions reports whether only the server options keep engines from running a deployment.
// That is a mistake to report, not a request for a price without an engine.
func refusedByOptions(choice []*engine.Engine, d deploy.Deployment) bool {
	if slices.ContainsFunc(choice, func(e *engine.Engine) bool { _, options := e.Takes(&d); return len(options) > 0 }) &&
		!slices.ContainsFunc(choice, func(e *engine.Engine) bool { chip, options := e.Takes(&d); return len(chip)+len(options) == 0 }) {
		return true
	}
	d.ServerOptions = deploy.ServerOptions{}
	_, err := serving.Runs(choice, d)
	return err == nil
}

// runsOf are the deployments that engines can run. Of a tabled server only options are checked,
// because it did run.
func runsOf(p *question.Question, choice []*engine.Engine, d deploy.Deployment) ([]deploy.Deployment, error) {
	if p.Tabled && len(choice) == 1 {
		return []deploy.Deployment{choice[0].Apply(d)}, choice[0].CheckSettings(&d.ServerOptions, d.Of(op.Decode).System)
	}
	return serving.Runs(choice, d)
}

// runsOrGeneric are the deployments that engines can run or, where none of several can, the one
// that is priced without an engine, with a remark.
func runsOrGeneric(p *question.Question, choice []*engine.Engine, d deploy.Deployment, out *Answer) ([]deploy.Deployment, error) {
	runs, err := runsOf(p, choice, d)
	var refused *serving.Refused
	switch {
	case errors.As(err, &refused) && len(choice) > 1 && !refusedByOptions(choice, d):
		if runs, err = serving.Runs([]*engine.Engine{engine.Generic}, d); err != nil {
			return nil, &document.Error{Problems: []document.Problem{{Path: "engine", Message: refused.Error()}}}
		}
		out.Remark = WithoutEngine + refused.Error()
	case err != nil:
		return nil, &document.Error{Problems: []document.Problem{{Path: "engine", Message: err.Error()}}}
	}
	return runs, nil
}

// run finds the engine of a point, and what clients see of it where that is asked.
func (o *opened) run(p *question.Question, choice []*engine.Engine, d deploy.Deployment, out *Answer, tune func(string, *deploy.Scheduling)) error {
	serves := o.loaded.Assumptions.Engine
	if !serves {
		choice = []*engine.Engine{engine.Generic}
	}
	runs, err := runsOrGeneric(p, choice, d, out)
	if err != nil {
		return err
	}
	runs, left := serving.Measured(runs)
	if out.Remark == "" {
		left = append(serving.Unsupported(choice, &d), left...)
	}
	if len(left) > 0 {
		out.Remark = strings.Join(left, "; ")
	}
	for i := range runs {
		if tune != nil {
			tune(runs[i].Engine.Name, &runs[i].Engine.Scheduling)
		}
	}
	out.Deployment = runs[0]
	if !p.Clients() || !serves {
		return o.fastest(p, runs, out)
	}
	best, err := o.mostRequests(p, runs, left, out)
	if err != nil {
		return err
	}
	fitter := best
	if fitter == nil { // nobody is served: the smallest batch shows by how much it does not fit
		if fitter, err = o.predictor(&out.Deployment); err != nil {
			return err
		}
	}
	out.Served, out.Predictor = out.Deployment, best
	if p.OpenBatch() {
		out.Deployment.Pools = slices.Clone(out.Deployment.Pools)
		fitter.Fit(&out.Deployment, out.Load.Lengths)
	}
	if out.Seen != nil {
		out.Held = best.Held(&out.Deployment, out.Load.Lengths)
		trusted := best.Confidence(&out.Deployment, out.Load, out.Seen)
		out.Trusted = &trusted
		if len(choice) == 1 {
			out.Remark = ""
		}
	}
	return nil
}

// mostRequests takes the engine that serves the most requests, of those that fit where any does.
// The predictor is nil where none serves.
func (o *opened) mostRequests(p *question.Question, runs []deploy.Deployment, left []string, out *Answer) (*serving.Predictor, error) {
	var best *serving.Predictor
	var fitting bool
	for i := range runs {
		predictor, err := o.predictor(&runs[i])
		if err != nil {
			return nil, err
		}
		seen, err := predictor.Predict(&runs[i], out.Load)
		if err != nil {
			out.Remark = strings.Join(append(left, err.Error()), "; ")
			continue
		}
		fits := p.OpenBatch() || predictor.Free(&runs[i], out.Load.Lengths) >= 0 // what was asked for may fit one engine only
		if out.Seen == nil || fits && !fitting || fits == fitting && seen.Requests > out.Seen.Requests {
			out.Deployment, out.Seen, fitting = runs[i], &seen, fits
			best = predictor
		}
	}
	return best, nil
}

// fastest takes the engine with the shortest bare steps.
func (o *opened) fastest(p *question.Question, runs []deploy.Deployment, out *Answer) error {
	if len(runs) == 1 {
		return nil
	}
	least := 0.0
	for i := range runs {
		try := Answer{Deployment: runs[i], Load: out.Load}
		var r Result
		var step estimate.Estimate
		var sum float64
		for _, r.Phase = range p.Phases() {
			e, q, err := o.prepare(&try, &r, false)
			if err != nil {
				return err
			}
			e.Evaluate(q, &step)
			sum += step.StepTime
		}
		if i == 0 || sum < least {
			out.Deployment, least = runs[i], sum
		}
	}
	return nil
}

// predictor is what predicts a deployment, prepared once.
func (o *opened) predictor(d *deploy.Deployment) (*serving.Predictor, error) {
	key := predictorKey{d.Split(), d.Precision, fmt.Sprint(d.Acceptance)}
	known := o.predictors[key]
	if known == nil {
		var err error
		if known, err = serving.NewPredictor(d); err != nil {
			return nil, err
		}
		o.predictors[key] = known
	}
	return known, nil
}

// step estimates a bare step of a phase. If clients are served too, a prefill step holds as many
// prompts as the engine batches, and a decode step only the sequences that clients fill.
func (o *opened) step(a *Answer, out *Result, served, examined bool) error {
	e, q, err := o.prepare(a, out, served)
	if err != nil {
		return err
	}
	if examined {
		out.Contents = e.Contents(q)
	} else {
		out.Contents = e.Totals(q)
	}
	out.Usable = a.Deployment.Usable(a.Deployment.Of(out.Phase), &out.Estimate.Memory)
	return nil
}

// prepare is the evaluator and the plan of a bare step.
func (o *opened) prepare(a *Answer, out *Result, served bool) (*estimate.Evaluator, *plan.Plan, error) {
	d, n := &a.Deployment, a.Load.Lengths
	pool := d.Of(out.Phase)
	key := phaseKey{out.Phase, d.Precision, fmt.Sprint(d.Acceptance)}
	ready := o.phases[key]
	if ready == nil {
		problem := d.Problem(out.Phase, pool.System, n)
		problem.Handover = nil
		ready = &prepared{problem: &problem}
		var err error
		if ready.evaluator, err = estimate.NewEvaluator(&problem); err != nil {
			return nil, nil, err
		}
		o.phases[key] = ready
	}
	q := pool.Plan
	switch {
	case served:
		if q = d.Bare(out.Phase, a.Load); out.Phase == op.Decode {
			q.Batch.Size = filled(q.Batch.Size, a.Load.Clients, d.Clients())
		} else if !q.Pipelined {
			q.Batch = pool.Plan.Batch // one step computes all prompts, as in the reference tool
		}
	case out.Phase == op.Prefill:
		q = q.Prefilling()
	}
	out.Problem, out.Procs = *ready.problem, pool.Plan.Attention.Procs()
	out.Problem.Lengths = n
	return ready.evaluator.At(n), &q, nil
}

// filled is how much of a batch clients fill, if full clients fill all batches.
func filled(batch, clients, full int) int {
	if clients >= full {
		return batch
	}
	return max(1, (batch*clients+full-1)/full)
}

// spread is the length distribution of a point. Traces are cached, because tables often repeat one.
func (e *Estimator) spread(p *question.Question) (workload.Lengths, error) {
	key := spreadKey{p.In, p.Distribution, p.Traffic, p.Lengths()}
	if s, ok := e.spreads[key]; ok {
		return s, nil
	}
	s, err := p.Spread()
	if err != nil {
		return s, err
	}
	if e.spreads == nil || len(e.spreads) == mostOpened {
		e.spreads = map[spreadKey]workload.Lengths{}
	}
	e.spreads[key] = s
	return s, nil
}

type spreadKey struct {
	in           *files.Door
	distribution string
	traffic      question.Traffic
	lengths      workload.Lengths
}
