package search

import "throughline/plan"

// layouts are the candidates for the split of attention and dense layers, valid or not.
func (p *Problem) layouts() []plan.Layout {
	contexts := p.Contexts
	if contexts == nil {
		contexts = []int{1}
	}
	var out []plan.Layout
	for _, cp := range contexts {
		if p.Layouts == nil {
			out = append(out, plan.Layouts(p.Procs, cp)...)
			continue
		}
		for _, l := range p.Layouts {
			if l.CP = cp; l.Procs() == p.Procs {
				out = append(out, l)
			}
		}
	}
	return out
}

// expertLayouts are the candidates for the split of the experts, valid or not.
func (p *Problem) expertLayouts() []plan.ExpertLayout {
	if p.ExpertLayouts == nil {
		return plan.ExpertLayouts(p.Procs)
	}
	var out []plan.ExpertLayout
	for _, e := range p.ExpertLayouts {
		if e.Procs() == p.Procs {
			out = append(out, e)
		}
	}
	return out
}

// expertPlans passes on every combination of redundant experts and split of the experts, valid or not, as plans that lack
// the split of the attention.
func (p *Problem) expertPlans(yield func(*plan.Plan)) {
	layouts := p.expertLayouts()
	q := plan.Plan{SequenceParallel: p.SequenceParallel, SharedReplicas: p.Settings.SharedReplicas, SharedPerCard: p.SharedPerCard}
	for q.Redundant = p.Redundant.Low; q.Redundant <= p.Redundant.High; q.Redundant++ {
		for _, q.Experts = range layouts {
			yield(&q)
		}
	}
}

// Plans lists the valid plans of the problem without their batches, in a fixed order.
func (p *Problem) Plans() []plan.Plan {
	var valid []plan.Layout
	for _, l := range p.layouts() {
		if plan.ValidLayout(p.Model, l) {
			valid = append(valid, l)
		}
	}
	var out []plan.Plan
	for drafts := p.Drafts.Low; drafts <= p.Drafts.High; drafts++ {
		each := func(q *plan.Plan) {
			r := *q
			r.Drafts = drafts
			for _, r.Attention = range valid {
				out = append(out, r)
			}
		}
		if !p.Model.IsMoE() {
			each(&plan.Plan{SequenceParallel: p.SequenceParallel})
			continue
		}
		p.expertPlans(func(q *plan.Plan) {
			if q.ValidExperts(p.Model) {
				each(q)
			}
		})
	}
	return out
}
