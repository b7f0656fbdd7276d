package question

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// Problems lists what is wrong with the settings of one deployment, whatever its model.
func (q *Question) Problems() []error {
	out := []error{q.Check(Point)}
	prefill, decode := slices.Contains(q.Phases(), op.Prefill), slices.Contains(q.Phases(), op.Decode)
	if q.Context > 0 && (q.Input > 0 || q.Output > 0) {
		out = append(out, wrong("context", "takes the place of isl and osl; give it or them"))
	}
	if q.Context > 0 && prefill {
		out = append(out, wrong("context", "is that of a decode step; the length of a prompt is isl"))
	}
	if q.CP > 1 && decode && !q.Split() {
		out = append(out, wrong("cp", "only a prefill splits the context: ask for phase prefill, or give a prefill-plan"))
	}
	return out
}

func versioned(engine string) bool { return strings.Contains(engine, "@") }

// Deploy is the one deployment that the question fixes, or every reason why there is none.
func (l *Loaded) Deploy(q *Question) (deploy.Deployment, []error) {
	d := l.Deployment()
	d.GPUsPerNode, d.ServerOptions = q.GPUsPerNode, q.Traffic.ServerOptions // files are read once for many questions
	d.Unstated, d.Versioned = q.Unstated, q.Versioned || versioned(q.Engine)
	if accepted := q.accepted(); len(accepted) > 0 {
		d.Acceptance = accepted
	}
	p := q.spread()
	if !q.Split() {
		pool, errs := p.pool(l, q.Tabled, deploy.Both, l.Decode, "")
		pool.Count = max(1, q.Instances)
		d.Pools = []deploy.Pool{pool}
		p.fill(&d, q.Clients() && l.Assumptions.Engine)
		return d, errs
	}
	prefill, errs := p.pool(l, q.Tabled, deploy.Prefill, l.Prefill, p.PrefillPlan)
	decode, more := p.pool(l, q.Tabled, deploy.Decode, l.Decode, p.DecodePlan)
	d.Pools = []deploy.Pool{prefill, decode}
	p.fill(&d, q.Clients() && l.Assumptions.Engine)
	return d, append(errs, more...)
}

// spreads reports whether a number of processors stands for sizes; tables of runs name both.
func (q *Question) spreads() bool { return q.Over > 0 && !q.Tabled }

// spread puts an instance on the given number of processors as the engine does by default.
func (q *Question) spread() *Fixed {
	p := q.Fixed
	if q.spreads() && p.TP*p.PP*p.DP*p.CP == 1 {
		if e, err := engine.Find(q.Engine); err == nil && e.SplitsLayers {
			p.PP = p.Over
		} else {
			p.TP = p.Over
		}
	}
	return &p
}

func (p *Fixed) OpenBatch() bool {
	w, err := plan.ParseWords(p.DecodePlan)
	return p.Batch == 0 && (err != nil || w.Batch == 0)
}

// fill sizes batches that are not given to the concurrency, where clients are asked about.
func (p *Fixed) fill(d *deploy.Deployment, clients bool) {
	ranks, concurrency := max(1, d.Of(op.Decode).Ranks()), 0
	if clients {
		concurrency = p.Concurrency
	}
	d.OpenBatch = d.Of(op.Decode).Plan.Batch.Size == 0
	for i := range d.Pools {
		if b := &d.Pools[i].Plan.Batch; b.Size == 0 {
			b.Size = max(1, (concurrency+ranks-1)/ranks)
		}
	}
}

// pool is a pool with its plan, which words change.
func (p *Fixed) pool(l *Loaded, tabled bool, role deploy.Role, sys *hardware.System, words string) (deploy.Pool, []error) {
	pool := deploy.Pool{Role: role, System: sys, Count: 1}
	q := *p
	if words != "" {
		w, err := plan.ParseWords(words)
		if err != nil {
			return pool, []error{wrong(role.String()+"-plan", err.Error())}
		}
		q.TP, q.PP, q.DP, q.CP = max(1, w.TP), max(1, w.PP), max(1, w.DP), max(1, w.CP)
		q.EP, q.MoETP, q.MoEDP, q.Redundant, q.Drafts = w.EP, w.MoETP, w.MoEDP, w.Redundant, w.Drafts
		q.Batch, pool.Count = cmp.Or(w.Batch, q.Batch), max(1, w.Count)
		q.Overlap = w.Overlap.String()
		for _, c := range []struct {
			given bool
			why   string
		}{
			{role == deploy.Decode && w.CP > 1, "cp: only a prefill pool cuts the context"},
			{role == deploy.Prefill && w.Drafts > 0, "mtp: only a decode pool drafts tokens"},
			{role == deploy.Prefill && w.Batch > 0, "batch: a prefill pool computes as many prompts as a step of its engine holds"},
		} {
			if c.given {
				return pool, []error{wrong(role.String()+"-plan", c.why)}
			}
		}
	}
	if role == deploy.Decode {
		q.CP = 1
	}
	if role == deploy.Prefill {
		q.Drafts = 0
	}
	if min(q.DP, q.PP, q.TP, q.CP) < 1 || q.MoETP < 0 {
		return pool, nil // their bounds say so
	}
	procs := float64(q.DP) * float64(q.PP) * float64(q.TP) * float64(q.CP)
	if most := sys.MaxProcs(); procs > float64(most) {
		return pool, []error{fmt.Errorf("%.0f GPUs, but the networks of %s join %d", procs, sys.Name, most)}
	}
	if tabled {
		q.EP = max(1, q.EP) // a table that spreads experts says so
	}
	if moe := l.Shape.IsMoE(); moe && q.asEnginesStart(tabled) {
		q.MoETP = q.DP * q.TP
	} else if tabled && !moe {
		q.EP, q.MoETP, q.MoEDP, q.Redundant, q.Overlap = 0, 0, 0, 0, ""
	}
	var errs []error
	pool.Plan, errs = q.split(l, int(procs))
	return pool, errs
}

