// Package workbook writes results as a spreadsheet. Sheets with a row per run are streamed, so that
// ten thousand runs take the memory of a thousand.
package workbook

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/xuri/excelize/v2"

	"throughline/internal/rawdata"
	"throughline/internal/result"
	"throughline/op"
)

// Names of the sheets.
const (
	AnswerSheet = "answer"
	WholeSheet  = "整机 whole machine"
	CardSheet   = "单卡 per card"
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
	mostSeries = 12      // of a chart
	mostShown  = 40      // categories of a chart
)

// Workbook collects runs.
type Workbook struct {
	// Answer is the sentences of the first sheet.
	Answer []string

	file   *excelize.File
	header int              // style
	shown  []*result.Record // in the first sheet

	fields []*result.Field
	long   *sheet[*result.Record]
	raw    *sheet[rawdata.Row]

	tables []result.Table
	wide   [][]any // by row of all tables: the cells of the runs
	names  []any

	runs   int
	pivots pivots
	with   []result.Category
}

// New is an empty workbook; with lists optional categories to include.
func New(with ...result.Category) (*Workbook, error) {
	w := &Workbook{file: excelize.NewFile(), fields: result.Long(with...), tables: result.Tables(with...), with: with}
	for i, name := range []string{AnswerSheet, WholeSheet, CardSheet, ChartSheet, WideSheet, LongSheet, RawSheet, FieldsSheet} {
		if i == 0 {
			if err := w.file.SetSheetName("Sheet1", name); err != nil {
				return nil, err
			}
		} else if _, err := w.file.NewSheet(name); err != nil {
			return nil, err
		}
	}
	var err error
	if w.header, err = headerStyle(w.file); err != nil {
		return nil, err
	}
	for _, t := range w.tables {
		w.wide = append(w.wide, make([][]any, len(t.Rows))...)
	}
	if w.long, err = newSheet(w, LongSheet, 3, result.Columns(w.fields)); err != nil {
		return nil, err
	}
	w.raw, err = newSheet(w, RawSheet, 1, rawdata.Sheet)
	return w, err
}

func headerStyle(f *excelize.File) (int, error) {
	return f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}, Fill: headerFill})
}

var headerFill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"DDE6F0"}}

func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// stream starts a sheet that is written row by row, with a header and frozen columns.
func (w *Workbook) stream(sheet string, frozen int, width float64, titles []any) (*excelize.StreamWriter, error) {
	if len(titles) <= mostFitted {
		if err := fit(w.file, sheet); err != nil {
			return nil, err
		}
	}
	s, err := w.file.NewStreamWriter(sheet)
	if err != nil {
		return nil, err
	}
	if err := s.SetColWidth(1, len(titles), width); err != nil {
		return nil, err
	}
	corner, err := excelize.CoordinatesToCellName(frozen+1, 2)
	if err != nil {
		return nil, err
	}
	if err := s.SetPanes(&excelize.Panes{Freeze: true, XSplit: frozen, YSplit: 1, TopLeftCell: corner, ActivePane: "bottomRight"}); err != nil {
		return nil, err
	}
	styled := make([]any, len(titles))
	for i, t := range titles {
		styled[i] = excelize.Cell{StyleID: w.header, Value: t}
	}
	return s, s.SetRow("A1", styled)
}

// rowName is the first cell of a row.
func rowName(row int) string { return "A" + strconv.Itoa(row) }

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

// Add adds a run.
func (w *Workbook) Add(r *result.Record) error {
	if w.runs == MostRuns {
		return fmt.Errorf("a workbook has room for %d runs", MostRuns)
	}
	w.runs++
	if len(w.shown) < mostAnswered {
		w.shown = append(w.shown, r)
	}
	if err := w.long.Add(r); err != nil {
		return err
	}
	if w.runs <= mostWide {
		w.names = append(w.names, fmt.Sprintf("%s run_%d", r.Mode, r.Number))
		i := 0
		for t := range w.tables {
			for j := range w.tables[t].Rows {
				w.wide[i] = append(w.wide[i], cell(w.tables[t].Rows[j].Of(r)))
				i++
			}
		}
	}
	w.pivots.add(r)
	if r.Raw != nil {
		return w.AddRaw(r.Raw)
	}
	if row := rawOf(r); row != nil {
		return w.AddRaw(row)
	}
	return nil
}

