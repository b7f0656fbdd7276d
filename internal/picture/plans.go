package picture

import (
	"errors"
	"fmt"
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

// PlanKinds are the charts of plan.
var PlanKinds = []Kind[*advice.Plans]{
	{"frontier", "tokens/s per user against tokens/s per GPU: the frontier, and the deployments that are ranked", frontier},
	{"balance", "the request rates that the prefill and the decode pools hold", balance},
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

// planOf summarizes a candidate.
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

func frontier(p *advice.Plans) (*chart.Chart, error) {
	if len(p.Advice.Ranked) == 0 {
		return nil, errors.New("no deployment was found")
	}
	c := planFrame(p, "frontier", "Speed of a user against throughput of a GPU")
	line := chart.Line{Paint: chart.C1, Width: 1.6}
	at := func(d *advice.Candidate) chart.XY { return chart.XY{X: 1 / d.TPOT, Y: d.PerGPU()} }
	tip := func(name string, d *advice.Candidate) string {
		return fmt.Sprintf("%s %s, %s: %.1f tokens/s/user, %.0f tokens/s/GPU, TTFT %.0f ms", name, d.Deployment.Engine.Name, planOf(d), 1/d.TPOT, d.PerGPU(), d.TTFT*1e3)
	}
	best := chart.Dots{Paint: chart.C7, Form: chart.Diamond, Size: 6}
	for i := range p.Advice.Ranked {
		d := &p.Advice.Ranked[i]
		label := ""
		if i == 0 {
			label = "1: " + planOf(d)
		}
		best.Points = append(best.Points, chart.Dot{XY: at(d), Label: label, Tip: tip(fmt.Sprint(i+1), d)})
	}
	modes := []advice.Mode{advice.Aggregated, advice.Disaggregated}
	series := []chart.Dots{{Paint: chart.C1, Form: chart.Round, Size: 4}, {Paint: chart.C4, Form: chart.Triangle, Size: 4}}
	for i := range p.Advice.Frontier {
		d := &p.Advice.Frontier[i]
		line.Points = append(line.Points, at(d))
		s := &series[max(0, slices.Index(modes, advice.Mode(d.Mode)))]
		name := fmt.Sprintf("f%d", i+1)
		label := name + ": " + planOf(d)
		if at(d) == best.Points[0].XY {
			label = "" // the first has it
		}
		s.Points = append(s.Points, chart.Dot{XY: at(d), Label: label, Tip: tip(name, d)})
	}
	panel := chart.Panel{Weight: 1, Lines: []chart.Line{line}, X: chart.Axis{Title: "tokens/s per user", Zero: true}, Y: chart.Axis{Title: "output tokens/s per GPU", Zero: true}}
	panel.Dots = append([]chart.Dots{best}, series...)
	if t := p.Loaded.Limits().TPOT; t != nil {
		panel.Rules = append(panel.Rules, chart.Rule{X: chart.At(1e3 / *t), Paint: chart.C2, Dash: true, Label: fmt.Sprintf("TPOT %s ms", number.Plain(*t, 4))})
	}
	for i, name := range []string{"aggregated", "disaggregated"} {
		if len(series[i].Points) > 0 {
			c.Keys = append(c.Keys, chart.Key{Paint: series[i].Paint, Form: series[i].Form, Text: "frontier, " + name})
		}
	}
	c.Keys = append(c.Keys, chart.Key{Paint: best.Paint, Form: best.Form, Text: "ranked"})
	c.Panels = []chart.Panel{panel}
	first := &p.Advice.Ranked[0]
	c.Description = fmt.Sprintf("%d deployments on the frontier between the speed of a user and the throughput of a GPU. The first of the ranking, %s, gives %.1f tokens/s to a user and %.0f tokens/s per GPU.",
		len(p.Advice.Frontier), planOf(first), 1/first.TPOT, first.PerGPU())
	return c, nil
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
