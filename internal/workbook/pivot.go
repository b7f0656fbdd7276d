package workbook

import (
	"fmt"
	"slices"

	"throughline/internal/chart"
	"throughline/internal/result"
	"throughline/internal/spreadsheet"
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
type best struct{ whole, card float64 } // of the machine, and of a package

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
	mostSystems = spreadsheet.MostColumns - pivotKeys
)

func (w *Workbook) writePivots() {
	w.writePivot(WholeSheet, "整机吞吐: output tokens/s of the whole machine, the best run by model, lengths, latency limit and system", func(b best) float64 { return b.whole })
	w.writePivot(CardSheet, "单卡吞吐: output tokens/s per package, the best run by model, lengths, latency limit and system", func(b best) float64 { return b.card })
}

func (w *Workbook) writePivot(sheet, title string, value func(best) float64) {
	p := &w.pivots
	columns := p.columns[:min(len(p.columns), mostSystems)]
	titles := []spreadsheet.Cell{head("case", false), head("model", false), head("ISL (tokens)", true), head("OSL (tokens)", true), head("limits", false)}
	for _, c := range columns {
		titles = append(titles, head(c, true))
	}
	s := w.book.Sheet(sheet)
	s.Widths = []spreadsheet.Width{{First: 1, Last: 2, Width: 32}, {First: 3, Last: len(titles), Width: 20}}
	s.FrozenX, s.FrozenY = pivotKeys, pivotHead
	s.Row(spreadsheet.Cell{Value: title, Style: header})
	s.Row()
	s.Row(anys(titles)...)
	for _, q := range p.rows {
		line := []any{fmt.Sprintf("%s %d/%d %s", q.model, q.input, q.output, q.limits), q.model, q.input, q.output, q.limits}
		for _, c := range columns {
			if b, ok := p.best[place{q, c}]; ok {
				line = append(line, shown(value(b)))
			} else {
				line = append(line, nil)
			}
		}
		s.Row(line...)
	}
	all := area{s, pivotHead, len(titles), len(p.rows), 0}
	all.shade(pivotKeys+1, len(titles), map[bool]string{true: more}[len(columns) > 0])
	all.finish()
}

// shares are the titles of the charts of steps.
var shares = [op.PhaseCount]string{op.Prefill: "prefill step: where the time goes, by run", op.Decode: "decode step: where the time goes, by run"}

// bounds are what binds a step, and its fields.
var bounds = []struct{ field, name string }{
	{"op_compute_bound(%)", "compute"}, {"op_memory_bound(%)", "memory"}, {"op_comm_exposed(%)", "communication not hidden"},
	{"op_static_latency(%)", "fixed latencies"}, {"op_waiting(%)", "waiting"},
}

// Where charts stand.
const (
	chartWidth, chartHeight = 960, 420 // pixels
	chartRows               = 23
)

// writeCharts draws the pivots, and where the time of the first runs goes.
func (w *Workbook) writeCharts() {
	s := w.book.Sheet(ChartSheet)
	rows := min(len(w.pivots.rows), mostShown)
	series := min(len(w.pivots.columns), mostSeries)
	at := 1
	add := func(c *spreadsheet.Chart) {
		c.Width, c.Height = chartWidth, chartHeight
		s.Place(at, c)
		at += chartRows
	}
	for _, c := range []struct{ sheet, title string }{{WholeSheet, "整机 whole machine: output tokens/s"}, {CardSheet, "单卡 per package: output tokens/s"}} {
		if rows == 0 || series == 0 {
			continue
		}
		drawn := &spreadsheet.Chart{Title: c.title, Unit: "tokens/s"}
		for i := range series {
			column := spreadsheet.Column(pivotKeys + 1 + i)
			drawn.Series = append(drawn.Series, spreadsheet.Series{
				Colour: chart.Light.Hex(chart.Series(i)), From: fmt.Sprintf("'%s'!$%s$%d", c.sheet, column, pivotHead),
				Categories: fmt.Sprintf("'%s'!$A$%d:$A$%d", c.sheet, pivotHead+1, pivotHead+rows),
				Values:     fmt.Sprintf("'%s'!$%s$%d:$%s$%d", c.sheet, column, pivotHead+1, column, pivotHead+rows),
			})
		}
		add(drawn)
	}
	if !slices.Contains(w.with, result.OpDetails) || w.runs == 0 {
		return
	}
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		drawn := &spreadsheet.Chart{Title: shares[phase], Unit: "%", Shares: true}
		for i, bound := range bounds {
			column := spreadsheet.Column(1 + slices.Index(w.fields, result.Of(phase, bound.field)))
			runs := 1 + min(w.runs, mostShown)
			drawn.Series = append(drawn.Series, spreadsheet.Series{
				Colour: chart.Light.Hex(chart.Series(i)), Name: bound.name, Categories: fmt.Sprintf("'%s'!$B$2:$B$%d", LongSheet, runs),
				Values: fmt.Sprintf("'%s'!$%s$2:$%s$%d", LongSheet, column, column, runs),
			})
		}
		add(drawn)
	}
}
