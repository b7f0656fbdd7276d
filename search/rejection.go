package search

import (
	"fmt"
	"strings"

	"throughline/estimate"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

// Rejections counts the plans that a limit ruled out, and keeps the nearest miss of each limit.
type Rejections struct {
	Memory, Latency Rejection
	// FirstToken counts, in a fused search, plans whose prefill misses its limit.
	FirstToken Rejection
}

// Rejection is the plans that one limit ruled out.
type Rejection struct {
	Plans   int
	Nearest plan.Plan
	Needs   float64 // what the nearest would need: bytes or seconds
	Over    float64 // by how much that misses the limit
	index   int     // of the nearest, so that the earliest of equals wins in any order of the work
}

// Note counts a plan that exceeds the limit.
func (r *Rejection) Note(p *plan.Plan, index int, needs, over float64) {
	r.add(&Rejection{Plans: 1, Nearest: *p, Needs: needs, Over: over, index: index})
}

func (r *Rejection) add(o *Rejection) {
	if o.Plans > 0 && (r.Plans == 0 || o.Over < r.Over || o.Over == r.Over && o.index < r.index) {
		r.Nearest, r.Needs, r.Over, r.index = o.Nearest, o.Needs, o.Over, o.index
	}
	r.Plans += o.Plans
}

func (r *Rejections) add(o *Rejections) {
	r.Memory.add(&o.Memory)
	r.Latency.add(&o.Latency)
	r.FirstToken.add(&o.FirstToken)
}

// Reason explains in one line why a search found nothing.
func (p *Problem) Reason(r *Result) string {
	if r.Plans == 0 {
		return fmt.Sprintf("no valid way to split %s over %d GPUs", p.Model.Name, r.Procs)
	}
	var parts []string
	if m := &r.Rejected.Memory; m.Plans > 0 {
		parts = append(parts, fmt.Sprintf("%s not fit into %s GiB (the nearest, %v at batch %d, needs %s GiB more)",
			does(m.Plans), number.Plain((m.Needs-m.Over)/estimate.GiB, 4), &m.Nearest, m.Nearest.Batch.Size, number.Plain(m.Over/estimate.GiB, 4)))
	}
	late := func(l *Rejection, what string) {
		if l.Plans > 0 {
			parts = append(parts, fmt.Sprintf("%s not reach %s ms %s (the nearest, %v at batch %d, takes %s ms longer)",
				does(l.Plans), number.Plain((l.Needs-l.Over)*1e3, 4), what, &l.Nearest, l.Nearest.Batch.Size, number.Plain(l.Over*1e3, 4)))
		}
	}
	what := "per token"
	if p.Phase == op.Prefill {
		what = "to the first token"
	}
	late(&r.Rejected.Latency, what)
	late(&r.Rejected.FirstToken, "to the first token")
	return strings.Join(parts, "; ")
}

func does(plans int) string {
	if plans == 1 {
		return "1 plan does"
	}
	return fmt.Sprintf("%d plans do", plans)
}
