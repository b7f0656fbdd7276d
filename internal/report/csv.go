package report

import (
	"bufio"
	"io"
	"strconv"

	"throughline/internal/result"
	"throughline/internal/table"
)

// Wide collects the tables with a row per field and a column per run, in memory.
type Wide struct {
	tables  []result.Table
	rows    [][][]byte // by table and row: the cells so far, each after a comma
	columns int
}

// MostColumns is the limit of spreadsheets for wide tables (Excel and LibreOffice).
const MostColumns = 16384

// NewWide starts without runs; with lists optional categories to include.
func NewWide(with ...result.Category) *Wide {
	w := &Wide{tables: result.Tables(with...)}
	for i := range w.tables {
		w.rows = append(w.rows, make([][]byte, len(w.tables[i].Rows)))
	}
	return w
}

func (w *Wide) Tables() []string {
	var out []string
	for i := range w.tables {
		out = append(out, w.tables[i].Name)
	}
	return out
}

func (w *Wide) Add(r *result.Record) {
	w.columns++
	for i := range w.tables {
		for j := range w.tables[i].Rows {
			w.rows[i][j] = table.AppendCSV(append(w.rows[i][j], ','), w.tables[i].Rows[j].Of(r))
		}
	}
}

// WriteCSV writes a table; with categories each row starts with its group.
func (w *Wide) WriteCSV(out io.Writer, of int, categories bool) error {
	b := bufio.NewWriterSize(out, 1<<16)
	if categories {
		b.WriteString("category,")
	}
	b.WriteString("field_name")
	for i := range w.columns {
		b.WriteString(",run_")
		b.WriteString(strconv.Itoa(i))
	}
	b.WriteByte('\n')
	t := &w.tables[of]
	for j := range t.Rows {
		if categories {
			b.WriteString(string(t.Category(&t.Rows[j])))
			b.WriteByte(',')
		}
		b.WriteString(t.Rows[j].Label)
		b.Write(w.rows[of][j])
		b.WriteByte('\n')
	}
	return b.Flush()
}
