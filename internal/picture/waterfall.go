package picture

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/report"
	"throughline/number"
)

// Looks of the parts of what clients see.
var (
	othersStyle = style{chart.C6, true, "others' requests"}
	savedStyle  = style{chart.Grid, true, "saved"}
	totalStyle  = style{chart.Ink, false, "what clients see"}
)

func (s *Step) partLook(of explain.PartOf) style {
	switch of {
	case explain.OfAttention:
		return attentionStyle
	case explain.OfMLP:
		return partStyle("mlp", "", s.experts())
	case explain.OfDrafts:
		return draftStyle
	case explain.OfEnds:
		return endsStyle
	case explain.OfExchange:
		return networkStyle
	case explain.OfOffload:
		return offloadStyle
	case explain.OfOthers:
		return othersStyle
	case explain.OfSaving:
		return savedStyle
	}
	return waitingStyle
}

// waterfall shows TPOT and TTFT as parts that end in them.
func waterfall(s Step) (*chart.Chart, error) {
	if s.Parts == nil {
		return nil, errors.New("no clients are served: a bare step is its own sum, which share shows")
	}
	r := s.Answer.Record
	c := &chart.Chart{Kind: "waterfall", Subtitle: report.PointTitle(s.Answer)}
	var l legend
	var titles, tells []string
	old := &Step{Answer: s.Answer, Parts: &explain.Parts{}}
	if s.Was != nil && s.Was.Parts != nil {
		old = s.Was
	}
	for _, one := range []struct {
		name    string
		seconds float64
		band    float64
		parts   []explain.Part
		was     float64
		before  []explain.Part
	}{{"TPOT", r.TPOT, r.Trusted.TPOT.Band, s.Parts.TPOT, old.Answer.Record.TPOT, old.Parts.TPOT}, {"TTFT", r.TTFT, r.Trusted.TTFT.Band, s.Parts.TTFT, old.Answer.Record.TTFT, old.Parts.TTFT}} {
		if len(one.parts) == 0 || !(one.seconds > 0) {
			continue
		}
		text := number.Banded(one.seconds, one.band)
		titles = append(titles, one.name+" "+text)
		p := s.falling(one.name, one.seconds, one.parts, &l)
		if len(one.before) > 0 {
			addGhosts(&p, one.seconds, one.parts, one.was, one.before)
			tells = append(tells, fmt.Sprintf("%s was %s", one.name, number.Time(one.was, 3)))
		}
		p.Title = fmt.Sprintf("%s %s", one.name, text)
		c.Panels = append(c.Panels, p)
		for _, part := range one.parts {
			tells = append(tells, fmt.Sprintf("%s of %s %s", part.Name, one.name, number.Time(part.Ms/1e3, 3)))
		}
	}
	c.Title = "Where it goes: " + strings.Join(titles, ", ")
	c.Keys = l.keys
	c.Description = "Bars one after another that end in what clients see: " + strings.Join(tells, "; ") + "."
	return c, nil
}

// falling is a panel with a bar for each part, from where the last one ended, and one for the sum.
func (s *Step) falling(name string, seconds float64, parts []explain.Part, l *legend) chart.Panel {
	unit, size := timeUnit(1e6 * seconds)
	p := chart.Panel{Weight: float64(2 + len(parts)), X: chart.Axis{Title: "time in " + unit, Zero: true}}
	at, most := 0.0, 0.0
	for i, part := range parts {
		look := l.add(s.partLook(part.Of))
		to := at + 1e3*part.Ms/size
		text := strings.Replace(number.Time(part.Ms/1e3, 3), "-", "−", 1)
		p.Y.Bands = append(p.Y.Bands, part.Name)
		p.Bars = append(p.Bars, chart.Bar{Band: i, From: min(at, to), To: max(at, to), Paint: look.paint, Hatch: look.hatch, After: text, Tip: fmt.Sprintf("%s: %s of %s", part.Name, text, name)})
		at = to
		most = max(most, at)
	}
	l.add(totalStyle)
	p.Y.Bands = append(p.Y.Bands, name)
	p.Bars = append(p.Bars, chart.Bar{Band: len(parts), To: 1e6 * seconds / size, Paint: totalStyle.paint, After: number.Time(seconds, 3), Tip: fmt.Sprintf("%s: %s", name, number.Time(seconds, 3))})
	p.X.High = chart.At(1.12 * math.Max(most, 1e6*seconds/size))
	return p
}

// addGhosts draws the bars as they were before numbers were changed, by the names of their parts.
func addGhosts(p *chart.Panel, seconds float64, parts []explain.Part, was float64, before []explain.Part) {
	_, size := timeUnit(1e6 * seconds)
	at, most := 0.0, *p.X.High/1.12
	for _, part := range before {
		to := at + 1e3*part.Ms/size
		if band := slices.IndexFunc(parts, func(now explain.Part) bool { return now.Name == part.Name }); band >= 0 {
			p.Bars = append(p.Bars, chart.Bar{Band: band, From: min(at, to), To: max(at, to), Paint: chart.Ink, Hollow: true})
		}
		at = to
		most = max(most, at)
	}
	p.Bars[len(parts)].After += ", was " + number.Time(was, 3)
	p.Bars = append(p.Bars, chart.Bar{Band: len(parts), To: 1e6 * was / size, Paint: chart.Ink, Hollow: true})
	p.X.High = chart.At(1.12 * math.Max(most, 1e6*was/size))
}
