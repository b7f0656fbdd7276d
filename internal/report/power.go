package report

import (
	"encoding/json"
	"fmt"

	"throughline/internal/table"
	"throughline/internal/validate"
)

// Power shows a fitted block, and how far its predictions are off.
func Power(v table.View, fit *validate.PowerFit) string {
	block, err := json.MarshalIndent(&fit.Power, "", "  ")
	if err != nil {
		panic(err) // numbers and words
	}
	percent := func(title string, rank int, value func(*validate.PowerError) float64) table.Column[*validate.PowerError] {
		return table.Column[*validate.PowerError]{Title: title, Kind: table.Number, Rank: rank, Format: "%.1f%%", Value: func(e *validate.PowerError) any { return value(e) }}
	}
	t := table.Of([]table.Column[*validate.PowerError]{
		{Title: "rows", Value: func(e *validate.PowerError) any { return e.Of }},
		{Title: "number", Kind: table.Count, Value: func(e *validate.PowerError) any { return e.Rows }},
		percent("joules", 0, func(e *validate.PowerError) float64 { return e.Joules }),
		percent("90%", 1, func(e *validate.PowerError) float64 { return e.MostJoules }),
		percent("time", 0, func(e *validate.PowerError) float64 { return e.Seconds }),
		percent("90% of times", 2, func(e *validate.PowerError) float64 { return e.MostSeconds }),
	}, fit.Errors)
	return fmt.Sprintf("\"power\": %s\n\n%s\n", block, t.Render(v)) +
		v.Wrap("median absolute errors, and those that nine rows of ten stay below; without rests, zeros and limits below two fifths of the highest") + "\n"
}
