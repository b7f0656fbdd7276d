package web

import (
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sweep"
	"throughline/number"
)

// frontiersFigure is what a map shows in place of a figure: the frontiers of its plans, systems
// together in one small drawing.
const frontiersFigure = "frontiers"

// mostSmall is how many small drawings a map has.
const mostSmall = 24

// smallWidth is that of four side by side.
const smallWidth = 286.0

// small is the frontiers at one place of a map, or why there is none.
type small struct {
	Title, To, Best, Why string
	Chart                template.HTML

	plans []picture.Choice
	chart *chart.Chart
}

// smallOnes are the places of a map of plans, in its order; those that differ in their system alone
// are one.
func (st *state) smallOnes(r *report.Scan) (out []*small) {
	at := map[string]*small{}
	for _, p := range r.Points {
		words := without(st.words, "vary", "link", "where", "design", "samples")
		var title []string
		for i, a := range r.Of.Axes {
			switch text := p.Values[i].Text; {
			case question.IsPath(a.Name):
				words = with(words, setName, joined(words[setName], a.Name+"="+text))
				title = append(title, a.Name+" "+text)
			case a.Name == "system":
			default:
				words = with(words, a.Name, text)
				title = append(title, a.Name+" "+spoken(text))
			}
		}
		s := at[strings.Join(title, ", ")]
		if s == nil {
			s = &small{Title: strings.Join(title, ", "), To: st.to(choosing, words, nil, st.pins)}
			at[s.Title] = s
			out = append(out, s)
		}
		s.add(p)
	}
	return out
}

// add is the plan of a point, as far as it has one.
func (s *small) add(p *sweep.Point) {
	plans, ok := p.Answer.(*advice.Plans)
	if !ok || len(plans.Ranked) == 0 {
		s.Why = p.Reason
		return
	}
	of, brief := *plans, *plans.Advice
	brief.Dots = nil
	of.Advice = &brief
	s.plans = append(s.plans, picture.Choice{Name: of.Loaded.Decode.Name, Place: len(s.plans), Plans: &of})
}

// frontiers draws them all on the same axes.
func (m *mapped) frontiers(st *state, r *report.Scan) {
	var low, high, top *float64
	m.Title = "tokens/s/GPU, tokens/s/user"
	list := st.smallOnes(r)
	for _, s := range list[:min(len(list), mostSmall)] {
		m.Small = append(m.Small, s)
		if len(s.plans) == 0 {
			continue
		}
		c, err := (&picture.Choices{Plans: s.plans, Across: &picture.Across[0], Up: &picture.Up[0]}).Draw()
		if err != nil {
			s.Why = err.Error()
			continue
		}
		best := 0.0
		for _, p := range s.plans {
			best = max(best, p.Ranked[0].PerGPU())
		}
		s.chart, s.Best = c, number.Rate(best)
		x, y := &c.Panels[0].X, &c.Panels[0].Y
		low, high, top = outer(low, x.Low, -1), outer(high, x.High, 1), outer(top, y.High, 1)
	}
	for i, s := range m.Small {
		if s.chart == nil {
			continue
		}
		p := &s.chart.Panels[0]
		p.X.Low, p.X.High, p.Y.High = low, high, top
		p.X.Title, p.Y.Title = "", ""
		s.Chart, _ = figure(s.chart, smallWidth, smallHeight, "small"+string(rune('a'+i)))
	}
}

const smallHeight = 200.0

// outer is the one of two that lies further out in a direction; nil: not known yet.
func outer(a, b *float64, way float64) *float64 {
	if a == nil || b != nil && way**b > way**a {
		return b
	}
	return a
}
