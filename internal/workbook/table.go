package workbook

import (
	"cmp"
	"io"

	"github.com/xuri/excelize/v2"

	"throughline/internal/table"
)

// WriteTable writes a workbook of the answer in sentences and a table with frozen columns.
func WriteTable[T any](out io.Writer, answer []string, name string, frozen int, t *table.Table[T]) error {
	w := &Workbook{Answer: answer, file: excelize.NewFile()}
	defer w.Close()
	if err := w.file.SetSheetName("Sheet1", AnswerSheet); err != nil {
		return err
	}
	if _, err := w.file.NewSheet(name); err != nil {
		return err
	}
	var err error
	if w.header, err = headerStyle(w.file); err != nil {
		return err
	}
	if err := w.writeAnswer(); err != nil {
		return err
	}
	s, err := newSheet(w, name, frozen, t.Columns)
	if err != nil {
		return err
	}
	for _, row := range t.Rows {
		if err := s.Add(row); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	return w.send(out)
}

// sheet is written row by row.
type sheet[T any] struct {
	*excelize.StreamWriter
	file    *excelize.File
	columns []table.Column[T]
	rows    int
	frozen  int
	cells   []any
}

func newSheet[T any](w *Workbook, name string, frozen int, columns []table.Column[T]) (*sheet[T], error) {
	var titles []any
	for i := range columns {
		titles = append(titles, withUnit(columns[i].Name, columns[i].Unit))
	}
	s, err := w.stream(name, frozen, 18, titles)
	return &sheet[T]{StreamWriter: s, file: w.file, columns: columns, frozen: frozen}, err
}

func (s *sheet[T]) Add(row T) error {
	s.rows++
	s.cells = s.cells[:0]
	for i := range s.columns {
		s.cells = append(s.cells, cell(s.columns[i].Value(row)))
	}
	return s.SetRow(rowName(1+s.rows), s.cells)
}

func (s *sheet[T]) Close() error {
	all := area{s.Sheet, 1, len(s.columns), s.rows, s.frozen}
	for i := range s.columns {
		if err := all.shade(s.file, 1+i, 1+i, shades[s.columns[i].Name]); err != nil {
			return err
		}
	}
	return cmp.Or(all.finish(s.file), s.Flush())
}
