// Package parquetfile writes tables as Parquet, row by row, holding a group of rows at a time.
package parquetfile

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Kind is the type of the values of a column.
type Kind uint8

const (
	Double Kind = iota
	Integer
	Text
	Flag
)

var kinds = [...]reflect.Type{
	Double: reflect.TypeFor[*float64](), Integer: reflect.TypeFor[*int64](), Text: reflect.TypeFor[*string](), Flag: reflect.TypeFor[*bool](),
}

// Column is a column of a table. Any value may be absent.
type Column struct {
	Name string
	Kind Kind
}

// Note is a text that a file carries beside its table.
type Note struct{ Key, Text string }

// groupRows are held in memory until they are written. Readers like large groups; of a table of some hundred columns these
// are some megabytes.
const groupRows = 4096

// Writer writes one table.
type Writer struct {
	columns []Column
	out     *parquet.GenericWriter[any]
	row     parquet.Row
	rows    int
}

// NewWriter starts a table.
func NewWriter(w io.Writer, columns []Column, notes ...Note) *Writer {
	schema := parquet.NewSchema("throughline", parquet.SchemaOf(reflect.New(rowType(columns)).Interface()))
	options := []parquet.WriterOption{schema, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.CreatedBy("throughline", "", "")}
	for _, n := range notes {
		options = append(options, parquet.KeyValueMetadata(n.Key, n.Text))
	}
	return &Writer{columns: columns, out: parquet.NewGenericWriter[any](w, options...), row: make(parquet.Row, len(columns))}
}

// rowType is a struct with a field for each column: the one form of a schema that keeps their order.
func rowType(columns []Column) reflect.Type {
	var fields []reflect.StructField
	for i, c := range columns {
		tag := reflect.StructTag(fmt.Sprintf("parquet:%q", c.Name+",optional"))
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kinds[c.Kind], Tag: tag})
	}
	return reflect.StructOf(fields)
}

// Add writes a row, a value for each column: nil, or what the kind of the column says. A whole number may stand for one with
// a fraction.
func (w *Writer) Add(value func(column int) any) error {
	for i := range w.columns {
		v, err := valueOf(w.columns[i].Kind, value(i))
		if err != nil {
			return fmt.Errorf("%s: %w", w.columns[i].Name, err)
		}
		defined := 1
		if v.IsNull() {
			defined = 0
		}
		w.row[i] = v.Level(0, defined, i)
	}
	if _, err := w.out.WriteRows([]parquet.Row{w.row}); err != nil {
		return err
	}
	if w.rows++; w.rows%groupRows == 0 {
		return w.out.Flush()
	}
	return nil
}

func valueOf(k Kind, v any) (parquet.Value, error) {
	switch v := v.(type) {
	case nil:
		return parquet.NullValue(), nil
	case float64:
		if k == Double {
			return parquet.DoubleValue(v), nil
		}
	case int:
		switch k {
		case Double:
			return parquet.DoubleValue(float64(v)), nil
		case Integer:
			return parquet.Int64Value(int64(v)), nil
		}
	case string:
		if k == Text {
			return parquet.ByteArrayValue([]byte(v)), nil
		}
	case bool:
		if k == Flag {
			return parquet.BooleanValue(v), nil
		}
	}
	return parquet.Value{}, fmt.Errorf("a value %v in a column of another type", v)
}

// Close ends the table.
func (w *Writer) Close() error { return w.out.Close() }
