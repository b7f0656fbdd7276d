package jobfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// expand multiplies the lists of a section into runs: models outermost, systems innermost. It returns no runs once
// problems were found, since what it would multiply may be missing.
func (l *loader) expand(s *spec) Job {
	job := Job{Mode: s.mode, Output: s.Output}
	if l.doc.Err() != nil || !l.checkRuns(s) {
		return job
	}
	for _, ref := range s.Models {
		for _, lengths := range s.Lengths {
			for _, sizes := range s.sizes() {
				for _, bytes := range s.Bytes {
					for _, types := range s.Types {
						for _, limits := range s.Limits {
							for _, pair := range s.systems {
								m, prefill, decode := l.models[ref], l.systems[pair.prefill], l.systems[pair.decode]
								if m == nil || prefill == nil || decode == nil {
									return job
								}
								r := Run{
									Mode: s.mode, Model: m.model, Settings: m.settings, Procs: sizes.procs, Pools: sizes.pools,
									Lengths: workload.Lengths{Input: lengths[0], Output: lengths[1], Cached: m.settings.Cached},
									Limits:  workload.Limits{TTFT: limits[0], TPOT: limits[1]},
									Precision: plan.Precision{
										Weight: bytes[0], Activation: bytes[1], Cache: bytes[2], Comm: bytes[3],
										MatrixType: types[0], AttentionType: types[1], VectorType: types[2],
									},
								}
								l.problems(s, &r, prefill.system, decode.system)
								r.InputHash = hash(&r, m.src, prefill.src, decode.src)
								job.Runs = append(job.Runs, r)
							}
						}
					}
				}
			}
		}
	}
	return job
}

// maxRuns bounds the runs of one section. Each is a search, a column of the results and about a kilobyte of settings.
const maxRuns = 100_000

// checkRuns reports a section with more runs than anyone can want.
func (l *loader) checkRuns(s *spec) bool {
	runs := 1
	for _, n := range []int{
		len(s.Models), len(s.Lengths), len(s.sizes()), len(s.Bytes), len(s.Types), len(s.Limits), len(s.systems),
	} {
		if runs *= n; runs > maxRuns {
			l.doc.Problemf(s.key, "its lists multiply to more than %d runs; shorten them", maxRuns)
			return false
		}
	}
	return true
}

// size is a number of processors and how it is divided, where that is given.
type size struct {
	procs int
	pools *[2]int
}

// sizes are the processors of the runs.
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
func (l *loader) problems(s *spec, r *Run, prefill, decode *hardware.System) {
	r.Prefill = l.problem(s, r, &s.prefill, prefill, r.Limits.TTFT)
	r.Prefill.Phase = op.Prefill
	r.Decode = l.problem(s, r, &s.decode, decode, r.Limits.TPOT)
	r.Decode.Acceptance = s.acceptance()
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

func (l *loader) problem(s *spec, r *Run, phase *phaseSpec, sys *hardware.System, limit *float64) search.Problem {
	low, high := s.redundantRange(r.Model, r.Settings, phase)
	p := search.Problem{
		Problem: estimate.Problem{
			Model: r.Model, Settings: r.Settings, System: sys, Lengths: r.Lengths, Precision: r.Precision, Assume: l.as,
		},
		Procs: r.Procs, Contexts: phase.contexts,
		Redundant: search.Range{Low: low, High: high}, SharedPerCard: s.sharedPerCard(r.Settings, phase),
		SequenceParallel: s.SequenceParallel != nil && *s.SequenceParallel,
	}
	if limit != nil {
		p.Limit = *limit / 1e3
	}
	for _, c := range phase.layouts {
		p.Layouts = append(p.Layouts, plan.Layout{DP: c[0], PP: c[1], TP: c[2]})
	}
	for _, c := range phase.experts {
		p.ExpertLayouts = append(p.ExpertLayouts, plan.ExpertLayout{EP: c[0], TP: c[1], DP: c[2]})
	}
	for _, c := range phase.batches {
		p.Batches = append(p.Batches, plan.Batch{Count: c[1], Size: c[2]})
	}
	return p
}

// acceptance is the acceptance rates of drafted tokens.
func (s *spec) acceptance() []float64 {
	if s.Acceptance != nil {
		return s.Acceptance
	}
	return workload.DraftAcceptance
}

// draftRange is the drafts to try with a model.
func (s *spec) draftRange(m *model.Model) search.Range {
	if s.Drafts.all && m.DraftLayers > 0 {
		return search.Range{High: len(s.acceptance())}
	}
	return search.Range{Low: s.Drafts.low, High: s.Drafts.high}
}

// hash identifies a run by the content of its files and every setting that its results depend on.
func hash(r *Run, files ...[]byte) string {
	h := sha256.New()
	phase := func(p *search.Problem) []any {
		return []any{p.Layouts, p.ExpertLayouts, p.Batches, p.Contexts, p.SequenceParallel, p.Redundant, p.SharedPerCard, p.Drafts, p.Acceptance}
	}
	settings, err := json.Marshal([]any{
		r.Mode, r.Decode.Assume.Name, r.Lengths, r.Limits, r.Precision, r.Procs, r.Pools, phase(&r.Prefill), phase(&r.Decode),
	})
	if err != nil {
		panic(err) // plain numbers and strings
	}
	for _, part := range append([][]byte{settings}, files...) {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
