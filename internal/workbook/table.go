package workbook

import (
	"io"
	"strconv"

	"github.com/xuri/excelize/v2"
)

// Table is a workbook of one sheet.
type Table struct {
	Sheet  string
	Frozen int // columns that stay in view
	Titles []any
	Rows   [][]any
}

// Title is that of a column, with its unit.
func Title(name, unit string) string { return withUnit(name, unit) }

// Write writes the workbook.
func (t *Table) Write(out io.Writer) error {
	w := &Workbook{file: excelize.NewFile()}
	defer w.Close()
	if err := w.file.SetSheetName("Sheet1", t.Sheet); err != nil {
		return err
	}
	var err error
	if w.header, err = headerStyle(w.file); err != nil {
		return err
	}
	s, err := w.stream(t.Sheet, t.Frozen, 18, t.Titles)
	if err != nil {
		return err
	}
	for i, row := range t.Rows {
		cells := make([]any, len(row))
		for k, v := range row {
			cells[k] = cell(v)
		}
		if err := s.SetRow("A"+strconv.Itoa(2+i), cells); err != nil {
			return err
		}
	}
	if err := s.Flush(); err != nil {
		return err
	}
	return w.send(out)
}
