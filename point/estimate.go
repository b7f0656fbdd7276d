package point

import (
	"errors"
	"fmt"

	"throughline/estimate"
	"throughline/internal/document"
	"throughline/op"
	"throughline/scenario"
	"throughline/workload"
)

// Result is what one phase of a point does.
type Result struct {
	Phase    op.Phase
	Loaded   *scenario.Loaded
	Problem  estimate.Problem
	Procs    int
	Estimate estimate.Estimate
	*estimate.Detail
	Usable float64 // bytes of the memory of a processor
	// Ongoing: the point is a decode step at some context, not a share of a request.
	Ongoing bool
}

// Cards is the cards that the processors make.
func (r *Result) Cards() int {
	perCard := r.Problem.System.ProcsPerNPU
	return (r.Procs + perCard - 1) / perCard
}

// Sequences is how many are in flight on all processors.
func (r *Result) Sequences() int {
	p := &r.Estimate.Plan
	return p.InFlight() * p.Attention.DP * p.Sequences(r.Problem.Model.IsMoE())
}

// Over is the bytes that do not fit, or 0.
func (r *Result) Over() float64 { return max(0, r.Estimate.Memory.Total()-r.Usable) }

// TooMuch says by how much a point does not fit; it is empty where it does.
func (r *Result) TooMuch() string {
	over := r.Over()
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("%s does not fit: it needs %.4g GiB of the %.4g GiB that are usable, %.4g GiB too much",
		PhaseName(r.Phase), r.Estimate.Memory.Total()/estimate.GiB, r.Usable/estimate.GiB, over/estimate.GiB)
}

// Estimator estimates points one after another. What points share, it prepares once.
type Estimator struct {
	opened  map[files]*opened
	spreads map[spreadKey]workload.Lengths
}

// NewEstimator is one that has seen no points.
func NewEstimator() *Estimator { return &Estimator{opened: map[files]*opened{}} }

// files is what decides which files are read and how.
type files struct {
	model, system string
	formats       scenario.Formats
	assume        string
	offload       estimate.Offload
}

// opened is the files of a point, and an evaluator for each phase.
type opened struct {
	loaded *scenario.Loaded
	err    error
	phases [op.PhaseCount]prepared
}

type prepared struct {
	problem   *estimate.Problem
	evaluator *estimate.Evaluator
}

// mostOpened is how many combinations of files are kept ready: tables of points have few, but they may be of any length.
const mostOpened = 256

// open reads the files of a point.
func (e *Estimator) open(p *Point) *opened {
	key := files{p.Model, p.System, p.Formats, p.Assume, p.Offload}
	o, ok := e.opened[key]
	if !ok {
		o = &opened{}
		// Any length would do: those of the point are checked with it.
		s := scenario.Scenario{Model: p.Model, System: p.System, Formats: p.Formats, Assume: p.Assume, Offload: p.Offload,
			Lengths: workload.Lengths{Input: 2 * mostTokens, Output: 1}}
		o.loaded, o.err = s.Load()
		if len(e.opened) == mostOpened {
			clear(e.opened)
		}
		e.opened[key] = o
	}
	return o
}

// Warnings are those of the files of a point.
func (e *Estimator) Warnings(p *Point) []document.Problem {
	o := e.open(p)
	if o.err != nil {
		return nil
	}
	w := o.loaded.Warnings
	if m := o.loaded.Shape; p.Drafts > 0 && m.DraftLayers == 0 {
		w = append(w, document.Problem{Message: fmt.Sprintf("drafts: %s does not say that it has a draft module; one more layer is assumed", m.Name)})
	}
	return w
}

// Estimate estimates a phase of a point. The error holds all that is wrong with it.
func (e *Estimator) Estimate(p *Point, phase op.Phase, out *Result) error {
	errs := p.numbers(phase)
	o := e.open(p)
	if o.err != nil {
		return document.Join(append(errs, o.err)...)
	}
	l := o.loaded
	ready, err := o.prepare(phase)
	if err != nil {
		return document.Join(append(errs, err)...)
	}
	if len(errs) > 0 {
		return document.Join(errs...)
	}
	lengths, err := e.spread(p)
	if err == nil {
		lengths, err = l.Fill(lengths)
	}
	if err != nil {
		errs = append(errs, err)
	}
	sys := ready.problem.System
	procs := float64(p.DP) * float64(p.PP) * float64(p.TP) * float64(p.CP)
	if most := sys.MaxProcs(); procs > float64(most) {
		errs = append(errs, fmt.Errorf("%.0f processors, but the networks of %s join %d", procs, sys.Name, most))
		return document.Join(errs...)
	}
	q, misses := p.split(l, phase, int(procs))
	if errs = append(errs, misses...); len(errs) > 0 {
		return document.Join(errs...)
	}
	evaluator := ready.evaluator.At(lengths)
	out.Phase, out.Loaded, out.Problem, out.Procs = phase, l, *ready.problem, int(procs)
	out.Problem.Lengths = lengths
	out.Usable, out.Ongoing = l.Assumptions.Usable(sys.Memory.GiB), p.Context > 0
	evaluator.Evaluate(&q, &out.Estimate)
	out.Detail = evaluator.Detail(&q)
	return nil
}

// spread is the lengths of a point, spread as it says. Those of a trace are kept: tables name the same one often.
func (e *Estimator) spread(p *Point) (workload.Lengths, error) {
	n := p.lengths()
	if p.Distribution == "" {
		return n, nil
	}
	key := spreadKey{p.Distribution, n}
	if s, ok := e.spreads[key]; ok {
		return s, nil
	}
	s, err := n.Spread(p.Distribution)
	if err != nil {
		return n, fmt.Errorf("lengths: %w", err)
	}
	if e.spreads == nil || len(e.spreads) == mostOpened {
		e.spreads = map[spreadKey]workload.Lengths{}
	}
	e.spreads[key] = s
	return s, nil
}

// spreadKey is lengths and how they are spread.
type spreadKey struct {
	distribution string
	lengths      workload.Lengths
}

// prepare is the evaluator of a phase.
func (o *opened) prepare(phase op.Phase) (*prepared, error) {
	ready := &o.phases[phase]
	if ready.evaluator == nil {
		problem := o.loaded.Problem(phase, 1).Problem
		var err error
		if ready.evaluator, err = estimate.NewEvaluator(&problem); err != nil {
			return nil, err
		}
		ready.problem = &problem
	}
	return ready, nil
}

// All estimates every phase that the point asks for.
func (e *Estimator) All(p *Point) ([]Result, error) {
	list, err := p.Phases()
	if err != nil {
		// The rest of the point is checked all the same.
		list = []op.Phase{op.Decode}
	}
	errs := []error{err}
	results := make([]Result, len(list))
	for i, phase := range list {
		errs = append(errs, e.Estimate(p, phase, &results[i]))
	}
	if err := document.Join(errs...); err != nil {
		return nil, Once(err)
	}
	return results, nil
}

// Once leaves out problems that stand there before.
func Once(err error) error {
	var all *document.Error
	if !errors.As(err, &all) {
		return err
	}
	seen := map[document.Problem]bool{}
	var out document.Error
	for _, p := range all.Problems {
		if !seen[p] {
			seen[p] = true
			out.Problems = append(out.Problems, p)
		}
	}
	return &out
}