// AddRaw adds a row to the raw data.
func (w *Workbook) AddRaw(row rawdata.Row) error { return w.raw.Add(row) }

// rawOf returns the raw data of a run without an engine, or nil without a plan.
func rawOf(r *result.Record) rawdata.Row {
	decode := r.Sides[op.Decode]
	if !r.Complete || decode == nil {
		return nil
	}
	p := &decode.Step.Plan
	row := rawdata.NewRow()
	for name, v := range map[string]any{
		"Model": r.Model.Name, "Quantization": rawdata.Quantization(&r.Precision), "GPU": decode.System.Name, "Num GPUs": float64(r.Procs - r.Spare),
		"ISL": float64(r.Lengths.Input), "OSL": float64(r.Lengths.Output), "Max bs": float64(p.Sequences(r.Model.IsMoE())),
		"TP": float64(p.Attention.TP), "PP": float64(p.Attention.PP), "EP": float64(max(1, p.Experts.EP)), "DP": float64(p.Attention.DP), "MTP": float64(p.Drafts),
		"Output throughput": r.Tokens(), "TPOT": 1e3 * r.TPOT, "TTFT": 1e3 * r.TTFT, "Source": rawdata.Estimated,
	} {
		row.Set(name, v)
	}
	return row
}

// Write completes the workbook and writes it.
func (w *Workbook) Write(out io.Writer) error {
	for _, finish := range []func() error{w.writeAnswer, w.long.Close, w.raw.Close, w.writeWide, w.writeFields, w.writePivots, w.writeCharts} {
		if err := finish(); err != nil {
			return err
		}
	}
	return w.send(out)
}

func (w *Workbook) send(out io.Writer) error {
	// The buffer that the library wants stays empty: the archive goes straight to out.
	w.file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return &archive{out: out} })
	_, err := w.file.WriteTo(io.Discard)
	return err
}

// Close removes what the workbook left on disk.
func (w *Workbook) Close() error { return w.file.Close() }

// writeWide writes a row for each field: table, category, name, unit, and the runs.
func (w *Workbook) writeWide() error {
	titles := append([]any{"table", "category", "field_name", "unit"}, w.names...)
	s, err := w.stream(WideSheet, 4, 22, titles)
	if err != nil {
		return err
	}
	i := 0
	for t := range w.tables {
		table := &w.tables[t]
		for j := range table.Rows {
			r := &table.Rows[j]
			line := append([]any{table.Name, string(table.Category(r)), r.Label, cell(string(r.Unit))}, w.wide[i]...)
			i++
			if err := s.SetRow(rowName(1+i), line); err != nil {
				return err
			}
		}
	}
	if w.runs > mostWide {
		note := fmt.Sprintf("the first %d of %d runs; the sheet %s has all", mostWide, w.runs, LongSheet)
		if err := s.SetRow(rowName(3+i), []any{note}); err != nil {
			return err
		}
	}
	table := area{WideSheet, 1, len(titles), i, 4}
	return cmp.Or(table.finish(w.file), s.Flush())
}

// writeFields documents the columns.
func (w *Workbook) writeFields() error {
	s, err := w.stream(FieldsSheet, 2, 30, []any{"sheet", "column", "type", "unit", "category", "meaning"})
	if err != nil {
		return err
	}
	row := 1
	add := func(cells ...any) {
		row++
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		err = cmp.Or(err, s.SetRow(rowName(row), cells))
	}
	for _, f := range w.fields {
		add(LongSheet, f.Name, string(f.Kind()), string(f.Unit), string(f.Category), f.Doc)
	}
	for _, c := range rawdata.Columns {
		add(RawSheet, c.Name, "", c.Unit, "", c.Doc)
	}
	table := area{FieldsSheet, 1, 6, row - 1, 2}
	return cmp.Or(err, table.finish(w.file), s.Flush())
}
