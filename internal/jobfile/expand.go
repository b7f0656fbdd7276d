package jobfile

import (
	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// expand multiplies the lists of a section into runs: models outermost, systems innermost. After
// problems there are no runs, since a list may be missing.
func (l *loader) expand(s *spec) *Job {
	job := &Job{Mode: s.mode, Output: s.Output, loader: l, spec: s, sizes: s.sizes()}
	if l.doc.Err() != nil || !l.checkRuns(s) {
		return job
	}
	for _, f := range s.Models {
		if l.models[f] == nil {
			return job
		}
	}
	for _, ref := range s.systemRefs() {
		if l.systems[ref] == nil {
			return job
		}
	}
	job.prefill, job.decode = s.prefill.candidates(), s.decode.candidates()
	job.counts = s.counts()
	job.shared = map[any]string{}
	return job
}

// candidates restrict the search of a phase, in all runs of a section.
func (p *phaseSpec) candidates() (out search.Problem) {
	out.Contexts = p.contexts
	for _, c := range p.layouts {
		out.Layouts = append(out.Layouts, plan.Split{DP: c[0], PP: c[1], TP: c[2]})
	}
	for _, c := range p.experts {
		out.ExpertLayouts = append(out.ExpertLayouts, plan.ExpertSplit{EP: c[0], TP: c[1], DP: c[2]})
	}
	for _, c := range p.batches {
		out.Batches = append(out.Batches, plan.Batch{Count: c[1], Size: c[2]})
	}
	return out
}

// planned reports whether the section is searched like the command plan.
func (s *spec) planned() bool { return s.Search != "" }

// Planned reports whether the runs are searched like the command plan.
func (j *Job) Planned() bool { return j.spec.planned() }

// Served reports whether the runs are ranked by what the clients of an engine see.
func (j *Job) Served() bool { return j.loader.as.Engine }

// axes counts the lists that a section multiplies.
const axes = 7

func (s *spec) counts() [axes]int {
	return [axes]int{len(s.Models), len(s.Lengths), len(s.sizes()), len(s.Bytes), len(s.Types), len(s.Limits), len(s.systems)}
}

func (j *Job) Len() int {
	n := j.points()
	for _, c := range j.counts {
		n *= c
	}
	return n
}

// At makes a run on demand: a file may have millions.
func (j *Job) At(number int) Run {
	var at [axes]int
	rest := number
	for i := axes - 1; i >= 0; i-- {
		at[i], rest = rest%j.counts[i], rest/j.counts[i]
	}
	s, l := j.spec, j.files(rest)
	m, size, bytes, types := l.models[s.Models[at[0]]], j.sizes[at[2]], s.Bytes[at[3]], s.Types[at[4]]
	limits, pair := s.Limits[at[5]], s.systems[at[6]]
	r := Run{
		Mode: s.mode, Model: m.model, Settings: m.settings, Procs: size.procs, Pools: size.pools,
		Lengths: workload.Lengths{Input: s.Lengths[at[1]][0], Output: s.Lengths[at[1]][1], Cached: m.settings.Cached},
		Limits:  workload.Limits{TTFT: limits[0], TPOT: limits[1]},
		Precision: plan.Precision{
			Weight: bytes[0], Activation: bytes[1], Cache: bytes[2], Comm: bytes[3],
			MatrixType: types[0], AttentionType: types[1], VectorType: types[2],
		},
	}
	j.problems(&r, l.systems[pair.prefill].system, l.systems[pair.decode].system)
	if s.planned() {
		r.Plan = &Plan{string(s.Engine), s.Redundant.given}
	}
	return r
}

// Parts is how often the search of all runs ticks.
func (j *Job) Parts() int {
	if j.Len() == 0 {
		return 0
	}
	parts := 0
	for _, size := range j.sizes {
		r := Run{Mode: j.Mode, Procs: size.procs, Pools: size.pools}
		parts += r.Parts()
	}
	return j.Len() / len(j.sizes) * parts
}

// maxRuns bounds the runs of one section; this many searches take about an hour.
const maxRuns = 10_000_000

func (l *loader) checkRuns(s *spec) bool {
	runs := 1
	for _, n := range s.counts() {
		if runs *= n; runs > maxRuns {
			l.doc.Problemf(s.key, "its lists multiply to more than %d runs; shorten them", maxRuns)
			return false
		}
	}
	return true
}

// size is a number of processors and, if given, its split into pools.
type size struct {
	procs int
	pools *[2]int
}

func (s *spec) sizes() []size {
	var out []size
	for i, n := range s.Procs {
		if s.pools == nil {
			out = append(out, size{n, nil})
		}
		for j := range s.pools {
			if !s.zipped() || i == j {
				out = append(out, size{n, &s.pools[j]})
			}
		}
	}
	return out
}

// problems fills in the searches of a run.
func (j *Job) problems(r *Run, prefill, decode *hardware.System) {
	s := j.spec
	r.Prefill = j.problem(r, &s.prefill, j.prefill, prefill, r.Limits.TTFT)
	r.Prefill.Phase = op.Prefill
	r.Decode = j.problem(r, &s.decode, j.decode, decode, r.Limits.TPOT)
	r.Decode.Acceptance = s.acceptance(r.Model)
	r.Decode.Drafts = s.draftRange(r.Model)
	if s.mode == Split {
		span := r.Procs
		if r.Pools != nil {
			span = r.Pools[0] + r.Pools[1] // spare processors do not lie between the pools
		}
		r.Prefill.Handover = &estimate.Handover{System: decode, Span: span}
	} else {
		// The same processors hold the same experts in both phases.
		r.Prefill.Redundant, r.Prefill.SharedPerCard = r.Decode.Redundant, r.Decode.SharedPerCard
	}
}

func (j *Job) problem(r *Run, phase *phaseSpec, p search.Problem, sys *hardware.System, limit *float64) search.Problem {
	s := j.spec
	low, high := s.redundantRange(r.Model, r.Settings, phase)
	p.Problem = estimate.Problem{
		Model: r.Model, Settings: r.Settings, System: sys, Lengths: r.Lengths, Precision: r.Precision, Assume: j.loader.as,
	}
	p.Procs, p.Redundant, p.SharedPerCard = r.Procs, search.Range{Low: low, High: high}, s.sharedPerCard(r.Settings, phase)
	p.SequenceParallel = s.SequenceParallel != nil && *s.SequenceParallel
	if limit != nil {
		p.Limit = *limit / 1e3
	}
	return p
}

func (s *spec) acceptance(m *model.Model) []float64 {
	if s.Acceptance != nil {
		return s.Acceptance
	}
	return workload.Acceptance(m.DraftLengths)
}

func (s *spec) draftRange(m *model.Model) search.Range {
	if s.Drafts.all && m.DraftLayers > 0 {
		return search.Range{High: len(s.acceptance(m))}
	}
	return search.Range{Low: s.Drafts.low, High: s.Drafts.high}
}
