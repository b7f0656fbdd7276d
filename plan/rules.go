package plan

import (
	"fmt"

	"throughline/model"
)

// LayersPerStage is the number of layers of the fullest pipeline stage.
func LayersPerStage(layers, pp int) int { return (layers + pp - 1) / pp }

// A layoutRule is one condition on the split of attention and dense layers. The message is only built for a plan that
// breaks it.
type layoutRule struct {
	name  string
	holds func(m *model.Model, l Layout) bool
	why   func(m *model.Model, l Layout) string
}

var layoutRules = []layoutRule{
	{
		"stages",
		func(m *model.Model, l Layout) bool { return l.PP <= m.Layers },
		func(m *model.Model, l Layout) string {
			return fmt.Sprintf("pp %d exceeds the %d layers of %s", l.PP, m.Layers, m.Name)
		},
	},
	{
		"heads",
		func(m *model.Model, l Layout) bool { return m.Attention.Heads%l.TP == 0 },
		func(m *model.Model, l Layout) string {
			return fmt.Sprintf("tp %d does not divide the %d attention heads of %s", l.TP, m.Attention.Heads, m.Name)
		},
	},
	{
		"key/value heads",
		func(m *model.Model, l Layout) bool {
			kv := m.Attention.KVHeads
			return m.Attention.Kind == model.Latent || kv%l.TP == 0 || l.TP%kv == 0
		},
		func(m *model.Model, l Layout) string {
			return fmt.Sprintf("tp %d neither divides the %d key/value heads of %s nor is a multiple of them", l.TP, m.Attention.KVHeads, m.Name)
		},
	},
	{
		"feed-forward width",
		func(m *model.Model, l Layout) bool {
			dense := !m.IsMoE() || m.Experts.Interval > 1
			return !dense || m.FeedForward%l.TP == 0
		},
		func(m *model.Model, l Layout) string {
			return fmt.Sprintf("tp %d does not divide the feed-forward width %d of %s", l.TP, m.FeedForward, m.Name)
		},
	},
}

// ValidLayout reports whether a layout suits the model.
func ValidLayout(m *model.Model, l Layout) bool {
	for i := range layoutRules {
		if !layoutRules[i].holds(m, l) {
			return false
		}
	}
	return true
}

// LayoutProblems lists every rule that a layout breaks.
func LayoutProblems(m *model.Model, l Layout) []string {
	var out []string
	for _, r := range layoutRules {
		if !r.holds(m, l) {
			out = append(out, r.why(m, l))
		}
	}
	return out
}

// Deployed is the number of experts that the EP groups share: routed ones, their redundant copies, and the replicas of
// the shared expert unless every processor holds its own.
func (p *Plan) Deployed(m *model.Model) int {
	n := m.Experts.Routed + p.Redundant
	if !p.SharedPerCard {
		n += p.SharedReplicas
	}
	return n
}

// ExpertsPerProc is the number of experts on one processor (slices of them, if the experts are cut).
func (p *Plan) ExpertsPerProc(m *model.Model) int {
	n := p.Deployed(m) / p.Experts.EP
	if p.SharedPerCard {
		n += m.Experts.Shared
	}
	return n
}

// ValidExperts reports whether the split of the experts suits the model: every processor holds the same whole number
// of experts, and slices are of equal width.
func (p *Plan) ValidExperts(m *model.Model) bool {
	return p.Deployed(m)%p.Experts.EP == 0 && m.Experts.Width%p.Experts.TP == 0
}

// ExpertProblems lists every rule that the split of the experts breaks.
func (p *Plan) ExpertProblems(m *model.Model) []string {
	var out []string
	if n := p.Deployed(m); n%p.Experts.EP != 0 {
		parts := fmt.Sprintf("%d routed + %d redundant", m.Experts.Routed, p.Redundant)
		if !p.SharedPerCard {
			parts += fmt.Sprintf(" + %d shared", p.SharedReplicas)
		}
		out = append(out, fmt.Sprintf("ep %d does not divide the %d deployed experts of %s (%s)", p.Experts.EP, n, m.Name, parts))
	}
	if m.Experts.Width%p.Experts.TP != 0 {
		out = append(out, fmt.Sprintf("moe_tp %d does not divide the expert width %d of %s", p.Experts.TP, m.Experts.Width, m.Name))
	}
	return out
}
