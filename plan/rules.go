package plan

import (
	"fmt"

	"throughline/model"
)

// LayersPerStage is the number of layers of the fullest pipeline stage.
func LayersPerStage(layers, pp int) int { return (layers + pp - 1) / pp }

// Filled is how full pipeline stages are relative to the fullest: all of them on average, and the
// last. Without a pipeline all count as the fullest.
func (p *Plan) Filled(layers int) (all, last float64) {
	pp := p.Attention.PP
	if !p.Pipelined || layers%pp == 0 {
		return 1, 1
	}
	full := float64(LayersPerStage(layers, pp))
	all, last = float64(layers)/(full*float64(pp)), 1
	if p.LightLast {
		last = (full - 1) / full
	}
	return all, last
}

type Miss struct {
	Rule   string
	Why    string
	By     int    // how much the model's number lacks, to compare misses of one rule
	Enough string // what would let the plan through
}

// splitRule is one condition on the split of attention and dense layers.
type splitRule struct {
	name  string
	holds func(m *model.Model, l Split) bool
	miss  func(m *model.Model, l Split) Miss
}

var splitRules = []splitRule{
	{
		"pipeline stages",
		func(m *model.Model, l Split) bool { return l.PP <= m.Layers },
		func(m *model.Model, l Split) Miss {
			return Miss{
				Why:    fmt.Sprintf("pp %d exceeds the %d layers of %s", l.PP, m.Layers, m.Name),
				By:     l.PP - m.Layers,
				Enough: fmt.Sprintf("a pp of at most %d", m.Layers),
			}
		},
	},
	{
		"attention heads",
		func(m *model.Model, l Split) bool { return attentionWith(m, l, headsUneven) == nil },
		func(m *model.Model, l Split) Miss {
			return notDivided("tp", l.TP, attentionWith(m, l, headsUneven).Heads, "attention heads", m.Name)
		},
	},
	{
		"key/value heads",
		func(m *model.Model, l Split) bool { return attentionWith(m, l, kvHeadsUneven) == nil },
		func(m *model.Model, l Split) Miss {
			heads := attentionWith(m, l, kvHeadsUneven).KVHeads
			miss := notDivided("tp", l.TP, heads, "key/value heads", m.Name)
			miss.Enough += " or is a multiple of it"
			miss.Why = fmt.Sprintf("tp %d neither divides the %d key/value heads of %s nor is a multiple of them", l.TP, heads, m.Name)
			return miss
		},
	},
	{
		"feed-forward width",
		func(m *model.Model, l Split) bool {
			dense := !m.IsMoE() || m.Experts.Interval > 1 || m.FirstDense > 0
			return !dense || m.FeedForward%l.TP == 0
		},
		func(m *model.Model, l Split) Miss {
			miss := notDivided("tp", l.TP, m.FeedForward, "columns", m.Name)
			miss.Why = fmt.Sprintf("tp %d does not divide the feed-forward width %d of %s", l.TP, m.FeedForward, m.Name)
			return miss
		},
	},
}

// attentionWith is the first kind of attention of a model that a split does not suit, or nil.
func attentionWith(m *model.Model, l Split, uneven func(a *model.Attention, tp int) bool) *model.Attention {
	if uneven(&m.Attention, l.TP) {
		return &m.Attention
	}
	for i := range m.Mixed {
		if uneven(&m.Mixed[i].Attention, l.TP) {
			return &m.Mixed[i].Attention
		}
	}
	return nil
}

func headsUneven(a *model.Attention, tp int) bool { return a.Heads%tp != 0 }

func kvHeadsUneven(a *model.Attention, tp int) bool {
	return a.Kind != model.Latent && a.KVHeads%tp != 0 && tp%a.KVHeads != 0
}

// notDivided is the miss of a part that does not divide a number.
func notDivided(what string, part, number int, of, name string) Miss {
	lacks := (part - number%part) % part
	return Miss{
		Why:    fmt.Sprintf("%s %d does not divide the %d %s of %s", what, part, number, of, name),
		By:     lacks,
		Enough: fmt.Sprintf("a %s that divides %d", what, number),
	}
}

func ValidSplit(m *model.Model, l Split) bool {
	for i := range splitRules {
		if !splitRules[i].holds(m, l) {
			return false
		}
	}
	return true
}

// SplitMisses lists every rule that a split breaks.
func SplitMisses(m *model.Model, l Split) []Miss {
	var out []Miss
	for _, r := range splitRules {
		if !r.holds(m, l) {
			miss := r.miss(m, l)
			miss.Rule = r.name
			out = append(out, miss)
		}
	}
	return out
}

// Deployed is the number of experts that the EP groups share: routed ones, redundant copies, and
// replicas of the shared expert unless every processor holds its own.
func (p *Plan) Deployed(m *model.Model) int {
	n := m.Experts.Routed + p.Redundant
	if !p.SharedPerCard {
		n += p.SharedReplicas
	}
	return n
}

// ExpertsPerProc is the number of experts, or slices of them, on one processor.
func (p *Plan) ExpertsPerProc(m *model.Model) int {
	n := p.Deployed(m) / p.Experts.EP
	if p.SharedPerCard {
		n += m.Experts.Shared
	}
	return n
}

// ValidExperts reports whether the expert split suits the model: every processor holds the same
// integer number of experts, and slices are equally wide.
func (p *Plan) ValidExperts(m *model.Model) bool {
	return p.Deployed(m)%p.Experts.EP == 0 && m.Experts.Width%p.Experts.TP == 0
}

// ExpertMisses lists every rule that the split of the experts breaks.
func (p *Plan) ExpertMisses(m *model.Model) []Miss {
	var out []Miss
	if n := p.Deployed(m); n%p.Experts.EP != 0 {
		miss := notDivided("ep", p.Experts.EP, n, "deployed experts", m.Name)
		parts := fmt.Sprintf("%d routed + %d redundant", m.Experts.Routed, p.Redundant)
		if !p.SharedPerCard {
			parts += fmt.Sprintf(" + %d shared", p.SharedReplicas)
		}
		miss.Rule = "experts per GPU"
		miss.Why += " (" + parts + ")"
		miss.Enough = fmt.Sprintf("%d redundant experts", p.Redundant+miss.By)
		out = append(out, miss)
	}
	if m.Experts.Width%p.Experts.TP != 0 {
		miss := notDivided("moe_tp", p.Experts.TP, m.Experts.Width, "columns", m.Name)
		miss.Rule = "expert width"
		miss.Why = fmt.Sprintf("moe_tp %d does not divide the expert width %d of %s", p.Experts.TP, m.Experts.Width, m.Name)
		out = append(out, miss)
	}
	return out
}

func Whys(misses []Miss) []string {
	var out []string
	for _, m := range misses {
		out = append(out, m.Why)
	}
	return out
}
