package search

import (
	"slices"

	"throughline/plan"
)

// layouts are the candidate splits of attention and dense layers, valid or not.
func (p *Problem) layouts() []plan.Split {
	contexts := p.Contexts
	if contexts == nil {
		contexts = []int{1}
	}
	var out []plan.Split
	for _, cp := range contexts {
		if p.Layouts == nil {
			out = append(out, plan.Splits(p.Procs, cp)...)
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

// expertLayouts are the candidate splits of the experts over a number of processors, valid or not.
func (p *Problem) expertLayouts(procs int) []plan.ExpertSplit {
	switch {
	case p.ExpertLayouts == nil && p.OneCopy:
		m := p.Model
		return plan.OneCopy(procs, m.Experts.Routed+p.Redundant.High+p.Settings.SharedReplicas, m.Experts.Width)
	case p.ExpertLayouts == nil:
		return plan.ExpertSplits(procs)
	}
	var out []plan.ExpertSplit
	for _, e := range p.ExpertLayouts {
		if e.Procs() == procs {
			out = append(out, e)
		}
	}
	return out
}

// expertPlans yields plans of every redundancy and expert split, valid or not, without attention.
func (p *Problem) expertPlans(procs int, yield func(*plan.Plan)) {
	layouts := p.expertLayouts(procs)
	q := p.basicPlan()
	q.SharedReplicas, q.SharedPerCard = p.Settings.SharedReplicas, p.SharedPerCard
	for q.Redundant = p.Redundant.Low; q.Redundant <= p.Redundant.High; q.Redundant++ {
		for _, q.Experts = range layouts {
			yield(&q)
		}
	}
}

func (p *Problem) basicPlan() plan.Plan {
	return plan.Plan{Layout: plan.Layout{SequenceParallel: p.SequenceParallel, Pipelined: p.Assume.Pipelined}}
}

// overlaps are those to try of a plan: without experts elsewhere there is nothing to hide.
func (p *Problem) overlaps(q *plan.Plan) []plan.Overlap {
	if len(p.Overlaps) == 0 || q.Experts.EP < 2 {
		return []plan.Overlap{plan.NoOverlap}
	}
	return p.Overlaps
}

// expertProcs is the processors that share the experts: all, or in a pipeline those of one stage.
func (p *Problem) expertProcs(l plan.Split) int {
	if p.Assume.Pipelined {
		return p.Procs / l.PP
	}
	return p.Procs
}

// expertSizes are the numbers of processors that may share the experts, each once.
func (p *Problem) expertSizes() []int {
	if !p.Assume.Pipelined {
		return []int{p.Procs}
	}
	var out []int
	for _, l := range p.layouts() {
		if n := p.expertProcs(l); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// Plans lists the valid plans of the problem without their batches, in a fixed order.
func (p *Problem) Plans() []plan.Plan {
	valid := map[int][]plan.Split{}
	for _, l := range p.layouts() {
		if plan.ValidSplit(p.Model, l) {
			n := p.expertProcs(l)
			valid[n] = append(valid[n], l)
		}
	}
	var out []plan.Plan
	for drafts := p.Drafts.Low; drafts <= p.Drafts.High; drafts++ {
		for _, size := range p.expertSizes() {
			if !p.Model.IsMoE() {
				out = p.appendPlans(out, p.basicPlan(), drafts, valid[size])
				continue
			}
			p.expertPlans(size, func(q *plan.Plan) {
				if q.ValidExperts(p.Model) {
					out = p.appendPlans(out, *q, drafts, valid[size])
				}
			})
		}
	}
	return out
}

// appendPlans appends a plan with a number of drafts, every split of attention and every overlap.
func (p *Problem) appendPlans(out []plan.Plan, q plan.Plan, drafts int, splits []plan.Split) []plan.Plan {
	q.Drafts = drafts
	for _, q.Attention = range splits {
		for _, q.Overlap = range p.overlaps(&q) {
			if p.Accept == nil || p.Accept(&q) {
				out = append(out, q)
			}
		}
	}
	return out
}
