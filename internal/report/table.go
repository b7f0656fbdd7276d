package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/jobfile"
)

// WriteTable writes two lines per run for the terminal, one for each phase.
func WriteTable(w io.Writer, columns []Column) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"run", "model", "system", "phase", "plan", "batch", "latency ms", "tokens/s", "per card", "memory GiB", "bound by", "confidence", "requests/s"})
	t.SetColumnConfigs(numeric(6, 7, 8, 9, 10, 13))
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			t.AppendSeparator()
		}
		first, second := tableRow(c, prefill, "prefill"), tableRow(c, decode, "decode")
		first[0], first[1] = fmt.Sprintf("%s %d", shortModes[c.Run.Mode], c.Number), c.Run.Model.Name
		if c.Outcome.Found() {
			second[12] = fmt.Sprintf("%.4g", c.Outcome.Requests)
		}
		t.AppendRows([]table.Row{first, second})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

var shortModes = map[string]string{jobfile.Fusion: "fusion", jobfile.Split: "split"}

func tableRow(c *Column, p phase, name string) table.Row {
	q, r := p.problem(c.Run), p.result(&c.Outcome)
	if !r.Found {
		return table.Row{"", "", q.System.Name, name, "no plan", "", "", "", "", "", "", "", ""}
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
		"", "", q.System.Name, name, plan, e.Plan.Batch.Size,
		fmt.Sprintf("%.2f", c.latency(q.Phase)*1e3), fmt.Sprintf("%.0f", n*e.Throughput), fmt.Sprintf("%.1f", e.Throughput/float64(p.npus(c))),
		fmt.Sprintf("%.1f of %.4g", gib(e.Memory.Total()), q.System.Memory.GiB), bound(&p.detail(c, e).Stage), level(&p.detail(c, e).Confidence), "",
	}
}

// level is what a time rests on and how far off it may be.
func level(c *estimate.Confidence) string { return fmt.Sprintf("%s ±%.0f%%", c.Level, 100*c.Band) }

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
