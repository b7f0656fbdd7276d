package workbook

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xuri/excelize/v2"

	"throughline/internal/result"
	"throughline/op"
)

// pivots are the best runs by question (model, lengths, limits) and hardware.
type pivots struct {
	rows    []question
	columns []string // systems and processors
	best    map[place]best
	seen    map[question]bool
	systems map[string]bool
}

// question is a row of a pivot.
type question struct {
	model         string
	input, output int
	limits        string
}

type place struct {
	question
	system string
}

// best is the highest throughput of a cell.
type best struct{ whole, card float64 }

func (p *pivots) add(r *result.Record) {
	if p.best == nil {
		p.best, p.seen, p.systems = map[place]best{}, map[question]bool{}, map[string]bool{}
	}
	q := question{r.Model.Name, r.Lengths.Input, r.Lengths.Output, limits(r)}
	system := system(r)
	if !p.seen[q] {
		p.seen[q], p.rows = true, append(p.rows, q)
	}
	if !p.systems[system] {
		p.systems[system], p.columns = true, append(p.columns, system)
	}
	if !r.Complete {
		return
	}
	at := place{q, system}
	b := p.best[at]
	p.best[at] = best{max(b.whole, r.Tokens()), max(b.card, r.Tokens()/float64(r.Cards))}
}

