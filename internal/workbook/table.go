package workbook

import (
	"io"

	"throughline/internal/spreadsheet"
	"throughline/internal/table"
)

func WriteTable[T any](out io.Writer, answer []string, name string, frozen int, t *table.Table[T]) error {
	w := &Workbook{Answer: answer, book: spreadsheet.New(AnswerSheet, name)}
	w.writeAnswer()
	s := newSheet(w.book, name, frozen, t.Columns)
	for _, row := range t.Rows {
		s.Add(row)
	}
	s.Close()
	return w.book.Write(out)
}

// sheet is written row by row.
type sheet[T any] struct {
	*spreadsheet.Sheet
	columns []table.Column[T]
	rows    int
	frozen  int
	cells   []any
}

func newSheet[T any](book *spreadsheet.Book, name string, frozen int, columns []table.Column[T]) *sheet[T] {
	var titles []spreadsheet.Cell
	for i := range columns {
		c := &columns[i]
		titles = append(titles, head(withUnit(c.Name, c.Unit), c.Kind == table.Number || c.Kind == table.Count))
	}
	s := book.Sheet(name)
	begin(s, frozen, 18, titles)
	return &sheet[T]{Sheet: s, columns: columns, frozen: frozen}
}

func (s *sheet[T]) Add(row T) {
	s.rows++
	s.cells = s.cells[:0]
	for i := range s.columns {
		s.cells = append(s.cells, shown(s.columns[i].Value(row)))
	}
	s.Row(s.cells...)
}

func (s *sheet[T]) Close() {
	all := area{s.Sheet, 1, len(s.columns), s.rows, s.frozen}
	for i := range s.columns {
		all.shade(1+i, 1+i, shades[s.columns[i].Name])
	}
	all.finish()
}
