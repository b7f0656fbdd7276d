package picture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/result"
	"throughline/number"
	"throughline/serving"
)

// Figure is what an axis of choices shows of a deployment.
type Figure struct {
	Name  string // in addresses
	Title string
	More  bool // is better
	of    func(r *result.Record, perGPU float64) float64
	dot   func(d *advice.Dot) float64         // nil: the closed form does not tell
	width func(c *serving.Confidence) float64 // the band of a prediction; nil: none
}

// Across and Up are what choices can show along their axes, the usual first.
var (
	Across = []Figure{
		{"user", "tokens/s/user", true, func(r *result.Record, _ float64) float64 { return 1 / r.TPOT }, func(d *advice.Dot) float64 { return 1 / d.TPOT }, func(c *serving.Confidence) float64 { return c.TPOT.Band }},
		{"ttft", "TTFT, s", false, func(r *result.Record, _ float64) float64 { return r.TTFT }, func(d *advice.Dot) float64 { return d.TTFT }, func(c *serving.Confidence) float64 { return c.TTFT.Band }},
		{"e2e", "whole request, s", false, func(r *result.Record, _ float64) float64 { return r.Latency }, func(d *advice.Dot) float64 { return d.Latency }, nil},
	}
	Up = []Figure{
		{"gpu", "tokens/s/GPU", true, func(_ *result.Record, perGPU float64) float64 { return perGPU }, func(d *advice.Dot) float64 { return d.PerGPU }, nil},
		{"cost", "$/M tokens", false, func(r *result.Record, _ float64) float64 { return positive(r.DollarsPerMillion) }, nil, nil},
		{"energy", "tokens/J", true, func(r *result.Record, _ float64) float64 { return tokensPerJoule(r) }, nil, nil},
	}
)

// band is that of a prediction; 0: unknown.
func (f *Figure) band(r *result.Record) float64 {
	if r.Trusted == nil || f.width == nil {
		return 0
	}
	return f.width(r.Trusted)
}

// positive is a figure that is known; others have no place on a chart.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

func tokensPerJoule(r *result.Record) float64 {
	if r.Energy != nil && r.Energy.Output > 0 {
		return 1 / r.Energy.Output
	}
	return positive(r.TokensPerJoule)
}

// FigureOf finds a figure by its name; others are the usual.
func FigureOf(list []Figure, name string) *Figure {
	at := slices.IndexFunc(list, func(f Figure) bool { return f.Name == name })
	return &list[max(0, at)]
}

// Choice is a plan among others.
type Choice struct {
	Name  string
	Place int // whose paint it has; negative: none of its own
	*advice.Plans
}

// Marked is a deployment that stands out.
type Marked struct {
	Label, Ref, Link string
	Place            int
	PerGPU           float64
	*result.Record
}

// Beside is a measured run and its prediction: seconds, and output tokens per second and GPU.
type Beside struct {
	Name                string
	Place               int
	Measured, Predicted ClientFigures
}

// ClientFigures is what clients of a run see.
type ClientFigures struct{ TTFT, TPOT, Latency, PerGPU float64 }

// Choices are plans in one drawing: the frontier of each as steps, all that was weighed as faint
// dots, and some deployments with their bands.
type Choices struct {
	Plans      []Choice
	Marks      []Marked
	Runs       []Beside
	Across, Up *Figure
}

func choicePaint(place int) chart.Paint {
	if place < 0 {
		return chart.Muted
	}
	return chart.C1 + chart.Paint(place%4)
}

// choiceForms are the shapes of places.
var choiceForms = [...]chart.Form{chart.Round, chart.Diamond, chart.Triangle, chart.Square}

func (c *Choices) Draw() (*chart.Chart, error) {
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: axisWithArrow(c.Across), Log: true}, Y: chart.Axis{Title: c.Up.Title, Zero: true}}
	tells := ""
	for i := range c.Plans {
		one := &c.Plans[i]
		all, front := c.places(one)
		if len(all) == 0 {
			continue
		}
		paint := choicePaint(one.Place)
		if dots := c.dots(one, paint); len(dots.Points) > 0 {
			p.Dots = append(p.Dots, dots)
		}
		best := front[len(front)-1]
		p.Lines = append(p.Lines, chart.Line{Paint: paint, Width: 2, Dash: one.Place == 2, Points: c.steps(front), Label: one.Name, Ref: "front" + fmt.Sprint(i)})
		tells += fmt.Sprintf(" %s reaches %s %s at %s %s.", one.Name, number.Rate(best.Y), c.Up.Title, number.Plain(best.X, 3), c.Across.Title)
	}
	if len(p.Lines) == 0 {
		return nil, errors.New("no deployment was found")
	}
	for i := range c.Marks {
		m := &c.Marks[i]
		at := chart.XY{X: c.Across.of(m.Record, m.PerGPU), Y: c.Up.of(m.Record, m.PerGPU)}
		paint := choicePaint(m.Place)
		up := m.ThroughputBand()
		if c.Up.Name == "energy" {
			up = 0
		}
		p.Lines = append(p.Lines, whiskers(at, c.Across.band(m.Record), up, chart.Line{Paint: paint, Ref: m.Ref})...)
		form := chart.Round
		if m.Place >= 0 {
			form = choiceForms[m.Place%len(choiceForms)]
		}
		p.Dots = append(p.Dots, chart.Dots{Paint: paint, Form: form, Size: 6, Points: []chart.Dot{{XY: at, Label: m.Label, Ref: m.Ref, Link: m.Link,
			Tip: fmt.Sprintf("%s: %s %s, %s %s", m.Label, number.Plain(at.X, 3), c.Across.Title, number.Rate(at.Y), c.Up.Title)}}})
	}
	tells += c.beside(&p)
	c.limit(&p)
	out := &chart.Chart{Kind: "choices", Title: c.Up.Title + " against " + c.Across.Title, Panels: []chart.Panel{p}}
	out.Description = "The best deployments as steps, from the fastest for a user to the highest throughput." + tells
	return out, nil
}

