package picture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/number"
	"throughline/workload"
)

// Scan is the points of a scan, as far as charts need them.
type Scan struct {
	Title string
	Says  string   // what follows from the points; empty: nothing
	X     Series   // along the x axis
	By    []string // the other axes of each point, in words; empty: none
	// Panels are what lines show.
	Panels []ScanPanel
	// Rows and columns of a heat map, and its values.
	Y      *Series
	Value  Series
	Less   bool     // is better, of the value
	Note   string   // on the value; empty: none
	Others []string // the axes besides both, in words; empty: none
	Why    []string // why a point has no value
	// User and GPU are the speeds of a frontier.
	User, GPU Series
	Kinds     []string           // the axes of each point that are not numbers, in words; nil: none
	Loads     []string           // what each point asks of a deployment, in words; nil: all the same
	Held      map[string]float64 // the highest rates at which limits hold, by the other axes in words
	// Plans are searches on several systems; empty: none.
	Plans []*advice.Plans
}

type ScanPanel struct {
	Title  string
	Limit  float64 // 0: none
	Says   string  // of the limit
	Series []Series
}

// Series is a number of each point; NaN: none.
type Series struct {
	Name   string
	Values []float64
	Width  []float64 // half of its interval; nil: none
	Band   []float64 // of the prediction, as a share; nil: none
}

var ScanKinds = []Kind[*Scan]{
	{"frontier", "of plans on several systems: the frontier of each as steps, and the best with their bands", (*Scan).frontiers},
	{"lines", "figures over an axis, a line for each value of the others", (*Scan).lines},
	{"heatmap", "a figure by the values of two axes", (*Scan).heatmap},
	{"speeds", "tokens/s per user against tokens/s per GPU, a point for each question", (*Scan).speeds},
}

// OfScan is a scan as charts need it: along x is the axis of numbers with the most values.
func OfScan(r *report.Scan) *Scan {
	s := &Scan{Title: r.Title(), Plans: r.Systems()}
	if says := r.Sentences(); len(says) > 0 {
		s.Says = says[0]
	}
	x, y, numeric := axesOf(r)
	along := func(axis int) Series {
		a := &r.Of.Axes[axis]
		return Series{Name: strings.TrimSpace(a.Name + " " + a.Unit()), Values: r.AxisNumbers(axis)}
	}
	figure := func(name string) Series {
		k := sweep.Find(r.Of.Of, name)
		if k < 0 {
			return Series{}
		}
		values, widths := r.FigureValues(k)
		return Series{Name: sweep.Figures(r.Of.Of)[k].Title, Values: values, Width: widths, Band: r.FigureBands(k)}
	}
	if x >= 0 {
		s.X = along(x)
	}
	if y >= 0 {
		other := along(y)
		s.Y = &other
	}
	s.By, s.Others, s.Why, s.Held = r.OtherAxes(x), r.OtherAxes(x, y), r.Why(), r.HighestRates(x)
	s.Kinds, s.Loads = r.OtherAxes(append(numeric, r.Loads()...)...), r.OtherAxes(r.Choices()...)
	s.Less = sweep.Figures(r.Of.Of)[r.Objective()].Better < 0
	s.Value = figure(sweep.Figures(r.Of.Of)[r.Objective()].Name)
	if panels := panelsOf(r); r.Of.Of == question.Simulate { // what is asked for is no result of it
		shown := panels[0]
		if panels[1].limit.Seconds > 0 && shown.limit.Seconds == 0 {
			shown = panels[1]
		}
		s.Value, s.Less = figure(shown.decisive()), true
		if shown.limit.Seconds > 0 {
			s.Note = fmt.Sprintf("The limit on %s: %s.", shown.short, shown.limitText())
		}
	}
	s.User, s.GPU = figure("tokens_per_s_per_user"), figure("tokens_per_s_per_gpu")
	for _, p := range panelsOf(r) {
		s.add(r, p, figure)
	}
	return s
}

// axesOf are the axes along x and y, or -1, and all axes of numbers.
func axesOf(r *report.Scan) (x, y int, numeric []int) {
	x, y = -1, -1
	for i := range r.Of.Axes {
		a := &r.Of.Axes[i]
		if a.IsNumeric() {
			numeric = append(numeric, i)
		}
		switch {
		case !a.IsNumeric() || a.Name == scan.SeedSetting:
		case x < 0 || a.Len() > r.Of.Axes[x].Len():
			x, y = i, x
		case y < 0 || a.Len() > r.Of.Axes[y].Len():
			y = i
		}
	}
	return x, y, numeric
}

