package jobfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"throughline/estimate"
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
		m := l.models[ref]
		for _, lengths := range s.Lengths {
			for _, procs := range s.decodeSizes() {
				for _, bytes := range s.Bytes {
					for _, types := range s.Types {
						for _, limits := range s.Limits {
							for _, pair := range s.systems {
								sys := l.systems[pair.decode]
								if m == nil || sys == nil {
									return job
								}
								job.Runs = append(job.Runs, l.run(s, m, sys, workload.Lengths{Input: lengths[0], Output: lengths[1]}, procs,
									plan.Precision{
										Weight: bytes[0], Activation: bytes[1], Cache: bytes[2], Comm: bytes[3],
										MatrixType: types[0], AttentionType: types[1], VectorType: types[2],
									},
									workload.Limits{TTFT: limits[0], TPOT: limits[1]}))
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
		len(s.Models), len(s.Lengths), len(s.decodeSizes()), len(s.Bytes), len(s.Types), len(s.Limits), len(s.systems),
	} {
		if runs *= n; runs > maxRuns {
			l.doc.Problemf(s.key, "its lists multiply to more than %d runs; shorten them", maxRuns)
			return false
		}
	}
	return true
}

// decodeSizes are the decode processors of each run. Without given pools the decode side is sized on all processors.
func (s *spec) decodeSizes() []int {
	if s.pools == nil {
		return s.Procs
	}
	var out []int
	for i := range s.Procs {
		for j, p := range s.pools {
			if !s.zipped() || i == j {
				out = append(out, p[1])
			}
		}
	}
	return out
}

func (l *loader) run(s *spec, m *modelFile, sys *systemFile, lengths workload.Lengths, procs int, prec plan.Precision, limits workload.Limits) Run {
	low, high := s.redundantRange(m.model, m.settings)
	p := search.Problem{
		Problem: estimate.Problem{
			Model: m.model, Settings: m.settings, System: sys.system, Lengths: lengths, Precision: prec, Assume: l.as,
		},
		Procs: procs, RedundantLow: low, RedundantHigh: high, SharedPerCard: s.sharedPerCard(),
	}
	if limits.TPOT != nil {
		p.TPOT = *limits.TPOT / 1e3
	}
	for _, c := range s.decode.layouts {
		p.Layouts = append(p.Layouts, plan.Layout{DP: c[0], PP: c[1], TP: c[2]})
	}
	for _, c := range s.decode.experts {
		p.ExpertLayouts = append(p.ExpertLayouts, plan.ExpertLayout{EP: c[0], TP: c[1], DP: c[2]})
	}
	for _, c := range s.decode.batches {
		p.Batches = append(p.Batches, plan.Batch{Count: c[1], Size: c[2]})
	}
	r := Run{
		Model: m.model, Settings: m.settings, System: sys.system, Lengths: lengths, Limits: limits, Precision: prec,
		Procs: procs, Decode: p,
	}
	r.InputHash = hash(&r, m.src, sys.src, s.mode, l.as.Name)
	return r
}

// hash identifies a run by the content of its files and every setting that its results depend on.
func hash(r *Run, model, system []byte, mode, preset string) string {
	h := sha256.New()
	d := &r.Decode
	settings, err := json.Marshal([]any{
		mode, preset, r.Lengths, r.Limits, r.Precision, r.Procs,
		d.Layouts, d.ExpertLayouts, d.Batches, d.RedundantLow, d.RedundantHigh, d.SharedPerCard,
	})
	if err != nil {
		panic(err) // plain numbers and strings
	}
	for _, part := range [][]byte{settings, model, system} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
