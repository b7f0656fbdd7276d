package report

import (
	"fmt"

	"throughline/internal/calibrate"
	"throughline/internal/table"
	"throughline/internal/validate"
)

const calibrationNotes = `mean absolute errors; before: the roofline at 0.8 of the peaks; held out: on shapes that the fit did not see, with their median and worst; largest: on the largest sizes
left out: rows faster than the peaks of the system allow, or shorter than a tile`

// Calibration shows the errors of kernels before and after their fit.
func Calibration(v table.View, results []calibrate.Result) string {
	mean := func(title string, rank int, value func(*calibrate.Result) float64) table.Column[*calibrate.Result] {
		return table.Column[*calibrate.Result]{Title: title, Kind: table.Number, Rank: rank, Format: "%.1f%%", Value: func(r *calibrate.Result) any { return value(r) }}
	}
	held := func(title string, rank int, value func(*calibrate.Result) float64) table.Column[*calibrate.Result] {
		c := mean(title, rank, value)
		c.Value = func(r *calibrate.Result) any {
			if r.Shapes.Rows == 0 {
				return "–" // all rows have one shape
			}
			return value(r)
		}
		return c
	}
	t := table.Of([]table.Column[*calibrate.Result]{
		{Title: "kernel", Cell: func(r *calibrate.Result) string {
			if r.Kernel == "" {
				return r.Class
			}
			return r.Class + " (" + r.Kernel + ")"
		}},
		{Title: "type", Rank: 1, Value: func(r *calibrate.Result) any { return r.Type }},
		{Title: "rows", Kind: table.Count, Value: func(r *calibrate.Result) any { return r.Fitted.Rows }},
		{Title: "left out", Kind: table.Count, Rank: 3, Value: func(r *calibrate.Result) any { return r.Below + r.Short }},
		mean("before", 1, func(r *calibrate.Result) float64 { return r.Before.Mean }),
		mean("fitted", 0, func(r *calibrate.Result) float64 { return r.Fitted.Mean }),
		held("held out", 0, func(r *calibrate.Result) float64 { return r.Shapes.Mean }),
		held("median", 4, func(r *calibrate.Result) float64 { return r.Shapes.Median }),
		held("worst", 2, func(r *calibrate.Result) float64 { return r.Shapes.Worst }),
		mean("largest", 3, func(r *calibrate.Result) float64 { return r.Largest.Mean }),
	}, results)
	return t.Render(v) + "\n" + v.Wrap(calibrationNotes)
}

// Fitted shows what was fitted, the runs before and after, and others that it predicts.
func Fitted(v table.View, got *validate.Fitted, others []validate.FitRow) string {
	f := got.File
	out := v.Wrap(fmt.Sprintf("%s (%s) on %s, %s, %s: %s", f.Model, f.Weights, f.System, f.Plan, f.Engine, got.Fit.String())) + "\n\n"
	if v.Markdown {
		return out + table.Of(fitColumns, append(got.Rows, others...)).Render(v) + "\n"
	}
	out += table.Of(fitColumns, got.Rows).Render(v) + "\n"
	if f.Runs > 1 {
		out += v.Wrap("by the others: predicted by a fit to the other runs") + "\n"
	}
	if len(others) > 0 {
		out += "\nother runs, which it was not fitted to\n" + table.Of(fitColumns, others).Render(v) + "\n"
	}
	return out
}

// fitColumns are figures of runs beside their predictions.
var fitColumns = []table.Column[*validate.FitRow]{
	{Title: "run", Value: func(r *validate.FitRow) any { return r.Run }},
	{Title: "figure", Value: func(r *validate.FitRow) any { return r.Figure }},
	{Title: "measured", Kind: table.Number, Digits: 4, Value: func(r *validate.FitRow) any { return r.Measured }},
	{Title: "before", Kind: table.Number, Rank: 1, Digits: 4, Value: func(r *validate.FitRow) any { return r.Before }},
	{Title: "fitted", Kind: table.Number, Digits: 4, Value: func(r *validate.FitRow) any { return r.After }},
	{Title: "error", Kind: table.Number, Format: "%+.1f%%", Value: func(r *validate.FitRow) any { return 100 * (r.After/r.Measured - 1) }},
	{Title: "by the others", Kind: table.Number, Rank: 2, Format: "%+.1f%%", Value: func(r *validate.FitRow) any {
		if r.Others == 0 {
			return nil
		}
		return 100 * (r.Others/r.Measured - 1)
	}},
}