func (s *Scan) add(r *report.Scan, p panel, figure func(name string) Series) {
	if several(s.By) && len(p.figures) > 1 { // lines of each would hide each other
		p.figures = []string{p.decisive()}
		p.title = sweep.Figures(r.Of.Of)[sweep.Find(r.Of.Of, p.figures[0])].Title
	}
	var list []Series
	for _, name := range p.figures {
		one := figure(name)
		if !slices.ContainsFunc(one.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			continue
		}
		one.Name = strings.TrimSuffix(strings.TrimSuffix(one.Name, " ms"), " "+p.short)
		if len(p.figures) == 1 {
			one.Name = ""
		}
		list = append(list, one)
	}
	s.Panels = append(s.Panels, ScanPanel{p.title, p.limit.Seconds * 1e3, p.limitText(), list})
}

// panel is what one panel of lines shows.
type panel struct {
	title, short string
	figures      []string
	limit        workload.Limit // zero: none
}

func (p *panel) limitText() string {
	return strings.TrimSpace(p.limit.Statistic() + " ≤ " + number.Time(p.limit.Seconds, 3))
}

// decisive is the figure that the limit is on, or else the last, the highest percentile.
func (p *panel) decisive() string {
	for _, name := range p.figures {
		if p.limit.Seconds > 0 && strings.Contains(name, "_"+p.limit.Statistic()+"_") {
			return name
		}
	}
	return p.figures[len(p.figures)-1]
}

// several reports whether points differ in other axes than that along x.
func several(by []string) bool {
	return slices.ContainsFunc(by, func(name string) bool { return name != by[0] })
}

// panelsOf are the panels of the command that was asked.
func panelsOf(r *report.Scan) []panel {
	limit := func(name string) workload.Limit {
		l, _ := workload.ParseLimit(r.Of.Words[name])
		return l
	}
	none := workload.Limit{}
	switch {
	case r.Of.Of == question.Simulate:
		return []panel{
			{"TTFT ms", "TTFT", []string{"ttft_p50_ms", "ttft_p95_ms", "ttft_p99_ms"}, limit("ttft")},
			{"TPOT ms", "TPOT", []string{"tpot_p50_ms", "tpot_p95_ms", "tpot_p99_ms"}, limit("tpot")},
		}
	case sweep.Figures(r.Of.Of)[r.Objective()].Name == "step_ms":
		return []panel{{"step ms", "", []string{"step_ms"}, none}, {"tokens/s", "", []string{"tokens_per_s"}, none}}
	}
	objective := sweep.Figures(r.Of.Of)[r.Objective()]
	return []panel{{objective.Title, "", []string{objective.Name}, none}, {"TPOT ms", "", []string{"tpot_ms"}, none}}
}

func (s *Scan) lines() (*chart.Chart, error) {
	if s.X.Values == nil {
		return nil, errors.New("lines need an axis of numbers")
	}
	c := &chart.Chart{Kind: "lines", Title: s.Says, Subtitle: s.Title}
	names := s.curves()
	most := 0
	for _, p := range s.Panels {
		most = max(most, len(p.Series))
		panel := s.empty(p.Title, p.Series)
		if p.Limit > 0 {
			panel.Rules = append(panel.Rules, chart.Rule{Y: chart.At(p.Limit), Paint: chart.Red, Dash: true, Label: p.Says})
		}
		for k := range p.Series {
			for i, name := range names.all {
				s.line(&panel, &p.Series[k], k, len(p.Series)-1, i, name, names)
			}
		}
		if len(names.all) > mostShaded {
			panel.Areas = nil
		}
		if len(panel.Areas) > 0 {
			c.Note = "Shaded: the band of the prediction or, of several seeds, the 95% interval of the mean."
		}
		if len(panel.Lines) > 0 {
			c.Panels = append(c.Panels, panel)
		}
	}
	if len(c.Panels) == 0 {
		return nil, errors.New("no point has numbers along " + cmp.Or(s.X.Name, "an axis"))
	}
	switch several := len(names.all) > 1; {
	case several && len(s.Held) > 0: // the first sentence is of one curve
		c.Title = fmt.Sprintf("%s over %s: what holds", c.Panels[0].Y.Title, s.X.Name)
	case c.Title == "" || len(c.Title) > longestTitle:
		c.Title = fmt.Sprintf("%s over %s", c.Panels[0].Y.Title, s.X.Name)
	}
	c.Keys = s.keys(names, most)
	c.Description = fmt.Sprintf("%d panels over %s, with a line for each of %d values of the other axes.", len(c.Panels), s.X.Name, len(names.all))
	return c, nil
}

