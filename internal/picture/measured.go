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

var MeasuredKinds = []Kind[Measured]{
	{"scatter", "predicted against measured, with bands of 10 and 25%", scatter},
	{"errors", "share of predictions within an error, by group", errorShares},
}

// worstShown caps the errors shown, in percent.
const worstShown = 60.0

// mostSeries is how many groups have their own paint.
const mostSeries = 7

// pairs are the measured and predicted figures by group.
type pairs struct {
	groups         map[string][]chart.Dot
	order          []string // largest first
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

// drawn is the figures of a group, or of all groups without their own paint, with a legend entry.
type drawn struct {
	chart.Key
	points []chart.Dot
}

// series returns the groups to draw: the largest with their own paint, the rest together.
func (p *pairs) series() (out []drawn) {
	for i, name := range p.order {
		s := drawn{chart.Key{Paint: chart.Series(i), Form: chart.FormOf(i), Text: fmt.Sprintf("%s (%d)", cmp.Or(name, "all"), len(p.groups[name]))}, p.groups[name]}
		if i < mostSeries {
			out = append(out, s)
			continue
		}
		s = drawn{Key: chart.Key{Paint: chart.Muted, Form: chart.Round, Text: fmt.Sprintf("%d other groups", len(p.order)-i)}}
		for _, other := range p.order[i:] {
			s.points = append(s.points, p.groups[other]...)
		}
		return append(out, s)
	}
	return out
}

func scatter(m Measured) (*chart.Chart, error) {
	found := m.pairs()
	all, near, far := found.all, found.near, found.far
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
	for _, s := range found.series() {
		p.Dots = append(p.Dots, chart.Dots{Paint: s.Paint, Form: s.Form, Points: s.points})
		c.Keys = append(c.Keys, s.Key)
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
	c.Description = fmt.Sprintf("%d predictions against their measurements, in %d groups, on logarithmic axes. %d lie within 10%%, %d within 25%%.", all, len(found.order), near, far)
	return c, nil
}

// errorShares draws the share of predictions within each error: early risers are predicted well.
func errorShares(m Measured) (*chart.Chart, error) {
	found := m.pairs()
	if found.all == 0 {
		return nil, errors.New("no row has a measurement and a prediction")
	}
	p := chart.Panel{
		X: chart.Axis{Title: "error, % of what was measured", Low: chart.At(0), High: chart.At(worstShown)},
		Y: chart.Axis{Title: "predictions within it, %", Low: chart.At(0), High: chart.At(100)},
	}
	for _, x := range []float64{10, 25} {
		p.Rules = append(p.Rules, chart.Rule{X: &x, Paint: chart.Muted, Dash: true})
	}
	c := &chart.Chart{
		Kind: "errors", Title: "How far off predictions are",
		Subtitle:    fmt.Sprintf("%s: %d figures, %.0f%% within 10%%, %.0f%% within 25%%", m.Name, found.all, 100*float64(found.near)/float64(found.all), 100*float64(found.far)/float64(found.all)),
		Description: fmt.Sprintf("The share of predictions within each error, for %d predictions in %d groups. %d lie within 10%%, %d within 25%%.", found.all, len(found.order), found.near, found.far),
		Note:        fmt.Sprintf("Where a line ends below 100%%, the rest is off by more than %.0f%%.", worstShown),
	}
	for _, s := range found.series() {
		s.Form = chart.Stroke
		c.Keys = append(c.Keys, s.Key)
		p.Lines = append(p.Lines, chart.Line{Paint: s.Paint, Points: within(s.points), Steps: true})
	}
	c.Panels = []chart.Panel{p}
	return c, nil
}

// within returns the share of predictions, in percent, at each tenth of a percent of error where it
// grows.
func within(points []chart.Dot) []chart.XY {
	const perPercent = 10
	last := int(worstShown * perPercent)
	counts := make([]int, last+1)
	for _, q := range points {
		if e := math.Ceil(100 * math.Abs(q.Y/q.X-1) * perPercent); e <= float64(last) {
			counts[int(e)]++
		}
	}
	out := []chart.XY{{}}
	sum := 0
	for i, n := range counts {
		if sum += n; n > 0 || i == last {
			out = append(out, chart.XY{X: float64(i) / perPercent, Y: 100 * float64(sum) / float64(len(points))})
		}
	}
	return out
}