// asEnginesStart reports whether nothing is said of the experts of tensor-parallel ranks: vLLM,
// SGLang and TensorRT-LLM then cut each one like the rest of the stage. Whoever replicates
// attention, or asks for what needs experts in whole, wants them spread; a table of runs would say
// so.
func (p *Fixed) asEnginesStart(tabled bool) bool {
	if tabled {
		return p.EP*max(1, p.MoETP) == 1
	}
	told := max(p.EP, p.MoETP, p.MoEDP, p.Redundant) > 0
	return !told && p.DP == 1 && (p.Overlap == "" || p.Overlap == plan.NoOverlap.String())
}

// split is the plan, or all the reasons why there is none.
func (p *Fixed) split(l *Loaded, procs int) (plan.Plan, []error) {
	m := l.Shape
	q := plan.Plan{
		Layout: plan.Layout{
			Attention:        plan.Split{DP: p.DP, PP: p.PP, TP: p.TP, CP: p.CP},
			SequenceParallel: p.SequenceParallel, Pipelined: l.Assumptions.Pipelined, Drafts: p.Drafts,
		},
		Batch: plan.Batch{Count: 1, Size: p.Batch},
	}
	var out []error
	if err := p.overlap(&q); err != nil {
		out = append(out, err)
	}
	if !plan.ValidSplit(m, q.Attention) {
		out = append(out, reasons(plan.SplitMisses(m, q.Attention))...)
	}
	if !m.IsMoE() {
		return q, append(out, p.noExperts(m)...)
	}
	q.Redundant, q.WideDense, q.WideHead = p.Redundant, p.WideDense, p.WideHead
	// Engines do not route to the shared experts: every processor has them.
	q.SharedReplicas, q.SharedPerCard = l.Settings.SharedReplicas, true
	size := procs
	if q.Pipelined {
		size /= p.PP
	}
	q.Experts = p.expertLayout(size)
	if n := q.Experts.Procs(); n != size {
		where := "GPUs"
		if q.Pipelined && p.PP > 1 {
			where += " of a stage"
		}
		return q, append(out, fmt.Errorf("ep %d · moe-tp %d · moe-dp %d = %d do not fill the %d %s", q.Experts.EP, q.Experts.TP, q.Experts.DP, n, size, where))
	}
	if !q.ValidExperts(m) {
		out = append(out, reasons(q.ExpertMisses(m))...)
	}
	if q.Overlap != plan.NoOverlap && q.Experts.EP < 2 {
		out = append(out, wrong("overlap", "hides the exchange between experts: it needs ep above 1"))
	}
	return q, out
}

func (p *Fixed) overlap(q *plan.Plan) error {
	if p.Overlap == AnyOverlap {
		return wrong("overlap", fmt.Sprintf("%s is for a search; one deployment has %s", AnyOverlap, strings.Join(plan.OverlapNames(), ", ")))
	}
	if p.Overlap != "" {
		q.Overlap, _ = plan.FindOverlap(p.Overlap) // settings are checked before
	}
	return nil
}

// expertLayout fills the processors with one expert group, or with copies if its size is given.
func (p *Fixed) expertLayout(procs int) plan.ExpertSplit {
	e := plan.ExpertSplit{EP: p.EP, TP: max(1, p.MoETP), DP: p.MoEDP}
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
func (p *Fixed) noExperts(m *model.Model) []error {
	var out []error
	for _, s := range []struct {
		name        string
		value, none int
	}{{"ep", p.EP, 1}, {"moe-tp", p.MoETP, 1}, {"moe-dp", p.MoEDP, 1}, {"redundant", p.Redundant, 0}} {
		if s.value > s.none {
			out = append(out, wrong(s.name, fmt.Sprintf("must be %d, not %d: %s has no experts", s.none, s.value, m.Name)))
		}
	}
	if p.Overlap != "" && p.Overlap != plan.NoOverlap.String() {
		out = append(out, wrong("overlap", fmt.Sprintf("must be %s, not %s: %s has no experts", plan.NoOverlap, p.Overlap, m.Name)))
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