// mostShaded is how many curves have their bands shaded, which would cover each other.
const mostShaded = 2

// empty is a panel with the axes that suit some series, and the rates that hold.
func (s *Scan) empty(title string, list []Series) chart.Panel {
	var heights []float64
	for k := range list {
		heights = append(heights, list[k].Values...)
	}
	steep := spansDecades(heights)
	panel := chart.Panel{Weight: 1, X: chart.Axis{Title: s.X.Name, Log: spansDecades(s.X.Values)}, Y: chart.Axis{Title: title, Zero: !steep, Log: steep}}
	if name, timed := strings.CutSuffix(title, " ms"); timed {
		panel.Y.Title, panel.Y.Text = name, millis
	}
	if rate, holds := s.Held[s.By[0]]; holds && !several(s.By) { // of several curves the legend says it
		panel.Rules = append(panel.Rules, chart.Rule{X: chart.At(rate), Paint: chart.Muted, Dash: true, Label: "holds " + number.Plain(rate, 4)})
	}
	return panel
}

// spansDecades reports whether values differ by so large ratios that even steps would hide most of
// them.
func spansDecades(values []float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low > 0 && high/low >= 30
}

func (s *Scan) heatmap() (*chart.Chart, error) {
	if s.Y == nil {
		return nil, errors.New("a heat map needs two axes of numbers")
	}
	c := &chart.Chart{Kind: "heatmap", Title: fmt.Sprintf("%s by %s and %s", s.Value.Name, s.X.Name, s.Y.Name), Subtitle: s.Title}
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: s.X.Name}, Y: chart.Axis{Title: s.Y.Name}}
	columns, rows := places(s.X.Values), places(s.Y.Values)
	if n := max(len(columns), len(rows)); n > mostBands {
		return nil, fmt.Errorf("%d values in a row are too many to see", n)
	}
	for _, v := range columns {
		p.X.Bands = append(p.X.Bands, number.Plain(v, 6))
	}
	for _, v := range rows {
		p.Y.Bands = append(p.Y.Bands, number.Plain(v, 6))
	}
	won := s.winners(columns, rows)
	h := heat{panel: &p, log: func(float64, float64) bool { return spansDecades(s.Value.Values) }}
	names := s.named(won)
	for y := range rows {
		for x := range columns {
			i, ok := won[[2]int{x, y}]
			if !ok {
				continue
			}
			v := s.Value.Values[i]
			at := fmt.Sprintf("%s %s, %s %s: ", s.X.Name, chart.Number(columns[x]), s.Y.Name, chart.Number(rows[y]))
			cell := chart.Cell{X: x, Y: y, Value: v, Inside: "none", Tip: at + "none: " + s.Why[i]}
			if !math.IsNaN(v) {
				cell.Inside = strings.TrimSpace(letter(names, s.Others[i]) + " " + chart.Number(v))
				cell.Tip = at + chart.Number(v) + " " + s.Others[i]
			}
			h.add(cell)
		}
	}
	if !h.some {
		return nil, errors.New("no point has a number in " + s.Value.Name)
	}
	h.draw(c, s.Value.Name, s.X.Name, s.Y.Name)
	c.Note = s.Note
	for _, name := range names {
		c.Keys = append(c.Keys, chart.Key{Paint: chart.Muted, Form: chart.Box, Text: letter(names, name) + ": " + name})
	}
	return c, nil
}

// winners are the best points of the cells of a heat map; of a cell without values, the first.
func (s *Scan) winners(columns, rows []float64) map[[2]int]int {
	out := map[[2]int]int{}
	for i, v := range s.Value.Values {
		at := [2]int{slices.Index(columns, s.X.Values[i]), slices.Index(rows, s.Y.Values[i])}
		if at[0] < 0 || at[1] < 0 {
			continue
		}
		was, ok := out[at]
		if !ok || math.IsNaN(s.Value.Values[was]) || s.Less && v < s.Value.Values[was] || !s.Less && v > s.Value.Values[was] {
			out[at] = i
		}
	}
	return out
}

