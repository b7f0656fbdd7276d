package jobfile

import (
	"fmt"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/model"
	"throughline/plan"
	"throughline/workload"
)

// check reports problems that involve several keys of a section.
func (l *loader) check(s *spec) {
	l.checkBytes(s)
	l.checkTypes(s)
	l.checkPools(s)
	l.checkSizes(s)
	l.checkCached(s)
	l.checkDrafts(s)
	l.checkPlan(s)
	phases := []*phaseSpec{&s.decode}
	if s.mode == Split {
		phases = append(phases, &s.prefill)
	}
	for _, p := range phases {
		l.checkBatches(s, p)
		if s.pools == nil && l.doc.Has(s.at("pd_num_procs_list")) && !l.doc.Sound(s.at("pd_num_procs_list")) {
			continue // the processors of the phase are open
		}
		l.checkLayouts(s, p)
		l.checkExperts(s, p)
	}
}

// checkPlan rejects layouts and batches, which a plan searches, and the placement of shared experts
// and norms, which engines decide.
func (l *loader) checkPlan(s *spec) {
	if !s.planned() {
		if s.Engine != "" {
			l.doc.Problemf(s.at("engine"), "is that of a search for what to launch: add \"search\": \"plan\"")
		}
		return
	}
	type restriction struct {
		key   string
		given bool
	}
	all := []restriction{
		{"p_context_parallel_config", s.prefill.contexts != nil},
		{"deploy_shared_expert_config", s.Shared != nil && !*s.Shared}, {"sequence_parallel_config", s.SequenceParallel != nil && *s.SequenceParallel},
	}
	for _, p := range []*phaseSpec{&s.prefill, &s.decode} {
		all = append(all, restriction{p.layoutsKey, p.layouts != nil}, restriction{p.expertsKey, p.experts != nil}, restriction{p.batchesKey, p.batches != nil})
		if s.mode == Fusion {
			break // both phases have the same
		}
	}
	for _, r := range all {
		if r.given {
			l.doc.Problemf(s.at("%s", r.key), "restricts a search that looks at everything, as \"search\": \"plan\" says; leave one of them out")
		}
	}
}

// checkCached requires prompts longer than the cached part of the model file.
func (l *loader) checkCached(s *spec) {
	for _, ref := range s.Models {
		f := l.models[ref]
		if f == nil {
			continue
		}
		for i, lengths := range s.Lengths {
			if f.settings.Cached >= lengths[0] {
				l.doc.Problemf(s.at("sequence_length_list[%d][0]", i), "an input of %d tokens leaves nothing to compute: cache_len of %s is %d", lengths[0], f.model.Name, f.settings.Cached)
			}
		}
	}
}

// checkDrafts requires an acceptance rate and a draft module for every drafted token.
func (l *loader) checkDrafts(s *spec) {
	at := s.at("decode_mtp_token_config")
	most, key := len(workload.DraftAcceptance), "the default acceptance rates reach"
	if s.Acceptance != nil {
		most, key = len(s.Acceptance), "decode_mtp_acceptance_config reaches"
	}
	if s.Drafts.high > most {
		l.doc.Problemf(at, "%d drafts need as many acceptance rates; %s to %d", s.Drafts.high, key, most)
	}
	if s.Drafts.high == 0 {
		return
	}
	for _, ref := range s.Models {
		if f := l.models[ref]; f != nil && f.model.DraftLayers == 0 {
			l.doc.Warnf(at, "%s does not say that it has a draft module (num_nextn_predict_layers); one more layer is assumed", f.model.Name)
		}
	}
}

// checkBytes requires existing widths, and activations as wide as the matrix type they are
// multiplied in.
func (l *loader) checkBytes(s *spec) {
	for i, b := range s.Bytes {
		for j, v := range b {
			if !hardware.IsWidth(v) {
				l.doc.Problemf(s.at("wac_bytes_list[%d][%d]", i, j), "must be one of 0.5, 1, 2, 4 bytes, not %g", v)
			}
		}
		for j, t := range s.Types {
			want := hardware.TypeBytes(t[0])
			if b[1] == want || !hardware.IsWidth(b[1]) {
				continue
			}
			l.doc.Problemf(s.at("wac_bytes_list[%d][1]", i),
				"activations of %g byte disagree with the matrix type %q of flops_type_list[%d]; use %s",
				b[1], t[0], j, orTypes(b[1], want))
		}
	}
}

