package workbook

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

// mostFitted is the columns that are still read where they are as wide as a page.
const mostFitted = 20

// Colours of the largest value of a column; the least is white.
const (
	more   = "9DC3E6" // blue: throughput
	longer = "F4B183" // orange: latency
)

// shades are the colours of columns of throughput and latency, by their names in all sheets.
var shades = map[string]string{
	"TTFT(s)": longer, "TPOT(s)": longer, "TTFT": longer, "TPOT": longer, "Predicted TTFT": longer, "Predicted TPOT": longer,
	"request_per_second": more, "tokens_per_processor": more, "Output throughput": more, "Predicted output throughput": more,
}

// fit makes pages of a sheet as wide as its columns. A streamed sheet needs it before it begins.
func fit(f *excelize.File, sheet string) error {
	wide, any, across := 1, 0, "landscape"
	return cmp.Or(f.SetSheetProps(sheet, &excelize.SheetPropsOptions{FitToPage: new(true)}),
		f.SetPageLayout(sheet, &excelize.PageLayoutOptions{Orientation: &across, FitToWidth: &wide, FitToHeight: &any}))
}

// area is the table of a sheet.
type area struct {
	sheet               string
	head, columns, rows int // row of the header; columns; rows below it
	frozen              int // columns that name a row
}

// cells is a range of columns, from a row of the sheet to the last of the table.
func (a *area) cells(first, last, row int) string {
	from, _ := excelize.CoordinatesToCellName(first, row, true)
	to, _ := excelize.CoordinatesToCellName(last, max(row, a.head+a.rows), true)
	return from + ":" + to
}

// shade colours columns by their values.
func (a *area) shade(f *excelize.File, first, last int, colour string) error {
	if colour == "" || a.rows == 0 {
		return nil
	}
	return f.SetConditionalFormat(a.sheet, strings.ReplaceAll(a.cells(first, last, a.head+1), "$", ""), []excelize.ConditionalFormatOptions{
		{Type: "2_color_scale", Criteria: "=", MinType: "min", MaxType: "max", MinColor: "FFFFFF", MaxColor: colour}})
}

// finish gives the table filters, and paper its header on each page. A streamed sheet needs it
// before it is flushed.
func (a *area) finish(f *excelize.File) error {
	titles := fmt.Sprintf("'%s'!$%d:$%d", a.sheet, a.head, a.head)
	if a.frozen > 0 {
		last, _ := excelize.ColumnNumberToName(a.frozen)
		titles = fmt.Sprintf("'%s'!$A:$%s,%s", a.sheet, last, titles)
	}
	return cmp.Or(f.AutoFilter(a.sheet, a.cells(1, a.columns, a.head), nil),
		f.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Area", RefersTo: fmt.Sprintf("'%s'!%s", a.sheet, a.cells(1, a.columns, 1)), Scope: a.sheet}),
		f.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Titles", RefersTo: titles, Scope: a.sheet}))
}
