package workbook

import "throughline/internal/spreadsheet"

// What paper has of a table: as many columns as are still read where they are as wide as a page,
// and the rows of a few pages.
const (
	mostColumns = 20
	mostPrinted = 200
)

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

// area is the table of a sheet.
type area struct {
	sheet               *spreadsheet.Sheet
	head, columns, rows int // row of the header; columns; rows below it
	frozen              int // columns that name a row
}

// cells is a range of columns, from a row of the sheet to the last of the table.
func (a *area) cells(first, last, row int) string {
	return spreadsheet.Range(first, row, last, max(row, a.head+a.rows))
}

// shade colours columns by their values.
func (a *area) shade(first, last int, colour string) {
	if colour != "" && a.rows > 0 {
		a.sheet.Shade(a.cells(first, last, a.head+1), colour)
	}
}

// finish gives the table filters, and paper what stands above it and its header on each page.
func (a *area) finish() {
	a.sheet.Table(a.cells(1, a.columns, a.head), a.head, a.frozen)
	width, last := a.columns, a.head+min(a.rows, mostPrinted)
	if a.head > 1 {
		width = max(width, sentences)
	}
	a.sheet.Print(spreadsheet.Range(1, 1, min(width, mostColumns), max(last, a.head)))
}
