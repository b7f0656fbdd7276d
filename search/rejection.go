package search

import (
	"fmt"
	"strings"

	"throughline/estimate"
	"throughline/plan"
)

// Rejections counts the plans that a limit ruled out, and remembers the nearest miss of each limit.
type Rejections struct {
	Memory, Latency Rejection
}

// Rejection is the plans that one limit ruled out.
type Rejection struct {
	Plans   int
	Nearest plan.Plan
	Over    float64 // by how much the nearest missed: bytes or seconds
	index   int     // of the nearest, so that the earliest of equals is named whatever the order of the work
}

func (r *Rejection) note(p *plan.Plan, index int, over float64) {
	r.add(&Rejection{Plans: 1, Nearest: *p, Over: over, index: index})
}

func (r *Rejection) add(o *Rejection) {
	if o.Plans > 0 && (r.Plans == 0 || o.Over < r.Over || o.Over == r.Over && o.index < r.index) {
		r.Nearest, r.Over, r.index = o.Nearest, o.Over, o.index
	}
	r.Plans += o.Plans
}

func (r *Rejections) add(o *Rejections) {
	r.Memory.add(&o.Memory)
	r.Latency.add(&o.Latency)
}

// Reason says in one line why a search found nothing.
func (r *Result) Reason(p *Problem) string {
	if r.Plans == 0 {
		return fmt.Sprintf("no valid way to split %s over %d processors", p.Model.Name, p.Procs)
	}
	var parts []string
	if m := &r.Rejected.Memory; m.Plans > 0 {
		parts = append(parts, fmt.Sprintf("%s not fit into %.4g GiB (the nearest, %v at batch %d, needs %.4g GiB more)",
			does(m.Plans), p.System.Memory.GiB, &m.Nearest, m.Nearest.Batch.Size, m.Over/estimate.GiB))
	}
	if l := &r.Rejected.Latency; l.Plans > 0 {
		parts = append(parts, fmt.Sprintf("%s not reach %.4g ms per token (the nearest, %v at batch %d, takes %.4g ms longer)",
			does(l.Plans), p.Limit*1e3, &l.Nearest, l.Nearest.Batch.Size, l.Over*1e3))
	}
	return strings.Join(parts, "; ")
}

func does(plans int) string {
	if plans == 1 {
		return "1 plan does"
	}
	return fmt.Sprintf("%d plans do", plans)
}
