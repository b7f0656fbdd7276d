package picture

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

var PlanKinds = []Kind[*advice.Plans]{
	{"frontier", "tokens/s per user against the objective: the frontier as steps, and the ranked deployments with their bands", frontier},
	{"balance", "the request rates that the prefill and the decode pools hold", balance},
	{"limits", "tokens per joule and per second under several power limits", limits},
}

func planFrame(p *advice.Plans, kind, title string) *chart.Chart {
	l := p.Loaded
	gpus := p.Options.GPUs
	if len(p.Advice.Ranked) > 0 {
		gpus = p.Advice.Ranked[0].Procs
	}
	return &chart.Chart{
		Kind: kind, Title: title,
		Subtitle: fmt.Sprintf("%s (%s) on %s, %d in, %d out; assumptions: %s", l.Shape.Name, l.Stored, l.On(gpus), l.Lengths.Input, l.Lengths.Output, l.Assumptions.Name),
	}
}

// phases in the order of a request.
var phases = []op.Phase{op.Prefill, op.Decode}

func planOf(c *advice.Candidate) string {
	r := &c.Record
	text := ""
	for _, phase := range phases {
		side := r.Sides[phase]
		if side == nil {
			continue
		}
		if text != "" {
			text += " → "
		}
		text += brief(side.Instances, &side.Step.Plan)
	}
	return text
}

// sizeOfOne matches a parallel size of 1.
var sizeOfOne = regexp.MustCompile(`(^|[ ·])[a-z]+1\b`)

// brief formats a plan without the sizes that are 1.
func brief(instances int, p *plan.Plan) string {
	text := strings.Trim(sizeOfOne.ReplaceAllString(p.String(), ""), " ·")
	if text == "" {
		text = "tp1"
	}
	if instances > 1 {
		text = fmt.Sprintf("%d × %s", instances, text)
	}
	return text
}

// objectiveOf is what a frontier shows upwards: the objective, as far as it is known.
func objectiveOf(p *advice.Plans) (title string, of func(*advice.Candidate) float64) {
	first := &p.Advice.Ranked[0]
	switch {
	case p.Options.Objective == advice.Cost && first.DollarsPerMillion > 0:
		return "million output tokens per $", func(c *advice.Candidate) float64 { return 1 / c.DollarsPerMillion }
	case p.Options.Objective == advice.Energy && first.TokensPerJoule > 0:
		return "output tokens per joule", func(c *advice.Candidate) float64 { return c.TokensPerJoule }
	case first.Capacity != nil: // tokens/s are those of the rate, for all
		return "requests/s per GPU that it holds", func(c *advice.Candidate) float64 {
			if c.Capacity == nil {
				return math.NaN()
			}
			return c.Capacity.Rate * (1 + c.Capacity.Headroom) / float64(c.Procs)
		}
	}
	return "output tokens/s per GPU", (*advice.Candidate).PerGPU
}

// frontier shows the best deployments by the speed of a user and the objective, as steps: between
// two deployments there is none.
func frontier(p *advice.Plans) (*chart.Chart, error) {
	if len(p.Advice.Ranked) == 0 {
		return nil, errors.New("no deployment was found")
	}
	title, value := objectiveOf(p)
	c := planFrame(p, "frontier", "Speed of a user against "+title)
	at := func(d *advice.Candidate) chart.XY { return chart.XY{X: 1 / d.TPOT, Y: value(d)} }
	tip := func(name string, d *advice.Candidate) string {
		return fmt.Sprintf("%s %s, %s: %s tokens/s/user, %s %s, TTFT %s", name, d.Deployment.Engine.Name, planOf(d), number.Rate(1/d.TPOT), number.Rate(value(d)), title, number.Time(d.TTFT, 2))
	}
	panel := chart.Panel{Weight: 1, X: chart.Axis{Title: "faster for a user, tokens/s →", Zero: true}, Y: chart.Axis{Title: title, Zero: true}}
	best := chart.Dots{Paint: chart.C7, Form: chart.Diamond, Size: 6}
	for i := range p.Advice.Ranked {
		d := &p.Advice.Ranked[i]
		label := ""
		if i == 0 || d == p.Advice.Best(advice.Aggregated) || d == p.Advice.Best(advice.Disaggregated) {
			label = fmt.Sprintf("%d: %s %s", i+1, d.Deployment.Engine.Name, planOf(d))
			panel.Lines = append(panel.Lines, whiskers(at(d), Across[0].band(&d.Record), d.ThroughputBand(), chart.Line{Paint: best.Paint})...)
		}
		best.Points = append(best.Points, chart.Dot{XY: at(d), Label: label, Tip: tip(fmt.Sprint(i+1), d)})
	}
	modes := []advice.Mode{advice.Aggregated, advice.Disaggregated}
	series := []chart.Dots{{Paint: chart.C1, Form: chart.Round, Size: 4}, {Paint: chart.C8, Form: chart.Triangle, Size: 4}}
	var front []chart.Dot
	for i := range p.Advice.Frontier {
		d := &p.Advice.Frontier[i]
		s := &series[max(0, slices.Index(modes, advice.Mode(d.Mode)))]
		name := fmt.Sprintf("f%d", i+1)
		label := name + ": " + planOf(d)
		if at(d) == best.Points[0].XY {
			label = "" // the first has it
		}
		front = append(front, chart.Dot{XY: at(d), Label: label, Tip: tip(name, d)})
		s.Points = append(s.Points, front[i])
	}
	panel.Lines = append(panel.Lines, chart.Line{Paint: chart.C1, Width: 1.6, Points: staircase(climbing(front))})
	panel.Dots = append([]chart.Dots{best}, series...)
	if t := p.Loaded.Limits().TPOT; t != nil {
		shadeBeyond(&panel, 1e3 / *t, fmt.Sprintf("too slow | TPOT ≤ %s", number.Time(*t/1e3, 4)))
	}
	for i, name := range []string{"aggregated", "disaggregated"} {
		if len(series[i].Points) > 0 {
			c.Keys = append(c.Keys, chart.Key{Paint: series[i].Paint, Form: series[i].Form, Text: "frontier, " + name})
		}
	}
	c.Keys = append(c.Keys, chart.Key{Paint: best.Paint, Form: best.Form, Text: "ranked; whiskers: band of the prediction"})
	c.Panels = []chart.Panel{panel}
	first := &p.Advice.Ranked[0]
	c.Description = fmt.Sprintf("%d deployments on the frontier between the speed of a user and %s. The first of the ranking, %s, gives %s tokens/s to a user and %s %s.",
		len(p.Advice.Frontier), title, planOf(first), number.Rate(1/first.TPOT), number.Rate(value(first)), title)
	return c, nil
}

