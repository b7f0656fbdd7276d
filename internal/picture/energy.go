package picture

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/number"
)

// energy is the joules of operators on one processor.
func energy(s Step) (*chart.Chart, error) {
	drawn := s.result().Drawn
	if drawn == nil {
		return nil, fmt.Errorf("%s has no block \"power\": watts are not known", s.result().Problem.System.Name)
	}
	c := s.frame("energy", "Energy of operators")
	ops, _ := s.Why.Operators.Shown()
	slices.SortStableFunc(ops, func(a, b estimate.Operator) int { return cmp.Compare(b.Joules, a.Joules) })
	var l legend
	p := chart.Panel{Weight: 1, Cut: true, X: chart.Axis{Title: "joules of a GPU in the step", Zero: true}}
	rest, others := 0.0, 0
	for i, o := range ops {
		if i >= mostOperators || !(o.Joules > 0) {
			rest, others = rest+o.Joules, others+1
			continue
		}
		k := l.add(partStyle(o.Block, o.Lane.String(), s.experts()))
		text := fmt.Sprintf("%s · %s", joules(o.Joules), percent(o.Joules/drawn.Joules))
		p.AddBar(o.Name, chart.Bar{To: o.Joules, Paint: k.paint, Hatch: k.hatch, After: text, Tip: o.Name + ": " + text})
	}
	if rest > 1e-9*drawn.Joules {
		p.AddBar(othersText(others), chart.Bar{To: rest, Paint: chart.Muted, After: fmt.Sprintf("%s · %s", joules(rest), percent(rest/drawn.Joules))})
	}
	c.Keys, c.Panels = l.keys, []chart.Panel{p}
	c.Note = strings.TrimSpace(fmt.Sprintf("%s J in all: %.0f W at %.0f%% of the full clock, under a limit of %.0f W. ", number.Plain(drawn.Joules, 3), drawn.Watts(), 100*drawn.Clock, s.result().Problem.System.Limit()) + c.Note)
	c.Description = fmt.Sprintf("A bar for each operator of the %s. %s takes the most energy, %s of it.", s.name(), ops[0].Name, percent(ops[0].Joules/drawn.Joules))
	return c, nil
}

func joules(j float64) string {
	if j < 1 {
		return number.Plain(1e3*j, 3) + " mJ"
	}
	return number.Plain(j, 3) + " J"
}

// limits is what a plan draws under each of several power limits.
func limits(p *advice.Plans) (*chart.Chart, error) {
	if len(p.Limited) < 2 {
		return nil, errors.New("there is one power limit: give several, with commas between them, or `power-limit` auto")
	}
	c := planFrame(p, "limits", "Tokens per joule and per second, by power limit")
	x := chart.Axis{Title: "power limit of a GPU in W"}
	joule := chart.Panel{Weight: 1, X: x, Y: chart.Axis{Title: "output tokens per joule", Zero: true}}
	second := chart.Panel{Weight: 1, X: x, Y: chart.Axis{Title: "tokens/s per GPU", Zero: true}}
	joule.X.Bare, joule.X.Title = true, ""
	perJoule, perSecond := chart.Line{Paint: chart.C1}, chart.Line{Paint: chart.C7}
	best := 0
	for i := range p.Limited {
		e := p.Limited[i].Energy
		if e.Output < p.Limited[best].Energy.Output {
			best = i
		}
		perJoule.Points = append(perJoule.Points, chart.XY{X: e.Limit, Y: 1 / e.Output})
		perSecond.Points = append(perSecond.Points, chart.XY{X: e.Limit, Y: p.Limited[i].PerGPU()})
	}
	byLimit := func(a, b chart.XY) int { return cmp.Compare(a.X, b.X) }
	slices.SortFunc(perJoule.Points, byLimit)
	slices.SortFunc(perSecond.Points, byLimit)
	dots := func(l *chart.Line, form chart.Form) chart.Dots {
		d := chart.Dots{Paint: l.Paint, Form: form, Size: 4}
		for _, at := range l.Points {
			d.Points = append(d.Points, chart.Dot{XY: at, Label: number.Plain(at.Y, 3), Tip: fmt.Sprintf("%.0f W: %s", at.X, number.Plain(at.Y, 4))})
		}
		return d
	}
	joule.Lines, joule.Dots = []chart.Line{perJoule}, []chart.Dots{dots(&perJoule, chart.FormOf(0))}
	second.Lines, second.Dots = []chart.Line{perSecond}, []chart.Dots{dots(&perSecond, chart.FormOf(1))}
	c.Panels = []chart.Panel{joule, second}
	least := p.Limited[best].Energy
	c.Note = fmt.Sprintf("Each is the best deployment under its limit. The least energy: %s J per output token, under %.0f W.", number.Plain(least.Output, 3), least.Limit)
	c.Description = fmt.Sprintf("Output tokens per joule and tokens per second and GPU of the best deployments under %d power limits. %s", len(p.Limited), c.Note)
	return c, nil
}

// mostWatts is the intervals of a line of watts: many steps each, as meters average them.
const mostWatts = 120

// watts is what the processors of a run draw over time.
func watts(l Load) (*chart.Chart, error) {
	r := l.Result
	if r.Energy == nil {
		return nil, errors.New("watts are not known: the system has no block \"power\", or step times come from a table")
	}
	samples := Samples(r, mostWatts)
	if len(samples) == 0 {
		return nil, errors.New("no step was simulated")
	}
	c := l.frame("watts", "Power over time")
	end := r.Duration()
	p := chart.Panel{Weight: 1, X: chart.Axis{Title: "time in s", Low: chart.At(0), High: &end}, Y: chart.Axis{Title: "W per GPU, on average", Zero: true}}
	drawn := chart.Line{Paint: chart.C1, Steps: true, Width: 2}
	peak := 0.0
	for i := range samples {
		drawn.Points = append(drawn.Points, chart.XY{X: samples[i].Time, Y: samples[i].Watts})
		peak = max(peak, samples[i].Watts)
	}
	drawn.Points = append(drawn.Points, chart.XY{X: end, Y: samples[len(samples)-1].Watts})
	level := func(name string, watts float64) chart.Line {
		return chart.Line{Paint: chart.Muted, Dash: true, Label: fmt.Sprintf("%s %.0f W", name, watts), Points: []chart.XY{{X: 0, Y: watts}, {X: end, Y: watts}}}
	}
	mean, waiting := r.WattsPerProcessor(), r.Energy.Waiting/r.Energy.Procs
	c.Title = fmt.Sprintf("Power over time: %.0f W per GPU on average", mean) // a restless line leaves its level no room for a name
	p.Lines = []chart.Line{level("mean", mean), level("waiting", waiting), drawn}
	c.Panels = []chart.Panel{p}
	c.Note = fmt.Sprintf("%s J per request, %s J per output token.", number.Plain(r.Joules()/float64(max(1, r.Requests)), 3), number.Plain(r.Joules()/float64(max(1, r.Output)), 3))
	c.Description = fmt.Sprintf("Watts of a GPU over %.3g s: %.0f W on average, %.0f W at most, %.0f W while nothing runs.", end, mean, peak, waiting)
	return c, nil
}