// limits formats the latency limits.
func limits(r *result.Record) string {
	text := ""
	for _, l := range []struct {
		name  string
		limit *float64
	}{{"TTFT", r.Limits.TTFT}, {"TPOT", r.Limits.TPOT}} {
		if l.limit == nil {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s ≤ %g ms", l.name, *l.limit)
	}
	if text == "" {
		return "no limit"
	}
	return text
}

// system names what a run runs on: the chips of both phases, and their count.
func system(r *result.Record) string {
	prefill, decode := r.Sides[op.Prefill], r.Sides[op.Decode]
	switch {
	case decode == nil:
		return fmt.Sprintf("%s × %d", prefill.System.Name, r.Procs)
	case prefill == nil || prefill.System.Name == decode.System.Name:
		return fmt.Sprintf("%s × %d", decode.System.Name, r.Procs)
	}
	return fmt.Sprintf("%s + %s × %d", prefill.System.Name, decode.System.Name, r.Procs)
}

// Where the table of a pivot begins.
const (
	pivotHead   = 3 // row of the header
	pivotKeys   = 5 // columns that name the row
	mostSystems = excelize.MaxColumns - pivotKeys
)

func (w *Workbook) writePivots() error {
	for _, sheet := range []struct {
		name, title string
		value       func(best) float64
	}{
		{WholeSheet, "整机吞吐: output tokens/s of the whole machine, the best run by model, lengths, latency limit and system", func(b best) float64 { return b.whole }},
		{CardSheet, "单卡吞吐: output tokens/s per card, the best run by model, lengths, latency limit and system", func(b best) float64 { return b.card }},
	} {
		if err := w.writePivot(sheet.name, sheet.title, sheet.value); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workbook) writePivot(sheet, title string, value func(best) float64) error {
	p := &w.pivots
	columns := p.columns[:min(len(p.columns), mostSystems)]
	titles := []any{"case", "model", "ISL (tokens)", "OSL (tokens)", "limits"}
	for _, c := range columns {
		titles = append(titles, c)
	}
	if len(titles) <= mostFitted {
		if err := fit(w.file, sheet); err != nil {
			return err
		}
	}
	s, err := w.file.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	if err := s.SetColWidth(1, 2, 32); err != nil {
		return err
	}
	if err := s.SetColWidth(3, len(titles), 20); err != nil {
		return err
	}
	if err := s.SetPanes(&excelize.Panes{Freeze: true, XSplit: pivotKeys, YSplit: pivotHead, TopLeftCell: "F4", ActivePane: "bottomRight"}); err != nil {
		return err
	}
	styled := make([]any, len(titles))
	for i, t := range titles {
		styled[i] = excelize.Cell{StyleID: w.header, Value: t}
	}
	if err := s.SetRow("A1", []any{excelize.Cell{StyleID: w.header, Value: title}}); err != nil {
		return err
	}
	if err := s.SetRow(fmt.Sprintf("A%d", pivotHead), styled); err != nil {
		return err
	}
	for i, q := range p.rows {
		line := []any{fmt.Sprintf("%s %d/%d %s", q.model, q.input, q.output, q.limits), q.model, q.input, q.output, q.limits}
		for _, c := range columns {
			if b, ok := p.best[place{q, c}]; ok {
				line = append(line, value(b))
			} else {
				line = append(line, nil)
			}
		}
		if err := s.SetRow(fmt.Sprintf("A%d", pivotHead+1+i), line); err != nil {
			return err
		}
	}
	all := area{sheet, pivotHead, len(titles), len(p.rows), 0}
	return cmp.Or(all.shade(w.file, pivotKeys+1, len(titles), map[bool]string{true: more}[len(columns) > 0]), all.finish(w.file), s.Flush())
}

// shares are the titles of the charts of steps.
var shares = [op.PhaseCount]string{op.Prefill: "prefill step: where the time goes, by run", op.Decode: "decode step: where the time goes, by run"}

// writeCharts draws the pivots, and where the time of the first runs goes.
func (w *Workbook) writeCharts() error {
	if err := fit(w.file, ChartSheet); err != nil {
		return err
	}
	rows := min(len(w.pivots.rows), mostShown)
	series := min(len(w.pivots.columns), mostSeries)
	at := 1
	add := func(chart *excelize.Chart) error {
		chart.Dimension = excelize.ChartDimension{Width: 960, Height: 420}
		chart.Legend = excelize.ChartLegend{Position: "bottom"}
		name := fmt.Sprintf("A%d", at)
		at += 23
		return w.file.AddChart(ChartSheet, name, chart)
	}
	for _, c := range []struct{ sheet, title string }{{WholeSheet, "整机 whole machine: output tokens/s"}, {CardSheet, "单卡 per card: output tokens/s"}} {
		if rows == 0 || series == 0 {
			continue
		}
		chart := titled(excelize.Col, c.title, "tokens/s")
		for i := range series {
			column, err := excelize.ColumnNumberToName(pivotKeys + 1 + i)
			if err != nil {
				return err
			}
			chart.Series = append(chart.Series, excelize.ChartSeries{
				Name:       fmt.Sprintf("'%s'!$%s$%d", c.sheet, column, pivotHead),
				Categories: fmt.Sprintf("'%s'!$A$%d:$A$%d", c.sheet, pivotHead+1, pivotHead+rows),
				Values:     fmt.Sprintf("'%s'!$%s$%d:$%s$%d", c.sheet, column, pivotHead+1, column, pivotHead+rows),
			})
		}
		if err := add(chart); err != nil {
			return err
		}
	}
	if !slices.Contains(w.with, result.OpDetails) || w.runs == 0 {
		return nil
	}
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		chart := titled(excelize.ColPercentStacked, shares[phase], "%")
		for _, name := range []string{"op_compute_bound(%)", "op_memory_bound(%)", "op_comm_exposed(%)", "op_static_latency(%)", "op_waiting(%)"} {
			column, err := excelize.ColumnNumberToName(1 + slices.Index(w.fields, result.Of(phase, name)))
			if err != nil {
				return err
			}
			runs := 1 + min(w.runs, mostShown)
			chart.Series = append(chart.Series, excelize.ChartSeries{
				Name: fmt.Sprintf("'%s'!$%s$1", LongSheet, column), Categories: fmt.Sprintf("'%s'!$B$2:$B$%d", LongSheet, runs),
				Values: fmt.Sprintf("'%s'!$%s$2:$%s$%d", LongSheet, column, column, runs),
			})
		}
		if err := add(chart); err != nil {
			return err
		}
	}
	return nil
}

func titled(kind excelize.ChartType, title, unit string) *excelize.Chart {
	text := func(s string) excelize.ChartTitle {
		return excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: s}}}
	}
	dark := excelize.Font{Color: "333333", Size: 9}
	return &excelize.Chart{
		Type: kind, Title: text(title), XAxis: excelize.ChartAxis{Font: dark}, YAxis: excelize.ChartAxis{MajorGridLines: true, Title: text(unit), Font: dark},
	}
}