// whiskers are the bands of a prediction around its point, across and upwards; 0: none.
func whiskers(at chart.XY, across, up float64, like chart.Line) (out []chart.Line) {
	add := func(tip string, points ...chart.XY) {
		like.Width, like.Tip, like.Points = 1, tip, points
		out = append(out, like)
	}
	if b := 1 + across; b > 1 {
		add("band of the speed of a user", chart.XY{X: at.X / b, Y: at.Y}, chart.XY{X: at.X * b, Y: at.Y})
	}
	if b := 1 + up; b > 1 {
		add("band of the throughput", chart.XY{X: at.X, Y: at.Y / b}, chart.XY{X: at.X, Y: at.Y * b})
	}
	return out
}

// extentOf is the highest point of a panel, and the least and the highest above 0 along x.
func extentOf(p *chart.Panel) (low, high, top float64) {
	low = math.Inf(1)
	each := func(q chart.XY) {
		if q.X > 0 {
			low, high = min(low, q.X), max(high, q.X)
		}
		top = max(top, q.Y)
	}
	for _, s := range p.Dots {
		for _, d := range s.Points {
			each(d.XY)
		}
	}
	for _, l := range p.Lines {
		for _, q := range l.Points {
			each(q)
		}
	}
	return low, high, top
}

// shadeBeyond shades what is slower than a limit.
func shadeBeyond(p *chart.Panel, limit float64, label string) {
	p.Rules = append(p.Rules, chart.Rule{X: chart.At(limit), Paint: chart.Red, Dash: true, Label: label})
	_, _, top := extentOf(p)
	top *= 1.05
	p.Y.High = chart.At(top)
	p.Areas = append(p.Areas, chart.Area{Paint: chart.Red, Faint: true, Upper: []chart.XY{{X: 0, Y: top}, {X: limit, Y: top}}, Lower: []chart.XY{{X: 0, Y: 0}, {X: limit, Y: 0}}, Tip: label})
}

func balance(p *advice.Plans) (*chart.Chart, error) {
	c := planFrame(p, "balance", "Balance of prefill and decode: the request rates that the pools hold")
	panel := chart.Panel{Weight: 1, Cut: true, X: chart.Axis{Title: "requests/s", Zero: true}}
	prefill, decode := style{chart.C1, false, "prefill pool"}, style{chart.C7, false, "decode pool"}
	for _, list := range []struct {
		letter string
		of     []advice.Candidate
	}{{"", p.Advice.Ranked}, {"f", p.Advice.Frontier}} {
		for i := range list.of {
			d := &list.of[i]
			r := &d.Record
			if !d.Deployment.Split() || r.Sides[op.Prefill] == nil || r.Sides[op.Decode] == nil || len(panel.Y.Bands) >= mostOperators {
				continue
			}
			band := len(panel.Y.Bands)
			panel.Y.Bands = append(panel.Y.Bands, fmt.Sprintf("%s%d: %s", list.letter, i+1, planOf(d)))
			for place, side := range []*result.Side{r.Sides[op.Prefill], r.Sides[op.Decode]} {
				k := []style{prefill, decode}[place]
				text := number.Plain(side.Rate(), 3)
				panel.Bars = append(panel.Bars, chart.Bar{Band: band, Place: place, Of: 2, To: side.Rate(), Paint: k.paint, After: text, Tip: fmt.Sprintf("%s: %s requests/s of %d × %s; served %s", k.name, text, side.Procs*side.Instances, side.System.Name, number.Plain(r.Requests, 3))})
			}
		}
	}
	if len(panel.Y.Bands) == 0 {
		return nil, errors.New("no deployment with a pool for each phase is among the ranked ones; the mode disagg has them")
	}
	c.Keys, c.Panels = []chart.Key{prefill.key(), decode.key()}, []chart.Panel{panel}
	c.Note = "Rates of bare steps; the shorter bar is the pool that clients wait for."
	c.Description = fmt.Sprintf("Two bars for each of %d deployments: the requests per second that its prefill pool and its decode pool hold.", len(panel.Y.Bands))
	return c, nil
}
