package table

import (
	"cmp"
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

var kinds = map[Kind]reflect.Type{
	Number: reflect.TypeFor[*float64](), Count: reflect.TypeFor[*int64](), Text: reflect.TypeFor[*string](), Flag: reflect.TypeFor[*bool](),
}

// groupRows are held in memory until written. Readers prefer large groups; of a table of some
// hundred columns these are some megabytes.
const groupRows = 4096

// batchRows are written at once, which is faster; groups are multiples.
const batchRows = 64

// parquetWriter holds a group of rows at a time.
type parquetWriter[T any] struct {
	columns []Column[T]
	out     *parquet.GenericWriter[any]
	batch   []parquet.Row // of which the first waiting are not written yet
	waiting int
	rows    int
}

func newParquet[T any](w io.Writer, columns []Column[T], notes []Note) *parquetWriter[T] {
	schema := parquet.NewSchema("throughline", parquet.SchemaOf(reflect.New(rowType(columns)).Interface()))
	options := []parquet.WriterOption{schema, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.CreatedBy("throughline", "", "")}
	for _, n := range notes {
		options = append(options, parquet.KeyValueMetadata(n.Key, n.Text))
	}
	out := &parquetWriter[T]{columns: columns, out: parquet.NewGenericWriter[any](w, options...), batch: make([]parquet.Row, batchRows)}
	for i := range out.batch {
		out.batch[i] = make(parquet.Row, len(columns))
	}
	return out
}

// rowType is a struct with a field per column, the only schema form that keeps their order.
func rowType[T any](columns []Column[T]) reflect.Type {
	var fields []reflect.StructField
	for i, c := range columns {
		tag := reflect.StructTag(fmt.Sprintf("parquet:%q", c.Name+",optional"))
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kinds[cmp.Or(c.Kind, Text)], Tag: tag})
	}
	return reflect.StructOf(fields)
}

// Add writes a row; an integer may stand for a real number.
func (w *parquetWriter[T]) Add(row T) error {
	for i := range w.columns {
		v, err := valueOf(cmp.Or(w.columns[i].Kind, Text), w.columns[i].Value(row))
		if err != nil {
			return fmt.Errorf("%s: %w", w.columns[i].Name, err)
		}
		defined := 1
		if v.IsNull() {
			defined = 0
		}
		w.batch[w.waiting][i] = v.Level(0, defined, i)
	}
	if w.waiting++; w.waiting == len(w.batch) {
		return w.write()
	}
	return nil
}

// write writes the rows that wait.
func (w *parquetWriter[T]) write() error {
	if w.waiting == 0 {
		return nil
	}
	_, err := w.out.WriteRows(w.batch[:w.waiting])
	w.rows += w.waiting
	if w.waiting = 0; err == nil && w.rows%groupRows == 0 {
		return w.out.Flush()
	}
	return err
}

func valueOf(k Kind, v any) (parquet.Value, error) {
	switch v := v.(type) {
	case nil:
		return parquet.NullValue(), nil
	case float64:
		if k == Number {
			return parquet.DoubleValue(v), nil
		}
	case int:
		switch k {
		case Number:
			return parquet.DoubleValue(float64(v)), nil
		case Count:
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

func (w *parquetWriter[T]) Close() error {
	if err := w.write(); err != nil {
		return err
	}
	return w.out.Close()
}

// Note adds a text beside the table, until it is closed.
func (w *parquetWriter[T]) Note(n Note) { w.out.SetKeyValueMetadata(n.Key, n.Text) }

// Noted is a writer whose file can carry texts that are known at its end.
type Noted interface{ Note(n Note) }