// orTypes suggests how to make an activation width and a matrix type agree.
func orTypes(have, want float64) string {
	var names []string
	for _, t := range hardware.NumberTypes {
		if t.Bytes == have {
			names = append(names, fmt.Sprintf("%q", t.Name))
		}
	}
	return fmt.Sprintf("%g byte, or matrix type %s", want, strings.Join(names, " or "))
}

// checkTypes requires every system to have a rate for every number type.
func (l *loader) checkTypes(s *spec) {
	for _, ref := range s.systemRefs() {
		f := l.systems[ref]
		if f == nil {
			continue
		}
		for i, t := range s.Types {
			have := [3][]string{f.system.MatrixTypes(), f.system.MatrixTypes(), f.system.VectorTypes()}
			unit := [3]string{"matrix", "matrix", "vector"}
			for j, name := range t {
				if slices.Contains(have[j], name) {
					continue
				}
				l.doc.Problemf(s.at("flops_type_list[%d][%d]", i, j), "system %s has no %s rate for %q; it has %s",
					f.system.Name, unit[j], name, document.QuoteList(have[j]))
			}
		}
	}
}

// systemRefs returns the systems of the section, each once.
func (s *spec) systemRefs() []string {
	var refs []string
	for _, p := range s.systems {
		for _, r := range []string{p.prefill, p.decode} {
			if !slices.Contains(refs, r) {
				refs = append(refs, r)
			}
		}
	}
	return refs
}

// zipped reports whether pools pair up with processor counts instead of multiplying with them.
func (s *spec) zipped() bool { return len(s.pools) == len(s.Procs) }

// checkPools rejects pools that exceed the processors they are taken from.
func (l *loader) checkPools(s *spec) {
	for i, n := range s.Procs {
		if s.mode == Split && s.pools == nil && n == 1 {
			l.doc.Problemf(s.at("num_procs_list[%d]", i), "must be at least 2 in %s: prefill and decode have GPUs of their own", Split)
		}
	}
	for i, p := range s.pools {
		for j, n := range s.Procs {
			if (!s.zipped() || i == j) && p[0]+p[1] > n {
				l.doc.Problemf(s.at("pd_num_procs_list[%d]", i), "%d + %d = %d GPUs exceed num_procs_list[%d], which is %d", p[0], p[1], p[0]+p[1], j, n)
			}
		}
	}
}

// checkSizes requires the outermost network of a system to reach all processors.
func (l *loader) checkSizes(s *spec) {
	for _, ref := range s.systemRefs() {
		f := l.systems[ref]
		if f == nil {
			continue
		}
		for i, n := range s.Procs {
			if limit := f.system.MaxProcs(); n > limit {
				l.doc.Problemf(s.at("num_procs_list[%d]", i), "%d GPUs exceed the outermost network of %s, which joins %d", n, f.system.Name, limit)
			}
		}
	}
}

// procsOf returns the sizes that a phase may take.
func (s *spec) procsOf(p *phaseSpec) []int {
	if s.pools == nil {
		return s.Procs
	}
	var out []int
	for _, pool := range s.pools {
		out = append(out, pool[p.pool])
	}
	return out
}

func (l *loader) checkBatches(s *spec, p *phaseSpec) {
	for i, b := range p.batches {
		if b[0] != b[1]*b[2] {
			l.doc.Problemf(s.at("%s[%d]", p.batchesKey, i), "[global, number, size] must satisfy global = number · size, but %d · %d = %d, not %d", b[1], b[2], b[1]*b[2], b[0])
		}
	}
}

