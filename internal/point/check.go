package point

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/scenario"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// numbers lists what is wrong with the numbers of a point, whatever its model.
func (p *Point) numbers(phases []op.Phase) []error {
	var out []error
	note := func(format string, args ...any) { out = append(out, fmt.Errorf(format, args...)) }
	for i := range fields {
		f := &fields[i]
		if v, ok := f.Ref(p).(*int); ok && f.Optional && *v == 0 {
			continue
		}
		if err := f.Check(p); err != nil {
			out = append(out, err)
		}
	}
	if p.Prefix > 0 && p.PrefixHit > 0 {
		note("prefix and prefix-hit say the same: give one of them")
	}
	if p.Context > 0 && (p.Input > 0 || p.Output > 0) {
		note("context stands for isl and osl: give it or them")
	}
	if slices.Contains(phases, op.Prefill) && p.Context > 0 {
		note("context is that of a decode step; the length of a prompt is isl")
	}
	if p.CP > 1 && slices.Contains(phases, op.Decode) && !p.Split() {
		note("cp %d: only a prefill cuts the context (phase prefill, or a prefill pool)", p.CP)
	}
	return out
}

// deployment is the point as a deployment, or all the reasons why there is none.
func (p *Point) deployment(l *scenario.Loaded) (deploy.Deployment, []error) {
	d := l.Deployment()
	d.GPUsPerNode = p.GPUsPerNode
	if !p.Split() {
		pool, errs := p.pool(l, deploy.Both, l.Decode, "")
		d.Pools = []deploy.Pool{pool}
		return d, errs
	}
	prefill, errs := p.pool(l, deploy.Prefill, l.Prefill, p.PrefillPlan)
	decode, more := p.pool(l, deploy.Decode, l.Decode, p.DecodePlan)
	d.Pools = []deploy.Pool{prefill, decode}
	return d, append(errs, more...)
}

// pool is a pool of the point with its plan, which words change.
func (p *Point) pool(l *scenario.Loaded, role deploy.Role, sys *hardware.System, words string) (deploy.Pool, []error) {
	pool := deploy.Pool{Role: role, System: sys, Count: 1}
	q := *p
	if words != "" {
		w, err := plan.ParseWords(words)
		if err != nil {
			return pool, []error{fmt.Errorf("%s-plan: %w", role, err)}
		}
		q.TP, q.PP, q.DP, q.CP = max(1, w.TP), max(1, w.PP), max(1, w.DP), max(1, w.CP)
		q.EP, q.MoETP, q.MoEDP, q.Redundant, q.Drafts = w.EP, max(1, w.MoETP), w.MoEDP, w.Redundant, w.Drafts
		q.Batch, pool.Count = cmp.Or(w.Batch, q.Batch), max(1, w.Count)
		q.Overlap = w.Overlap.String()
	}
	if role == deploy.Decode {
		q.CP = 1
	}
	if role == deploy.Prefill {
		q.Drafts = 0
	}
	procs := float64(q.DP) * float64(q.PP) * float64(q.TP) * float64(q.CP)
	if most := sys.MaxProcs(); procs > float64(most) {
		return pool, []error{fmt.Errorf("%.0f processors, but the networks of %s join %d", procs, sys.Name, most)}
	}
	var errs []error
	pool.Plan, errs = q.split(l, int(procs))
	return pool, errs
}

// split is the plan of a point, or all the reasons why there is none.
func (p *Point) split(l *scenario.Loaded, procs int) (plan.Plan, []error) {
	m := l.Shape
	q := plan.Plan{
		Attention:        plan.Layout{DP: p.DP, PP: p.PP, TP: p.TP, CP: p.CP},
		Batch:            plan.Batch{Count: 1, Size: p.Batch},
		SequenceParallel: p.SequenceParallel, Pipelined: l.Assumptions.Pipelined, Drafts: p.Drafts,
	}
	var out []error
	overlap, ok := plan.FindOverlap(p.Overlap)
	if !ok {
		out = append(out, fmt.Errorf("overlap: %s", document.NotOneOf(p.Overlap, plan.OverlapNames())))
	}
	q.Overlap = overlap
	if !plan.ValidLayout(m, q.Attention) {
		out = append(out, reasons(plan.LayoutMisses(m, q.Attention))...)
	}
	if !m.IsMoE() {
		return q, append(out, p.noExperts(m)...)
	}
	q.Redundant = p.Redundant
	// Engines do not route to the shared experts: every processor has them.
	q.SharedReplicas, q.SharedPerCard = l.Settings.SharedReplicas, true
	size := procs
	if q.Pipelined {
		size /= p.PP
	}
	q.Experts = p.expertLayout(size)
	if n := q.Experts.Procs(); n != size {
		where := "processors"
		if q.Pipelined && p.PP > 1 {
			where += " of a stage"
		}
		return q, append(out, fmt.Errorf("ep %d · moe-tp %d · moe-dp %d = %d do not fill the %d %s", q.Experts.EP, q.Experts.TP, q.Experts.DP, n, size, where))
	}
	if !q.ValidExperts(m) {
		out = append(out, reasons(q.ExpertMisses(m))...)
	}
	return q, out
}

// expertLayout fills a number of processors: with expert groups, or, where their number is given, with copies of them.
func (p *Point) expertLayout(procs int) plan.ExpertLayout {
	e := plan.ExpertLayout{EP: p.EP, TP: p.MoETP, DP: p.MoEDP}
	if e.EP == 0 {
		e.DP = max(1, e.DP)
		e.EP = max(1, procs/e.TP/e.DP)
	}
	if e.DP == 0 {
		e.DP = max(1, procs/e.TP/e.EP)
	}
	return e
}

// noExperts refuses a split of experts that a dense model does not have.
func (p *Point) noExperts(m *model.Model) []error {
	var out []error
	for _, s := range []struct {
		name        string
		value, none int
	}{{"ep", p.EP, 1}, {"moe-tp", p.MoETP, 1}, {"moe-dp", p.MoEDP, 1}, {"redundant", p.Redundant, 0}} {
		if s.value > s.none {
			out = append(out, fmt.Errorf("%s %d: %s has no experts", s.name, s.value, m.Name))
		}
	}
	return out
}

func reasons(misses []plan.Miss) []error {
	var out []error
	for _, why := range plan.Whys(misses) {
		out = append(out, errors.New(why))
	}
	return out
}
