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

// WriteTable writes two lines per run for the terminal, one for each phase.
func WriteTable(w io.Writer, columns []Column) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"model", "system", "phase", "plan", "batch", "latency ms", "tokens/s", "per card", "memory GiB", "bound by", "requests/s"})
	t.SetColumnConfigs(numeric(5, 6, 7, 8, 9, 11))
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			t.AppendSeparator()
		}
		t.AppendRow(tableRow(c, prefill, "prefill"))
		row := tableRow(c, decode, "decode")
		row[0] = c.Run.Mode
		if c.Outcome.Found() {
			row[10] = fmt.Sprintf("%.4g", c.Outcome.Requests)
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

func tableRow(c *Column, p phase, name string) table.Row {
	q, r := p.problem(c.Run), p.result(&c.Outcome)
	if !r.Found {
		return table.Row{c.Run.Model.Name, q.System.Name, name, "no plan", "", "", "", "", "", "", ""}
	}
	e := &r.Best
	plan := e.Plan.String()
	if r.Instances > 1 {
		plan = fmt.Sprintf("%d × %s", r.Instances, plan)
	}
	if e.Plan.Drafts > 0 {
		plan += fmt.Sprintf(" mtp%d", e.Plan.Drafts)
	}
	n := float64(r.Instances)
	return table.Row{
		c.Run.Model.Name, q.System.Name, name, plan, e.Plan.Batch.Size,
		fmt.Sprintf("%.2f", e.Latency*1e3), fmt.Sprintf("%.0f", n*e.Throughput), fmt.Sprintf("%.1f", e.Throughput/float64(p.npus(c))),
		fmt.Sprintf("%.1f of %.4g", gib(e.Memory.Total()), q.System.Memory.GiB), bound(&e.Stage), "",
	}
}

func numeric(columns ...int) []table.ColumnConfig {
	var out []table.ColumnConfig
	for _, n := range columns {
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

// WriteJSON writes an array with an object per run. Its keys are the field names of the CSV tables; mode and reasons, if
// any, come besides.
func WriteJSON(w io.Writer, columns []Column) error {
	runs := make([]map[string]any, len(columns))
	for i := range columns {
		c := &columns[i]
		run := map[string]any{"mode": c.Run.Mode}
		for _, t := range Tables() {
			for _, cat := range t.categories {
				for j := range cat.fields {
					// What one table leaves empty, another may know.
					if v := cat.fields[j].value(c); v != nil || run[cat.fields[j].name] == nil {
						run[cat.fields[j].name] = v
					}
				}
			}
		}
		if reasons := c.Reasons(); len(reasons) > 0 {
			run["reasons"] = reasons
		}
		runs[i] = run
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(runs)
}

// Reasons say why a phase has no plan.
func (c *Column) Reasons() []string {
	var out []string
	o := &c.Outcome
	switch {
	case o.Shared && !o.Found():
		out = append(out, c.Run.Decode.Reason(&o.Decode))
	case o.Prefill.Found && o.Decode.Found && !o.Found():
		out = append(out, fmt.Sprintf("the smallest prefill takes %d processors and the smallest decode %d, of %d in all",
			o.Prefill.Procs, o.Decode.Procs, c.Run.Procs))
	case !o.Shared:
		if !o.Prefill.Found {
			out = append(out, "prefill: "+c.Run.Prefill.Reason(&o.Prefill))
		}
		if !o.Decode.Found {
			out = append(out, "decode: "+c.Run.Decode.Reason(&o.Decode))
		}
	}
	return out
}