// checkLayouts reports candidates that no run of the section can use.
func (l *loader) checkLayouts(s *spec, p *phaseSpec) {
	for i, c := range p.layouts {
		layout := plan.Split{DP: c[0], PP: c[1], TP: c[2]}
		at := s.at("%s[%d]", p.layoutsKey, i)
		if !l.checkProduct(at, "DP · PP · TP", c, s, p, p.contexts) {
			continue
		}
		l.usable(s, at, func(m *model.Model, _ *model.Settings) []string {
			return plan.Whys(plan.SplitMisses(m, layout))
		})
	}
}

// checkExperts does the same for the split of the experts.
func (l *loader) checkExperts(s *spec, p *phaseSpec) {
	for i, c := range p.experts {
		at := s.at("%s[%d]", p.expertsKey, i)
		if !l.checkProduct(at, "EP · MoE-TP · MoE-DP", c, s, p, nil) {
			continue
		}
		l.usable(s, at, func(m *model.Model, set *model.Settings) []string {
			if !m.IsMoE() {
				return nil
			}
			return s.expertProblems(m, set, plan.ExpertSplit{EP: c[0], TP: c[1], DP: c[2]}, p)
		})
	}
}

// expertProblems explains why a model cannot be split like this with any number of redundant
// experts in the range.
func (s *spec) expertProblems(m *model.Model, set *model.Settings, layout plan.ExpertSplit, p *phaseSpec) []string {
	low, high := s.redundantRange(m, set, p)
	q := plan.Plan{Layout: plan.Layout{Experts: layout, SharedReplicas: set.SharedReplicas, SharedPerCard: s.sharedPerCard(set, p)}}
	// Whether EP divides the experts repeats after EP steps.
	for q.Redundant = low; q.Redundant <= min(high, low+layout.EP-1); q.Redundant++ {
		if q.ValidExperts(m) {
			return nil
		}
	}
	q.Redundant = low
	problems := plan.Whys(q.ExpertMisses(m))
	if low < high {
		problems = append(problems, fmt.Sprintf("nor does any other number of redundant experts up to %d help", high))
	}
	return problems
}

// checkProduct rejects a candidate whose size is not one of the counts; where the counts are
// searched, any size up to all processors may do.
func (l *loader) checkProduct(at, what string, c [3]int, s *spec, p *phaseSpec, contexts []int) bool {
	procs := s.procsOf(p)
	if len(procs) == 0 {
		return false
	}
	product := c[0] * c[1] * c[2]
	searched := s.pools == nil && s.mode == Split
	if contexts == nil {
		contexts = []int{1}
	}
	for _, cp := range contexts {
		if slices.Contains(procs, product*cp) || searched && product*cp < slices.Max(procs) {
			return true
		}
	}
	source := "num_procs_list has"
	if s.pools != nil {
		source = "pd_num_procs_list gives this phase"
	}
	l.doc.Problemf(at, "%s = %d · %d · %d = %d GPUs, but %s %s", what, c[0], c[1], c[2], product, source, orInts(procs))
	return false
}

// usable reports a candidate that breaks a rule of every model.
func (l *loader) usable(s *spec, at string, problems func(*model.Model, *model.Settings) []string) {
	var all []string
	for _, ref := range s.Models {
		f := l.models[ref]
		if f == nil {
			return
		}
		p := problems(f.model, f.settings)
		if p == nil {
			return
		}
		all = append(all, p...)
	}
	if len(all) > 0 {
		l.doc.Problemf(at, "%s", strings.Join(all, "; "))
	}
}

func orInts(ns []int) string {
	var b strings.Builder
	for i, n := range ns {
		switch {
		case i > 0 && i == len(ns)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// sharedPerCard and redundantRange: a runtime file sets redundant and shared experts for decode,
// where they even out the load of many small steps. A separate prefill pool has no redundant
// experts, and the shared ones as the model says.
func (s *spec) sharedPerCard(set *model.Settings, p *phaseSpec) bool {
	if p == &s.decode && s.Shared != nil {
		return *s.Shared
	}
	return set.SharedPerCard
}

func (s *spec) redundantRange(m *model.Model, set *model.Settings, p *phaseSpec) (low, high int) {
	switch {
	case !m.IsMoE() || p != &s.decode:
		return 0, 0
	case s.Redundant.given:
		return s.Redundant.low, s.Redundant.high
	}
	return set.Redundant, set.Redundant
}
