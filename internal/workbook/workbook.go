// Package workbook writes results as a spreadsheet. Sheets with a row per run are streamed, so that
// ten thousand runs take the memory of a thousand.
package workbook

import (
	"fmt"
	"io"
	"math"
	"strings"

	"throughline/internal/rawdata"
	"throughline/internal/result"
	"throughline/internal/spreadsheet"
	"throughline/op"
)

// Names of the sheets.
const (
	AnswerSheet = "answer"
	WholeSheet  = "整机 whole machine"
	CardSheet   = "单卡 per package"
	ChartSheet  = "charts"
	WideSheet   = "wide"
	LongSheet   = "long"
	RawSheet    = "原始数据 raw data"
	FieldsSheet = "fields"
)

// Limits of spreadsheets, and of what people read in them.
const (
	MostRuns   = 200_000 // keeps the long sheet below the 4 GiB of archives without extensions
	mostWide   = 1000    // runs of the wide sheet, whose cells are kept until the last run
	mostSeries = 8       // of a chart, as many as have colours
	mostShown  = 40      // categories of a chart
)

// Workbook collects runs.
type Workbook struct {
	// Answer is the sentences of the first sheet.
	Answer []string

	book  *spreadsheet.Book
	shown []*result.Record // in the first sheet

	fields []*result.Field
	long   *sheet[*result.Record]
	raw    *sheet[rawdata.Row]

	tables []result.Table
	wide   [][]any // by row of all tables: the cells of the runs
	names  []string

	runs   int
	pivots pivots
	with   []result.Category
}

// New is an empty workbook; with lists optional categories to include.
func New(with ...result.Category) *Workbook {
	book := spreadsheet.New(AnswerSheet, WholeSheet, CardSheet, ChartSheet, WideSheet, LongSheet, RawSheet, FieldsSheet)
	w := &Workbook{book: book, fields: result.Long(with...), tables: result.Tables(with...), with: with}
	for _, t := range w.tables {
		w.wide = append(w.wide, make([][]any, len(t.Rows))...)
	}
	w.long = newSheet(book, LongSheet, 3, result.Columns(w.fields))
	w.raw = newSheet(book, RawSheet, 1, rawdata.Sheet)
	return w
}

var header = spreadsheet.Style{Bold: true, Filled: true}

func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// begin starts a sheet with a header in its first row and frozen columns.
func begin(s *spreadsheet.Sheet, frozen int, width float64, titles []spreadsheet.Cell) {
	s.Widths = []spreadsheet.Width{{First: 1, Last: len(titles), Width: width}}
	s.FrozenX, s.FrozenY = frozen, 1
	s.Row(anys(titles)...)
}

// head is a title of a column; those of numbers stand above them, to the right.
func head(title string, numbers bool) spreadsheet.Cell {
	style := header
	style.Right = numbers
	return spreadsheet.Cell{Value: title, Style: style}
}

func anys(cells []spreadsheet.Cell) (out []any) {
	for _, c := range cells {
		out = append(out, c)
	}
	return out
}

// cell converts a value; texts stay texts, so that nothing becomes a formula.
func cell(v any) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil
	}
	if text, ok := v.(string); ok && text == "" {
		return nil
	}
	return v
}

// mostDecimals of a small number before it has an exponent.
const mostDecimals = 6

// shown is a value that people read with three digits; the cell keeps all of them.
func shown(v any) any {
	v = cell(v)
	f, ok := v.(float64)
	if !ok {
		return v
	}
	decimals, format := 0, "#,##0"
	if f != 0 {
		decimals = 2 - int(math.Floor(math.Log10(math.Abs(f))))
	}
	switch {
	case decimals > mostDecimals:
		format = "0.00E+00"
	case decimals > 0:
		format = "0." + strings.Repeat("0", decimals)
	}
	return spreadsheet.Cell{Value: f, Style: spreadsheet.Style{Format: format}}
}

func (w *Workbook) Add(r *result.Record) error {
	if w.runs == MostRuns {
		return fmt.Errorf("a workbook has room for %d runs", MostRuns)
	}
	w.runs++
	if len(w.shown) < mostAnswered {
		w.shown = append(w.shown, r)
	}
	w.long.Add(r)
	if w.runs <= mostWide {
		w.names = append(w.names, fmt.Sprintf("%s run_%d", r.Mode, r.Number))
		i := 0
		for t := range w.tables {
			for j := range w.tables[t].Rows {
				w.wide[i] = append(w.wide[i], shown(w.tables[t].Rows[j].Of(r)))
				i++
			}
		}
	}
	w.pivots.add(r)
	if r.Raw != nil {
		w.AddRaw(r.Raw)
	} else if row := rawOf(r); row != nil {
		w.AddRaw(row)
	}
	return nil
}

func (w *Workbook) AddRaw(row rawdata.Row) { w.raw.Add(row) }

// rawOf returns the raw data of a run without an engine, or nil without a plan.
func rawOf(r *result.Record) rawdata.Row {
	decode := r.Sides[op.Decode]
	if !r.Complete || decode == nil {
		return nil
	}
	row := rawdata.Planned(r.Model, &r.Precision, decode.System.Name, r.Procs-r.Spare, r.Lengths, &decode.Step.Plan)
	for name, v := range map[string]any{"Output throughput": r.Tokens(), "TPOT": 1e3 * r.TPOT, "TTFT": 1e3 * r.TTFT} {
		row.Set(name, v)
	}
	return row
}

func (w *Workbook) Write(out io.Writer) error {
	w.writeAnswer()
	w.long.Close()
	w.raw.Close()
	w.writeWide()
	w.writeFields()
	w.writePivots()
	w.writeCharts()
	return w.book.Write(out)
}

// writeWide writes a row for each field: table, category, name, unit, and the runs.
func (w *Workbook) writeWide() {
	var titles []spreadsheet.Cell
	for _, t := range []string{"table", "category", "field_name", "unit"} {
		titles = append(titles, head(t, false))
	}
	for _, t := range w.names {
		titles = append(titles, head(t, true))
	}
	s := w.book.Sheet(WideSheet)
	begin(s, 4, 22, titles)
	i := 0
	for t := range w.tables {
		table := &w.tables[t]
		for j := range table.Rows {
			r := &table.Rows[j]
			s.Row(append([]any{table.Name, string(table.Category(r)), r.Label, cell(string(r.Unit))}, w.wide[i]...)...)
			i++
		}
	}
	if w.runs > mostWide {
		s.Row()
		s.Row(fmt.Sprintf("the first %d of %d runs; the sheet %s has all", mostWide, w.runs, LongSheet))
	}
	table := area{s, 1, len(titles), i, 4}
	table.finish()
}

// writeFields documents the columns.
func (w *Workbook) writeFields() {
	s := w.book.Sheet(FieldsSheet)
	var titles []spreadsheet.Cell
	for _, t := range []string{"sheet", "column", "type", "unit", "category", "meaning"} {
		titles = append(titles, head(t, false))
	}
	begin(s, 2, 30, titles)
	rows := 0
	add := func(cells ...any) {
		rows++
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		s.Row(cells...)
	}
	for _, f := range w.fields {
		add(LongSheet, f.Name, string(f.Kind()), string(f.Unit), string(f.Category), f.Doc)
	}
	for _, c := range rawdata.Columns {
		add(RawSheet, c.Name, "", c.Unit, "", c.Doc)
	}
	table := area{s, 1, 6, rows, 2}
	table.finish()
}