// beside draws measured runs as crosses, each joined to what is predicted for it.
func (c *Choices) beside(p *chart.Panel) (tells string) {
	if c.Up.Name != "gpu" {
		return "" // of the rest nothing was measured
	}
	at := func(s *ClientFigures) chart.XY {
		r := &result.Record{}
		r.TTFT, r.TPOT, r.Latency = s.TTFT, s.TPOT, s.Latency
		return chart.XY{X: c.Across.of(r, s.PerGPU), Y: s.PerGPU}
	}
	for i := range c.Runs {
		b := &c.Runs[i]
		from, to, paint := at(&b.Measured), at(&b.Predicted), choicePaint(b.Place)
		if b.Place < 0 {
			paint = chart.Ink
		}
		ref := fmt.Sprintf("run%d", i)
		p.Lines = append(p.Lines, chart.Line{Paint: paint, Width: 1, Points: []chart.XY{from, to}, Ref: ref})
		p.Dots = append(p.Dots, chart.Dots{Paint: paint, Form: chart.Cross, Size: 5, Points: []chart.Dot{{XY: from, Ref: ref,
			Tip: fmt.Sprintf("measured, %s: %s %s, %s %s; predicted %s and %s", b.Name, number.Plain(from.X, 3), c.Across.Title, number.Rate(from.Y), c.Up.Title, number.Plain(to.X, 3), number.Rate(to.Y))}}})
	}
	if len(c.Runs) > 0 {
		tells = fmt.Sprintf(" Crosses are %s, joined to their predictions.", number.Count(len(c.Runs), "measured run"))
	}
	return tells
}

// axisWithArrow is the title of an axis with the way to the better.
func axisWithArrow(f *Figure) string {
	if f.More {
		return "faster for a user, " + f.Title + " →"
	}
	return "← sooner for a user, " + f.Title
}

// places are all deployments of a plan on the axes, and those of which none is better in both.
func (c *Choices) places(one *Choice) (all, front []chart.XY) {
	for _, list := range [][]advice.Candidate{one.Ranked, one.Frontier} {
		for i := range list {
			at := chart.XY{X: c.Across.of(&list[i].Record, list[i].PerGPU()), Y: c.Up.of(&list[i].Record, list[i].PerGPU())}
			if at.X > 0 && !math.IsInf(at.X, 0) && !math.IsNaN(at.Y) {
				all = append(all, at)
			}
		}
	}
	better := func(f *Figure, a, b float64) int {
		if f.More {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	}
	slices.SortFunc(all, func(a, b chart.XY) int { return cmp.Or(better(c.Across, a.X, b.X), better(c.Up, a.Y, b.Y)) })
	for _, at := range all {
		if len(front) == 0 || better(c.Up, at.Y, front[len(front)-1].Y) < 0 {
			front = append(front, at)
		}
	}
	return all, front
}

// steps hold a value until the next deployment is allowed.
func (c *Choices) steps(front []chart.XY) []chart.XY {
	var out []chart.XY
	if c.Up.More {
		out = append(out, chart.XY{X: front[0].X})
	}
	out = append(out, staircase(front)...)
	last := front[len(front)-1]
	end := last.X / 2
	if !c.Across.More {
		end = last.X * 2
	}
	return append(out, chart.XY{X: end, Y: last.Y})
}

// dots are what was weighed, as far as the closed form tells both figures.
func (c *Choices) dots(one *Choice, paint chart.Paint) chart.Dots {
	out := chart.Dots{Paint: paint, Size: 1.8}
	if c.Across.dot == nil || c.Up.dot == nil {
		return out
	}
	for i := range one.Dots {
		d := &one.Dots[i]
		out.Points = append(out.Points, chart.Dot{XY: chart.XY{X: c.Across.dot(d), Y: c.Up.dot(d)}, Ref: "dot"})
	}
	return out
}

// limit shades what a limit of the question forbids.
func (c *Choices) limit(p *chart.Panel) {
	l := c.Plans[0].Loaded.Limits()
	low, high, top := extentOf(p)
	top *= 1.08
	p.X.Low, p.X.High, p.Y.High = chart.At(low), chart.At(high*1.15), chart.At(top)
	name, ms := "TPOT", l.TPOT
	if c.Across.Name == "ttft" {
		name, ms = "TTFT", l.TTFT
	}
	if ms == nil || c.Across.Name == "e2e" {
		return
	}
	at := *ms / 1e3
	from, to := at, high*1.15
	if c.Across.More {
		at = 1 / at
		from, to = low, at
	}
	p.X.Low, p.X.High = chart.At(min(low, at/1.3)), chart.At(max(high*1.15, at*1.3))
	if c.Across.More {
		from = *p.X.Low
	} else {
		to = *p.X.High
	}
	p.Rules = append(p.Rules, chart.Rule{X: &at, Paint: chart.Red, Label: fmt.Sprintf("%s ≤ %s", name, number.Time(*ms/1e3, 4)), Ref: "limit"})
	p.Areas = append(p.Areas, chart.Area{Paint: chart.Red, Faint: true, Upper: []chart.XY{{X: from, Y: top}, {X: to, Y: top}}, Lower: []chart.XY{{X: from, Y: 0}, {X: to, Y: 0}}, Ref: "forbidden"})
}
