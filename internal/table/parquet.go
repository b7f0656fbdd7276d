package table

import (
	"cmp"
	"io"

	"throughline/internal/parquet"
)

var kinds = map[Kind]parquet.Kind{Number: parquet.Float, Count: parquet.Int, Text: parquet.Text, Flag: parquet.Bool}

// parquetWriter writes a row at a time.
type parquetWriter[T any] struct {
	columns []Column[T]
	out     *parquet.Writer
	row     []any
}

func newParquet[T any](w io.Writer, columns []Column[T], notes []Note) *parquetWriter[T] {
	var described []parquet.Column
	for _, c := range columns {
		described = append(described, parquet.Column{Name: c.Name, Kind: kinds[cmp.Or(c.Kind, Text)]})
	}
	out := &parquetWriter[T]{columns: columns, out: parquet.NewWriter(w, "throughline", described), row: make([]any, len(columns))}
	for _, n := range notes {
		out.Note(n)
	}
	return out
}

// Add writes a row; an integer may stand for a real number.
func (w *parquetWriter[T]) Add(row T) error {
	for i := range w.columns {
		w.row[i] = w.columns[i].Value(row)
	}
	return w.out.Row(w.row)
}

func (w *parquetWriter[T]) Close() error { return w.out.Close() }

// Note adds a text beside the table, until it is closed.
func (w *parquetWriter[T]) Note(n Note) { w.out.Note(n.Key, n.Text) }

// Noted is a writer whose file can carry texts that are known at its end.
type Noted interface{ Note(n Note) }
