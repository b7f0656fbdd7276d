package scenario

import (
	"fmt"

	"throughline/internal/table"
)

// Columns are those of the script that people use for such tables.
var Columns = []table.Column[*Row]{
	{Name: "scenario", Title: "Scenario", Value: func(r *Row) any { return r.Pair.Name }},
	figure("prefill_time_s", "Prefill Time (s)", 0, "%.4f", func(r *Row) float64 { return r.Prefill }),
	figure("prefill_tput_tps", "Prefill Tput (t/s)", 3, "%.2f", (*Row).PromptRate),
	figure("kv_tx_time_s", "KV Tx Time (s)", 1, "%.4f", func(r *Row) float64 { return r.Transfer }),
	figure("decode_time_s", "Decode Time (s)", 0, "%.4f", func(r *Row) float64 { return r.Decode }),
	figure("decode_tput_tps", "Decode Tput (t/s)", 3, "%.2f", (*Row).OutputRate),
	figure("total_time_s", "Total Time (s)", 0, "%.4f", (*Row).Total),
	figure("overall_tput_tps", "Overall Tput (t/s)", 2, "%.2f", (*Row).Rate),
}

func figure[T any](name, title string, rank int, format string, value func(T) float64) table.Column[T] {
	c := table.NumberColumn(name, format, value)
	c.Title, c.Rank = title, rank
	return c
}

// ComparedColumns are those of measured times beside predicted ones.
var ComparedColumns = []table.Column[*Compared]{
	{Name: "scenario", Title: "Scenario", Value: func(c *Compared) any { return c.Scenario }},
	{Name: "phase", Value: func(c *Compared) any { return c.Phase }},
	figure("measured_s", "measured (s)", 0, "%.4f", func(c *Compared) float64 { return c.Measured }),
	figure("predicted_s", "predicted (s)", 0, "%.4f", func(c *Compared) float64 { return c.Predicted }),
	{Name: "error_percent", Title: "error", Kind: table.Number, Format: "%.1f",
		Value: func(c *Compared) any { return 100 * c.Error() }, Cell: func(c *Compared) string { return fmt.Sprintf("%+.1f%%", 100*c.Error()) }},
}
