package report

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
)

// WriteCSV writes a table: a row per field, a column per run. With categories each row starts with the group it belongs
// to.
func (t Table) WriteCSV(w io.Writer, columns []Column, categories bool) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if categories {
		b.WriteString("category,")
	}
	b.WriteString("field_name")
	for i := range columns {
		b.WriteString(",run_")
		b.WriteString(strconv.Itoa(i))
	}
	b.WriteByte('\n')
	var cell []byte
	for _, cat := range t.categories {
		for i := range cat.fields {
			f := &cat.fields[i]
			if categories {
				b.WriteString(cat.name)
				b.WriteByte(',')
			}
			b.WriteString(f.name)
			for j := range columns {
				cell = appendCell(append(cell[:0], ','), f.value(&columns[j]))
				b.Write(cell)
			}
			b.WriteByte('\n')
		}
	}
	return b.Flush()
}

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
