package picture

import (
	"cmp"
	"fmt"
	"slices"

	"throughline/internal/chart"
	"throughline/number"
)

// Served is a run of a real server and its prediction; 0: unknown.
type Served struct {
	Series, Name                   string // server and client
	GPUs                           float64
	Tokens, TPOT                   float64 // output tokens/s, ms
	PredictedTokens, PredictedTPOT float64
}

// Pareto plots speed per user against throughput (per GPU if all runs have a count), with a line
// through the Pareto-optimal runs of each server and the predictions, or is nil without such runs.
func Pareto(runs []Served) *chart.Chart {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Served) bool { return !(r.Tokens > 0) || !(r.TPOT > 0) })
	if len(runs) == 0 {
		return nil
	}
	unit, share := "output tokens/s per GPU", func(r *Served) float64 { return r.GPUs }
	if slices.ContainsFunc(runs, func(r Served) bool { return !(r.GPUs > 0) }) {
		unit, share = "output tokens/s", func(*Served) float64 { return 1 }
	}
	panel := chart.Panel{Weight: 1, X: chart.Axis{Title: "tokens/s per user", Zero: true}, Y: chart.Axis{Title: unit, Zero: true}}
	c := &chart.Chart{Kind: "pareto", Title: "Speed of a user against throughput, as measured"}
	predicted := chart.Dots{Paint: chart.Muted, Form: chart.Cross, Size: 4}
	var order []string
	groups := map[string][]*Served{}
	for i := range runs {
		if r := &runs[i]; groups[r.Series] == nil {
			order = append(order, r.Series)
		}
		groups[runs[i].Series] = append(groups[runs[i].Series], &runs[i])
	}
	for i, name := range order {
		paint, form := chart.Series(i), chart.FormOf(i)
		dots := chart.Dots{Paint: paint, Form: form, Size: 5}
		for _, r := range groups[name] {
			at := chart.XY{X: 1e3 / r.TPOT, Y: r.Tokens / share(r)}
			dots.Points = append(dots.Points, chart.Dot{XY: at, Label: r.Name, Tip: fmt.Sprintf("%s, %s: %s tokens/s/user, %s %s", r.Series, r.Name, number.Plain(at.X, 3), number.Plain(at.Y, 4), unit)})
			if r.PredictedTPOT > 0 {
				p := chart.XY{X: 1e3 / r.PredictedTPOT, Y: r.PredictedTokens / share(r)}
				predicted.Points = append(predicted.Points, chart.Dot{XY: p, Tip: fmt.Sprintf("%s, %s, predicted: %s tokens/s/user, %s %s", r.Series, r.Name, number.Plain(p.X, 3), number.Plain(p.Y, 4), unit)})
				panel.Lines = append(panel.Lines, chart.Line{Paint: chart.Muted, Dash: true, Width: 1, Points: []chart.XY{at, p}})
			}
		}
		panel.Lines = append(panel.Lines, chart.Line{Paint: paint, Width: 1.6, Points: best(dots.Points)})
		panel.Dots = append(panel.Dots, dots)
		c.Keys = append(c.Keys, chart.Key{Paint: paint, Form: form, Text: name})
	}
	if len(predicted.Points) > 0 {
		panel.Dots = append(panel.Dots, predicted)
		c.Keys = append(c.Keys, chart.Key{Paint: predicted.Paint, Form: predicted.Form, Text: "predicted"})
	}
	c.Panels = []chart.Panel{panel}
	c.Subtitle = fmt.Sprintf("measured runs: %d, servers: %d", len(runs), len(order))
	c.Description = fmt.Sprintf("%s: output tokens per second of a user against %s. Lines join the runs of a server of which no other is better in both.", c.Subtitle, unit)
	return c
}

// best returns the Pareto-optimal points from left to right.
func best(dots []chart.Dot) (out []chart.XY) {
	sorted := slices.Clone(dots)
	slices.SortStableFunc(sorted, func(a, b chart.Dot) int { return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(b.Y, a.Y)) })
	out = climbing(sorted)
	slices.Reverse(out)
	return out
}
