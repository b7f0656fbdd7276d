package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
)

// Form is a file format, named by its extension.
type Form string

const (
	CSV     Form = ".csv"
	JSON    Form = ".json"  // an array of objects
	Lines   Form = ".jsonl" // an object on each line
	Parquet Form = ".parquet"
)

// FormOf returns the form that a file name implies, CSV by default.
func FormOf(name string) Form {
	switch form := Form(filepath.Ext(strings.TrimSuffix(name, ".gz"))); form {
	case JSON, Lines, Parquet:
		return form
	}
	return CSV
}

// Note is a text that a Parquet file carries beside its table.
type Note struct{ Key, Text string }

type Writer[T any] interface {
	Add(row T) error
	Close() error
}

func NewWriter[T any](w io.Writer, form Form, columns []Column[T], notes ...Note) Writer[T] {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c Column[T]) bool { return c.Name == "" })
	switch form {
	case Parquet:
		return newParquet(w, columns, notes)
	case JSON, Lines:
		return newObjects(w, form, columns)
	}
	return newCSV(w, columns)
}

func (t *Table[T]) Write(w io.Writer, form Form) error {
	out := NewWriter(w, form, t.Columns)
	for _, row := range t.Rows {
		if err := out.Add(row); err != nil {
			return err
		}
	}
	return out.Close()
}

func (t *Table[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := t.Write(&b, JSON)
	return b.Bytes(), err
}

type csvWriter[T any] struct {
	w       *bufio.Writer
	columns []Column[T]
	line    []byte
}

func newCSV[T any](w io.Writer, columns []Column[T]) *csvWriter[T] {
	c := &csvWriter[T]{w: bufio.NewWriterSize(w, 1<<16), columns: columns}
	c.write(func(b []byte, i int) []byte { return append(b, columns[i].Name...) })
	return c
}

func (c *csvWriter[T]) write(cell func(b []byte, column int) []byte) error {
	c.line = c.line[:0]
	for i := range c.columns {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		c.line = cell(c.line, i)
	}
	_, err := c.w.Write(append(c.line, '\n'))
	return err
}

func (c *csvWriter[T]) Add(row T) error {
	return c.write(func(b []byte, i int) []byte {
		v := c.columns[i].Value(row)
		if f, ok := v.(float64); ok && c.columns[i].Format != "" {
			return fmt.Appendf(b, c.columns[i].Format, f)
		}
		return AppendCSV(b, v)
	})
}

func (c *csvWriter[T]) Close() error { return c.w.Flush() }

// AppendCSV writes a cell: nothing for nil, numbers with all digits, texts quoted where necessary
// and guarded where a spreadsheet would take them for formulas.
func AppendCSV(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return b
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return appendNumber(b, v)
	case bool:
		return append(b, strings.ToUpper(strconv.FormatBool(v))...)
	case string:
		return csvfile.AppendText(b, v)
	}
	panic(fmt.Sprintf("table: a cell of type %T", v))
}

// appendNumber writes the shortest form that reads back as the same number, without an exponent
// where that stays short.
func appendNumber(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// objects writes a JSON object per row: one on each line, or indented in an array.
type objects[T any] struct {
	w       *bufio.Writer
	columns []Column[T]
	keys    [][]byte
	line    []byte
	array   bool
	rows    int
	err     error // of a value without a JSON form
}

func newObjects[T any](w io.Writer, form Form, columns []Column[T]) *objects[T] {
	o := &objects[T]{w: bufio.NewWriterSize(w, 1<<16), columns: columns, array: form == JSON}
	for i := range columns {
		o.keys = append(o.keys, append(o.value([]byte{','}, columns[i].Name), ':'))
	}
	return o
}

func (o *objects[T]) append(b []byte, row T) []byte {
	start := len(b)
	for i := range o.columns {
		if v := o.columns[i].Value(row); v != nil || !o.columns[i].Omit {
			b = o.value(append(b, o.keys[i]...), v)
		}
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{' // in place of the first comma
	return append(b, '}')
}

type Object[T any] struct {
	Columns []Column[T]
	Row     T
}

// MarshalJSON writes the keys in the order of the columns.
func (o Object[T]) MarshalJSON() ([]byte, error) {
	w := newObjects(io.Discard, Lines, o.Columns)
	text := w.append(nil, o.Row)
	return text, w.err
}

func (o *objects[T]) Add(row T) error {
	o.line = o.append(o.line[:0], row)
	switch {
	case o.err != nil:
		return o.err
	case o.array:
		return o.indented()
	}
	_, err := o.w.Write(append(o.line, '\n'))
	return err
}

// indented writes the row as an element of the array.
func (o *objects[T]) indented() error {
	b := bytes.NewBufferString(",\n  ")
	if o.rows++; o.rows == 1 {
		b = bytes.NewBufferString("[\n  ")
	}
	if err := json.Indent(b, o.line, "  ", "  "); err != nil {
		return err
	}
	_, err := b.WriteTo(o.w)
	return err
}

func (o *objects[T]) Close() error {
	switch {
	case o.array && o.rows == 0:
		o.w.WriteString("[]\n")
	case o.array:
		o.w.WriteString("\n]\n")
	}
	return o.w.Flush()
}

// value writes null for no value and for numbers that JSON lacks.
func (o *objects[T]) value(b []byte, v any) []byte {
	switch f := v.(type) { // the common ones, without reflection
	case nil:
		return append(b, "null"...)
	case int:
		return strconv.AppendInt(b, int64(f), 10)
	case float64:
		switch a := math.Abs(f); {
		case a == 0 || a >= 1e-6 && a < 1e21:
			return strconv.AppendFloat(b, f, 'f', -1, 64)
		case math.IsNaN(f) || math.IsInf(f, 0):
			return append(b, "null"...)
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	o.err = cmp.Or(o.err, e.Encode(v))
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}
