package search

import (
	"fmt"

	"throughline/estimate"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

// Refusal is a class of candidates that one rule or limit ruled out.
type Refusal struct {
	Rule    string `json:"rule"`
	Count   int    `json:"count"`
	What    string `json:"what"`    // what was ruled out: layouts, expert layouts, plans
	Nearest string `json:"nearest"` // the nearest miss, and by how much it missed
	Enough  string `json:"enough"`  // the value that would have let it through
}

// Refusals lists what ruled candidates out: the rules of valid plans, then the limits. A candidate
// that breaks several rules counts for the first.
func (p *Problem) Refusals(r *Result) []Refusal {
	var out []Refusal
	var layouts tally
	for _, l := range p.layouts() {
		layouts.note(plan.SplitMisses(p.Model, l))
	}
	out = layouts.append(out, "layouts")
	if p.Model.IsMoE() {
		var experts tally
		for _, size := range p.expertSizes() {
			p.expertPlans(size, func(q *plan.Plan) { experts.note(q.ExpertMisses(p.Model)) })
		}
		out = experts.append(out, "expert layouts")
	}
	latency := "TPOT limit"
	if p.Phase == op.Prefill {
		latency = "TTFT limit"
	}
	gib := func(bytes float64) string { return number.Plain(bytes/estimate.GiB, 4) + " GiB" }
	ms := func(seconds float64) string { return number.Plain(seconds*1e3, 4) + " ms" }
	out = r.Rejected.Memory.append(out, "memory", gib)
	out = r.Rejected.Latency.append(out, latency, ms)
	return r.Rejected.FirstToken.append(out, "TTFT limit", ms)
}

// append adds the plans that a limit ruled out.
func (r *Rejection) append(out []Refusal, rule string, unit func(float64) string) []Refusal {
	if r.Plans == 0 {
		return out
	}
	return append(out, Refusal{
		Rule: rule, Count: r.Plans, What: "plans",
		Nearest: fmt.Sprintf("%v at batch %d misses %s by %s", &r.Nearest, r.Nearest.Batch.Size, unit(r.Needs-r.Over), unit(r.Over)),
		Enough:  unit(r.Needs),
	})
}

// tally counts misses by rule, in the order first broken, with the nearest miss of each.
type tally struct {
	rules []plan.Miss
	count map[string]int
}

func (t *tally) note(misses []plan.Miss) {
	if len(misses) == 0 {
		return
	}
	m := misses[0]
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[m.Rule]++; t.count[m.Rule] == 1 {
		t.rules = append(t.rules, m)
		return
	}
	for i := range t.rules {
		if t.rules[i].Rule == m.Rule && m.By < t.rules[i].By {
			t.rules[i] = m
		}
	}
}

func (t *tally) append(out []Refusal, what string) []Refusal {
	for _, m := range t.rules {
		out = append(out, Refusal{Rule: m.Rule, Count: t.count[m.Rule], What: what, Nearest: m.Why, Enough: m.Enough})
	}
	return out
}