// named are the other axes of the winners in words, each once; none where they are too many for
// letters.
func (s *Scan) named(won map[[2]int]int) (out []string) {
	for _, i := range won {
		if name := s.Others[i]; name != "" && !math.IsNaN(s.Value.Values[i]) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if len(out) > mostSeries {
		return nil
	}
	return out
}

// letter is the one that stands for a name in a cell.
func letter(names []string, name string) string {
	if at := slices.Index(names, name); at >= 0 {
		return string(rune('A' + at))
	}
	return ""
}

// places are the values of a series in ascending order, each once.
func places(of []float64) []float64 {
	out := slices.DeleteFunc(slices.Clone(of), math.IsNaN)
	slices.Sort(out)
	return slices.Compact(out)
}

// frontiers shows the frontier of each system, with its name at the end, and the best of each.
func (s *Scan) frontiers() (*chart.Chart, error) {
	if len(s.Plans) == 0 {
		return nil, errors.New("frontier is of one plan, or of plans that differ in their system alone")
	}
	first := s.Plans[0]
	title, value := objectiveOf(first)
	l := first.Loaded
	c := &chart.Chart{Kind: "frontier", Title: "Speed of a user against " + title,
		Subtitle: fmt.Sprintf("%s, %d GPUs of each system, %d in, %d out; diamonds: the best of each, whiskers: band of the prediction", l.Shape.Name, first.Options.GPUs, l.Lengths.Input, l.Lengths.Output)}
	panel := chart.Panel{Weight: 1, X: chart.Axis{Title: "faster for a user, tokens/s →", Zero: true}, Y: chart.Axis{Title: title, Zero: true}}
	var names []string
	for i, p := range s.Plans {
		name := p.Ranked[0].Deployment.Pools[0].System.Name
		at := func(d *advice.Candidate) chart.XY { return chart.XY{X: 1 / d.TPOT, Y: value(d)} }
		tip := func(d *advice.Candidate) string {
			return fmt.Sprintf("%s, %s %s: %s tokens/s/user, %s %s, TTFT %s", name, d.Deployment.Engine.Name, planOf(d), number.Rate(1/d.TPOT), number.Rate(value(d)), title, number.Time(d.TTFT, 2))
		}
		dots := chart.Dots{Paint: chart.Series(i), Form: chart.FormOf(i), Size: 4}
		for k := range p.Frontier {
			d := &p.Frontier[k]
			dots.Points = append(dots.Points, chart.Dot{XY: at(d), Tip: tip(d)})
		}
		best := &p.Ranked[0]
		panel.Lines = append(panel.Lines, chart.Line{Paint: dots.Paint, Width: 1.6, Points: staircase(climbing(dots.Points))})
		panel.Lines = append(panel.Lines, whiskers(at(best), Across[0].band(&best.Record), best.ThroughputBand(), chart.Line{Paint: dots.Paint})...)
		panel.Dots = append(panel.Dots, chart.Dots{Paint: dots.Paint, Form: chart.Diamond, Size: 6, Points: []chart.Dot{{XY: at(best), Label: name + ": " + planOf(best), Tip: tip(best)}}}, dots)
		c.Keys = append(c.Keys, chart.Key{Paint: dots.Paint, Form: dots.Form, Text: name})
		names = append(names, fmt.Sprintf("%s %s", name, number.Rate(value(best))))
	}
	if t := l.Limits().TPOT; t != nil {
		shadeBeyond(&panel, 1e3 / *t, fmt.Sprintf("too slow | TPOT ≤ %s", number.Time(*t/1e3, 4)))
	}
	c.Panels = []chart.Panel{panel}
	c.Description = fmt.Sprintf("The frontiers of %d systems between the speed of a user and %s. The best of each: %s.", len(s.Plans), title, strings.Join(names, ", "))
	return c, nil
}

// place names a point by its values on all axes.
func (s *Scan) place(i int) string {
	if s.X.Values == nil {
		return s.By[i]
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.By[i], s.X.Name, chart.Number(s.X.Values[i])))
}
