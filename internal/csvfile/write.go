package csvfile

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"
)

// formulaStarts are what spreadsheets take for the beginning of a formula.
const formulaStarts = "=+-@\t\r"

// Guard quotes a text that a spreadsheet would take for a formula, so that it is shown as text.
func Guard(cell string) string {
	if cell == "" || !strings.ContainsRune(formulaStarts, rune(cell[0])) || isNumber(cell) {
		return cell
	}
	return "'" + cell
}

// Unguard undoes Guard.
func Unguard(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && strings.ContainsRune(formulaStarts, rune(cell[1])) {
		return cell[1:]
	}
	return cell
}

// isNumber tells -5 from -cmd.
func isNumber(cell string) bool {
	v, err := strconv.ParseFloat(cell, 64)
	return err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && strings.Trim(cell, "0123456789.eE+-") == ""
}

// Writer writes guarded rows.
type Writer struct {
	csv *csv.Writer
	row []string
}

// NewWriter buffers up to [Writer.Flush].
func NewWriter(w io.Writer) *Writer { return &Writer{csv: csv.NewWriter(w)} }

func (w *Writer) Write(row []string) error {
	w.row = w.row[:0]
	for _, cell := range row {
		w.row = append(w.row, Guard(cell))
	}
	return w.csv.Write(w.row)
}

// Flush writes what is buffered, and returns the first failure.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// AppendText appends a cell, quoted where needed, and guarded.
func AppendText(b []byte, cell string) []byte {
	cell = Guard(cell)
	if !strings.ContainsAny(cell, ",\"\r\n") {
		return append(b, cell...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(b, '"')
}
