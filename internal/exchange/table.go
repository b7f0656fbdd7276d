package exchange

import (
	"fmt"

	"throughline/internal/table"
)

// Columns are those of files, in the order of tables in common use, then the deviations and the
// basis.
var Columns = []table.Column[*Row]{
	{Name: "library", Value: func(r *Row) any { return r.Library }},
	{Name: "ep", Kind: table.Count, Value: func(r *Row) any { return r.Ranks }},
	{Name: "tokens", Kind: table.Count, Value: func(r *Row) any { return r.Tokens }},
	spread("dispatch_avg_ms", "dispatch avg ms", 4, func(r *Row) (float64, float64) { return r.Dispatch.Mean, r.Dispatch.MeanDeviation }),
	spread("dispatch_max_ms", "dispatch max ms", 1, func(r *Row) (float64, float64) { return r.Dispatch.Slowest, r.Dispatch.SlowestDeviation }),
	spread("combine_avg_ms", "combine avg ms", 4, func(r *Row) (float64, float64) { return r.Combine.Mean, r.Combine.MeanDeviation }),
	spread("combine_max_ms", "combine max ms", 1, func(r *Row) (float64, float64) { return r.Combine.Slowest, r.Combine.SlowestDeviation }),
	millis("total_ms", "total ms", (*Row).Total),
	millis("dispatch_avg_deviation_ms", "", func(r *Row) float64 { return r.Dispatch.MeanDeviation }),
	millis("dispatch_max_deviation_ms", "", func(r *Row) float64 { return r.Dispatch.SlowestDeviation }),
	millis("combine_avg_deviation_ms", "", func(r *Row) float64 { return r.Combine.MeanDeviation }),
	millis("combine_max_deviation_ms", "", func(r *Row) float64 { return r.Combine.SlowestDeviation }),
	{Name: "mode", Rank: 2, Value: func(r *Row) any { return r.Mode }},
	{Name: "basis", Rank: 3, Value: func(r *Row) any { return r.Basis.String() }},
}

// Shown are the columns for people, where deviations follow their means.
var Shown = []string{"library", "mode", "ep", "tokens", "dispatch_avg_ms", "dispatch_max_ms", "combine_avg_ms", "combine_max_ms", "total_ms", "basis"}

// millis is a column of times in milliseconds.
func millis(name, title string, seconds func(*Row) float64) table.Column[*Row] {
	return table.Column[*Row]{Name: name, Title: title, Kind: table.Number, Format: "%.3f", Value: func(r *Row) any { return 1e3 * seconds(r) }}
}

// spread is such a column that shows people the deviation, too.
func spread(name, title string, rank int, seconds func(*Row) (float64, float64)) table.Column[*Row] {
	c := millis(name, title, func(r *Row) float64 { v, _ := seconds(r); return v })
	c.Left, c.Rank = true, rank
	c.Cell = func(r *Row) string {
		v, deviation := seconds(r)
		if deviation == 0 {
			return fmt.Sprintf("%.3f", 1e3*v)
		}
		return fmt.Sprintf("%.3f ± %.3f", 1e3*v, 1e3*deviation)
	}
	return c
}
