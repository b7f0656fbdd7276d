package picture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/chart"
	"throughline/number"
)

// longestTitle is how long a sentence may be that is a title.
const longestTitle = 110

// curves are the names of the lines of a scan, the axes that they differ in with commas between.
type curves struct {
	all    []string
	groups []string // values of the first of several axes, which have the colours; nil: each line has
}

// curves finds the lines. Where they are more than there are colours, those that share a value of
// the first axis share a colour and a form, if that can be.
func (s *Scan) curves() (c curves) {
	for _, by := range s.By {
		if !slices.Contains(c.all, by) {
			c.all = append(c.all, by)
		}
	}
	if len(c.all) <= mostSeries {
		return c
	}
	for _, name := range c.all {
		if first, _, _ := strings.Cut(name, ", "); !slices.Contains(c.groups, first) {
			c.groups = append(c.groups, first)
		}
	}
	if len(c.groups) > mostSeries {
		c.groups = nil
	}
	return c
}

// style is the look of a line.
func (c *curves) style(i int) (chart.Paint, chart.Form) {
	if c.groups != nil {
		first, _, _ := strings.Cut(c.all[i], ", ")
		i = slices.Index(c.groups, first)
	}
	return seriesStyle(i)
}

// end is what stands at the end of a line: what the colour does not say.
func (c *curves) end(name string) string {
	if c.groups != nil {
		_, name, _ = strings.Cut(name, ", ")
	}
	return name
}

// keys name the lines: those of several groups of points, or the figures of a single one.
func (s *Scan) keys(names curves, figures int) (keys []chart.Key) {
	list := names.all
	if names.groups != nil {
		list = names.groups
	}
	for i, name := range list[:min(len(list), mostSeries+1)] {
		if name == "" {
			continue
		}
		if rate, holds := s.Held[name]; holds {
			name += ": holds " + number.Plain(rate, 4)
		}
		keys = append(keys, keyOf(i, len(list), name))
	}
	if len(list) == 1 && figures > 1 {
		for k, of := range s.Panels[0].Series {
			keys = append(keys, chart.Key{Paint: chart.Series(k), Form: chart.FormOf(k), Text: of.Name})
		}
	}
	return keys
}

// line adds the kth series of one group of points to a panel, the last one with its band.
func (s *Scan) line(panel *chart.Panel, of *Series, k, last, group int, name string, names curves) {
	groups := len(names.all)
	paint, form := names.style(group)
	if groups == 1 {
		paint, form = chart.Series(k), chart.FormOf(k)
	}
	line := chart.Line{Paint: paint, Dash: groups > 1 && k%2 == 1}
	dots := chart.Dots{Paint: paint, Form: form}
	var area chart.Area
	for i, by := range s.By {
		x, y := s.X.Values[i], of.Values[i]
		if by != name || math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		at := chart.XY{X: x, Y: y}
		line.Points = append(line.Points, at)
		dots.Points = append(dots.Points, chart.Dot{XY: at, Tip: fmt.Sprintf("%s %s %s: %s", name, s.X.Name, chart.Number(x), chart.Number(y))})
		switch {
		case of.Width != nil && of.Width[i] > 0:
			area.Upper = append(area.Upper, chart.XY{X: x, Y: y + of.Width[i]})
			area.Lower = append(area.Lower, chart.XY{X: x, Y: max(0, y-of.Width[i])})
		case k == last && of.Band != nil && of.Band[i] > 0:
			area.Upper = append(area.Upper, chart.XY{X: x, Y: y * (1 + of.Band[i])})
			area.Lower = append(area.Lower, chart.XY{X: x, Y: y / (1 + of.Band[i])})
		}
	}
	if len(line.Points) == 0 {
		return
	}
	for _, points := range [][]chart.XY{line.Points, area.Upper, area.Lower} {
		slices.SortFunc(points, func(a, b chart.XY) int { return cmp.Compare(a.X, b.X) })
	}
	if len(area.Upper) > 1 && len(area.Upper) == len(line.Points) {
		area.Paint, area.Faint = paint, true
		panel.Areas = append(panel.Areas, area)
	}
	slices.SortFunc(dots.Points, func(a, b chart.Dot) int { return cmp.Compare(a.X, b.X) })
	if groups > 1 && k == last && len(line.Points) > 1 {
		dots.Points[len(dots.Points)-1].Label = names.end(name)
	}
	panel.Lines, panel.Dots = append(panel.Lines, line), append(panel.Dots, dots)
}

// speeds plots points by both speeds, a panel for each load: a user of long prompts has not the
// choices of one of short ones.
func (s *Scan) speeds() (*chart.Chart, error) {
	if len(s.Plans) > 0 {
		return nil, errors.New("the kind frontier shows plans of several systems")
	}
	c := &chart.Chart{Kind: "speeds", Title: "Speed of a user against throughput of a GPU", Subtitle: s.Title}
	var loads, kinds []string
	for i := range s.User.Values {
		if load := at(s.Loads, i); s.hasSpeeds(i) && !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
		if kind := at(s.Kinds, i); s.hasSpeeds(i) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(loads) == 0 {
		return nil, errors.New("no point has clients")
	}
	if len(loads) > mostPanels {
		c.Note = fmt.Sprintf("The first %d of %d loads.", mostPanels, len(loads))
	}
	shown := 0
	for _, load := range loads[:min(len(loads), mostPanels)] {
		p := chart.Panel{Weight: 1, Title: load, X: chart.Axis{Title: "tokens/s per user", Zero: true}, Y: chart.Axis{Title: "tokens/s per GPU", Zero: true}}
		for g, kind := range kinds {
			shown += s.speedsOf(&p, load, kind, g)
		}
		c.Panels = append(c.Panels, p)
	}
	for i, kind := range kinds[:min(len(kinds), mostSeries+1)] {
		if kind != "" {
			c.Keys = append(c.Keys, keyOf(i, len(kinds), kind))
		}
	}
	c.Description = fmt.Sprintf("%d points by the speed that a user sees and the throughput of a GPU; the steps are those that no other of their kind beats in both.", shown)
	return c, nil
}

// speedsOf adds the points of a load and a kind, and the steps through the best of them, and counts
// them.
func (s *Scan) speedsOf(p *chart.Panel, load, kind string, group int) int {
	paint, form := seriesStyle(group)
	dots := chart.Dots{Paint: paint, Form: form}
	for i := range s.User.Values {
		if !s.hasSpeeds(i) || at(s.Loads, i) != load || at(s.Kinds, i) != kind {
			continue
		}
		x, y := s.User.Values[i], s.GPU.Values[i]
		dots.Points = append(dots.Points, chart.Dot{XY: chart.XY{X: x, Y: y}, Tip: fmt.Sprintf("%s: %s tokens/s/user, %s tokens/s/GPU", s.place(i), chart.Number(x), chart.Number(y))})
	}
	p.Dots = append(p.Dots, dots)
	if group < mostSeries && len(dots.Points) > 0 {
		front := best(dots.Points)
		slices.Reverse(front) // from the fastest on, as steps: between two points there is none
		p.Lines = append(p.Lines, chart.Line{Paint: paint, Width: 1.5, Points: staircase(front)})
	}
	return len(dots.Points)
}

// hasSpeeds reports whether the ith point has clients.
func (s *Scan) hasSpeeds(i int) bool {
	return !math.IsNaN(s.User.Values[i]) && !math.IsNaN(s.GPU.Values[i]) && s.User.Values[i] != 0
}

// at is the ith text, of none an empty one.
func at(list []string, i int) string {
	if list == nil {
		return ""
	}
	return list[i]
}
