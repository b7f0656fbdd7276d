package report

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/result"
)

// Wide collects the cells of the tables with a row per field and a column per run. What it holds is as large as the files.
type Wide struct {
	tables  []result.Table
	rows    [][][]byte // by table and row: the cells so far, each behind a comma
	columns int
}

// MostColumns is what spreadsheets show of a wide table (Excel and LibreOffice).
const MostColumns = 16384

// NewWide is a collection of no runs, with the categories that are there only where they are asked for.
func NewWide(with ...result.Category) *Wide {
	w := &Wide{tables: result.Tables(with...)}
	for i := range w.tables {
		w.rows = append(w.rows, make([][]byte, len(w.tables[i].Rows)))
	}
	return w
}

// Tables are the names of the tables.
func (w *Wide) Tables() []string {
	var out []string
	for i := range w.tables {
		out = append(out, w.tables[i].Name)
	}
	return out
}

// Add adds a run.
func (w *Wide) Add(r *result.Record) {
	w.columns++
	for i := range w.tables {
		for j := range w.tables[i].Rows {
			w.rows[i][j] = appendCell(append(w.rows[i][j], ','), w.tables[i].Rows[j].Of(r))
		}
	}
}

// WriteCSV writes a table. With categories each row starts with the group it belongs to.
func (w *Wide) WriteCSV(out io.Writer, table int, categories bool) error {
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
	t := &w.tables[table]
	for j := range t.Rows {
		if categories {
			b.WriteString(string(t.Category(&t.Rows[j])))
			b.WriteByte(',')
		}
		b.WriteString(t.Rows[j].Label)
		b.Write(w.rows[table][j])
		b.WriteByte('\n')
	}
	return b.Flush()
}

// Long writes the table with a row per run and a column per field. It holds nothing.
type Long struct {
	w      *bufio.Writer
	fields []*result.Field
	cells  []byte
}

// NewLong starts a table.
func NewLong(w io.Writer, with ...result.Category) *Long {
	l := &Long{w: bufio.NewWriterSize(w, 1<<16), fields: result.Long(with...)}
	for i, f := range l.fields {
		if i > 0 {
			l.w.WriteByte(',')
		}
		l.w.WriteString(f.Name)
	}
	l.w.WriteByte('\n')
	return l
}

// Add writes a run.
func (l *Long) Add(r *result.Record) error {
	l.cells = l.cells[:0]
	for i, f := range l.fields {
		if i > 0 {
			l.cells = append(l.cells, ',')
		}
		l.cells = appendCell(l.cells, f.Value(r))
	}
	l.cells = append(l.cells, '\n')
	_, err := l.w.Write(l.cells)
	return err
}

// Close writes what is left.
func (l *Long) Close() error { return l.w.Flush() }

func appendCell(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return b
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return appendNumber(b, v)
	case bool:
		if v {
			return append(b, "TRUE"...)
		}
		return append(b, "FALSE"...)
	case string:
		return appendText(b, v)
	}
	panic("report: a cell of an unknown type")
}

// appendNumber writes the shortest form that reads back as the same number, without an exponent where it stays short.
func appendNumber(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// appendText quotes a name that would break the table, and guards one that a spreadsheet would take for a formula.
func appendText(b []byte, v string) []byte {
	v = csvfile.Guard(v)
	if !strings.ContainsAny(v, ",\"\r\n") {
		return append(b, v...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(v, `"`, `""`)...)
	return append(b, '"')
}
