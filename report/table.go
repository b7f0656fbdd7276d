package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/cost"
	"throughline/estimate"
)

// WriteTable writes one line per run for the terminal.
func WriteTable(w io.Writer, columns []Column) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"model", "system", "plan", "batch", "TPOT ms", "tokens/s", "per card", "memory GiB", "bound by"})
	t.SetColumnConfigs(numeric(4, 8))
	for i := range columns {
		c := &columns[i]
		e := c.Decode
		if e == nil {
			t.AppendRow(table.Row{c.Run.Model.Name, c.Run.System.Name, "no plan", "", "", "", "", "", ""})
			continue
		}
		t.AppendRow(table.Row{
			c.Run.Model.Name, c.Run.System.Name, e.Plan.String(), e.Plan.Batch.Size,
			fmt.Sprintf("%.2f", e.Latency*1e3), fmt.Sprintf("%.0f", e.Throughput), fmt.Sprintf("%.1f", c.perNPU(e.Throughput)),
			fmt.Sprintf("%.1f of %.4g", gib(e.Memory.Total()), c.Run.System.Memory.GiB), bound(&e.Stage),
		})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

func numeric(from, to int) []table.ColumnConfig {
	var out []table.ColumnConfig
	for n := from; n <= to; n++ {
		out = append(out, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	return out
}

// bound names the resource that takes the largest share of a step, with that share.
func bound(b *estimate.Breakdown) string {
	name, most := "memory", b.BoundBy(cost.Memory)
	if t := b.BoundBy(cost.Compute); t > most {
		name, most = "compute", t
	}
	if t := b.Exposed(); t > most {
		name, most = "network", t
	}
	return fmt.Sprintf("%s %.0f%%", name, 100*most/b.Time())
}

// WriteJSON writes an array with an object per run; its keys are the field names of the CSV.
func WriteJSON(w io.Writer, columns []Column) error {
	runs := make([]map[string]any, len(columns))
	for i := range columns {
		c := &columns[i]
		run := map[string]any{}
		for _, cat := range decodeCategories {
			for j := range cat.fields {
				run[cat.fields[j].name] = cat.fields[j].value(c)
			}
		}
		if c.Reason != "" {
			run["reason"] = c.Reason
		}
		runs[i] = run
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(runs)
}
