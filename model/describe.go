package model

import (
	"fmt"
	"strings"
)

var kindNames = map[AttentionKind]string{
	MultiHead: "MHA", MultiQuery: "MQA", GroupQuery: "GQA", Latent: "MLA", GatedDelta: "gated delta", Lightning: "lightning",
	ShortConv: "convolution", Mamba: "Mamba-2",
}

// String describes an attention: GQA 64/8×128 has 64 query and 8 key/value heads of 128 elements.
func (a *Attention) String() string {
	s := fmt.Sprintf("%s %d", kindNames[a.Kind], a.Heads)
	switch {
	case a.Kind == Latent:
		s += fmt.Sprintf("×%d+%d", a.KVRank, a.RopeDim)
	case a.KVHeads != a.Heads:
		s += fmt.Sprintf("/%d×%d", a.KVHeads, a.HeadDim)
	default:
		s += fmt.Sprintf("×%d", a.HeadDim)
	}
	if a.Compress > 1 {
		s += fmt.Sprintf(" 1:%d", a.Compress)
	}
	if a.IndexTopK > 0 {
		s += fmt.Sprintf(" top %d", a.IndexTopK)
		if a.IndexHeads == 0 {
			s += " of another layer"
		}
	}
	if a.Window > 0 {
		s += fmt.Sprintf(" window %d", a.Window)
	}
	return s
}

func (m *Model) DescribeAttention() string {
	if len(m.Mixed) == 0 {
		return m.Attention.String()
	}
	rest := m.Layers
	var parts []string
	for i := range m.Mixed {
		rest -= m.Mixed[i].Layers
		parts = append(parts, fmt.Sprintf("%d %s", m.Mixed[i].Layers, m.Mixed[i].Attention.String()))
	}
	return strings.Join(append([]string{fmt.Sprintf("%d %s", rest, m.Attention.String())}, parts...), ", ")
}

// DescribeExperts describes the experts that a token visits: 8 of 256 + 1 shared.
func (m *Model) DescribeExperts() string {
	if !m.IsMoE() {
		return ""
	}
	s := fmt.Sprintf("%d of %d", m.Experts.TopK, m.Experts.Routed)
	if m.Experts.Shared > 0 {
		s += fmt.Sprintf(" + %d", m.Experts.Shared)
	}
	return s
}
