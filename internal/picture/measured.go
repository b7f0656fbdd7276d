package picture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"throughline/internal/chart"
	"throughline/internal/validate"
)

// Measured is predictions against measurements.
type Measured struct {
	Name   string // of the table
	Unit   string // of the figures
	Report *validate.Report
}

// MeasuredKinds are the charts of validate.
var MeasuredKinds = []Kind[Measured]{
	{"scatter", "predicted against measured, with bands of 10 and 25%", scatter},
}

// worstShown is the error, in percent, at whose place larger ones lie, too.
const worstShown = 60.0

// mostSeries is how many groups have a paint of their own.
const mostSeries = 7

// pairs are the figures that are measured and predicted, by group.
type pairs struct {
	groups         map[string][]chart.Dot
	order          []string // the largest first
	low, high      float64
	near, far, all int // within 10 and 25%
}

func (m *Measured) pairs() pairs {
	p := pairs{groups: map[string][]chart.Dot{}, low: math.Inf(1)}
	for i := range m.Report.Rows {
		row := &m.Report.Rows[i]
		for k := range row.Figures {
			f := &row.Figures[k]
			if f.Reason != "" || !(f.Measured > 0) || !(f.Predicted > 0) {
				continue
			}
			name := row.Group
			if len(m.Report.Figures) > 1 {
				name = m.Report.Figures[k]
			}
			if p.groups[name] == nil {
				p.order = append(p.order, name)
			}
			tip := fmt.Sprintf("%s %s: measured %s, predicted %s", row.Group, row.Label, chart.Number(f.Measured), chart.Number(f.Predicted))
			p.groups[name] = append(p.groups[name], chart.Dot{XY: chart.XY{X: f.Measured, Y: f.Predicted}, Tip: tip})
			p.low, p.high = min(p.low, f.Measured, f.Predicted), max(p.high, f.Measured, f.Predicted)
			p.all++
			if e := math.Abs(f.Error()); e <= 0.1 {
				p.near, p.far = p.near+1, p.far+1
			} else if e <= 0.25 {
				p.far++
			}
		}
	}
	slices.SortStableFunc(p.order, func(a, b string) int { return cmp.Compare(len(p.groups[b]), len(p.groups[a])) })
	return p
}

func scatter(m Measured) (*chart.Chart, error) {
	found := m.pairs()
	all, near, far, order, groups := found.all, found.near, found.far, found.order, found.groups
	if all == 0 {
		return nil, errors.New("no row has a measurement and a prediction")
	}
	low, high := found.low/1.3, found.high*1.3
	unit := ""
	if m.Unit != "" {
		unit = ", " + m.Unit
	}
	p := chart.Panel{Weight: 1.5, X: chart.Axis{Log: true, Low: &low, High: &high, Bare: true}, Y: chart.Axis{Title: "predicted" + unit, Log: true, Low: &low, High: &high}}
	errs := chart.Panel{Weight: 1, Least: 50, X: chart.Axis{Title: "measured" + unit, Log: true, Low: &low, High: &high}, Y: chart.Axis{Title: "error, %", Low: chart.At(-worstShown), High: chart.At(worstShown)}}
	flat := func(y float64) []chart.XY { return []chart.XY{{X: low, Y: y}, {X: high, Y: y}} }
	for _, band := range []float64{0.25, 0.1} {
		over, under := 1+band, 1-band
		p.Areas = append(p.Areas, chart.Area{Paint: chart.Muted, Faint: true,
			Upper: []chart.XY{{X: low, Y: low * over}, {X: high / over, Y: high}, {X: high, Y: high}},
			Lower: []chart.XY{{X: low, Y: low}, {X: low / under, Y: low}, {X: high, Y: high * under}}})
		errs.Areas = append(errs.Areas, chart.Area{Paint: chart.Muted, Faint: true, Upper: flat(100 * band), Lower: flat(-100 * band)})
	}
	p.Lines = []chart.Line{{Paint: chart.Muted, Width: 1, Points: []chart.XY{{X: low, Y: low}, {X: high, Y: high}}}}
	errs.Lines = []chart.Line{{Paint: chart.Muted, Width: 1, Points: flat(0)}}
	c := &chart.Chart{
		Kind: "scatter", Title: "Predicted against measured",
		Subtitle: fmt.Sprintf("%s: %d figures, %.0f%% within 10%%, %.0f%% within 25%%", m.Name, all, 100*float64(near)/float64(all), 100*float64(far)/float64(all)),
	}
	for i, name := range order {
		s := chart.Dots{Paint: chart.Series(i), Form: chart.FormOf(i), Points: groups[name]}
		if i >= mostSeries { // the rest together
			rest := &chart.Dots{Paint: chart.Muted, Form: chart.Round}
			for _, other := range order[i:] {
				rest.Points = append(rest.Points, groups[other]...)
			}
			p.Dots = append(p.Dots, *rest)
			c.Keys = append(c.Keys, chart.Key{Paint: rest.Paint, Form: rest.Form, Text: fmt.Sprintf("%d other groups", len(order)-i)})
			break
		}
		p.Dots = append(p.Dots, s)
		c.Keys = append(c.Keys, chart.Key{Paint: s.Paint, Form: s.Form, Text: fmt.Sprintf("%s (%d)", cmp.Or(name, "all"), len(s.Points))})
	}
	// Small groups lie above large ones, which would hide them.
	slices.SortStableFunc(p.Dots, func(a, b chart.Dots) int { return cmp.Compare(len(b.Points), len(a.Points)) })
	c.Keys = append(c.Keys, chart.Key{Paint: chart.Grid, Form: chart.Box, Text: "±10%, ±25%"})
	for _, d := range p.Dots {
		points := make([]chart.Dot, len(d.Points))
		for i, q := range d.Points {
			e := 100 * (q.Y/q.X - 1)
			points[i] = chart.Dot{XY: chart.XY{X: q.X, Y: min(max(e, -worstShown), worstShown)}, Tip: q.Tip}
		}
		d.Points = points
		errs.Dots = append(errs.Dots, d)
	}
	c.Note = fmt.Sprintf("Errors beyond ±%.0f%% are drawn there.", worstShown)
	c.Panels = []chart.Panel{p, errs}
	c.Description = fmt.Sprintf("%d predictions against their measurements, in %d groups, on logarithmic axes. %d lie within 10%%, %d within 25%%.", all, len(order), near, far)
	return c, nil
}
