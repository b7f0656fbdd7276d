package report

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"throughline/internal/parquetfile"
	"throughline/internal/result"
)

// Sink takes records one after another, and writes them as they come.
type Sink interface {
	Add(r *result.Record) error
	Close() error
}

// Format is a form of the long table: a row per run, a column per field.
type Format struct {
	Name string // by which it is asked for
	File string // behind the mode
	New  func(w io.Writer, with ...result.Category) Sink
}

// Formats are all of them.
var Formats = []Format{
	{"long", "long.csv", func(w io.Writer, with ...result.Category) Sink { return NewLong(w, with...) }},
	{"json", "long.jsonl", newLines},
	{"parquet", "long.parquet", newParquet},
}

// lines is a JSON object per run and line.
type lines struct {
	w      *bufio.Writer
	fields []*result.Field
	keys   [][]byte // quoted, with what stands before and behind them
	line   []byte
}

func newLines(w io.Writer, with ...result.Category) Sink {
	l := &lines{w: bufio.NewWriterSize(w, 1<<16), fields: result.Long(with...)}
	for i, f := range l.fields {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		l.keys = append(l.keys, append(appendQuoted([]byte{before}, f.Name), ':'))
	}
	return l
}

// Add writes a run.
func (l *lines) Add(r *result.Record) error {
	l.line = l.line[:0]
	for i, f := range l.fields {
		l.line = appendJSON(append(l.line, l.keys[i]...), f.Value(r))
	}
	_, err := l.w.Write(append(l.line, '}', '\n'))
	return err
}

func (l *lines) Close() error { return l.w.Flush() }

// appendQuoted writes a text as JSON has it.
func appendQuoted(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always has a form
	}
	return append(b, quoted...)
}

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendQuoted(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return appendNumber(b, v)
		}
	}
	return append(b, "null"...)
}

// kindOf is what a column of Parquet is.
var kindOf = map[result.Type]parquetfile.Kind{
	result.Number: parquetfile.Double, result.Count: parquetfile.Integer, result.Text: parquetfile.Text, result.Flag: parquetfile.Flag,
}

// parquetTable is a Parquet file.
type parquetTable struct {
	*parquetfile.Writer
	fields []*result.Field
}

func newParquet(w io.Writer, with ...result.Category) Sink {
	t := &parquetTable{fields: result.Long(with...)}
	var columns []parquetfile.Column
	for _, f := range t.fields {
		columns = append(columns, parquetfile.Column{Name: f.Name, Kind: kindOf[f.Type()]})
	}
	notes := []parquetfile.Note{{Key: "throughline.long.version", Text: strconv.Itoa(result.LongVersion)}}
	if schema, err := result.Schema(); err == nil {
		notes = append(notes, parquetfile.Note{Key: "throughline.long.schema", Text: string(schema)})
	}
	t.Writer = parquetfile.NewWriter(w, columns, notes...)
	return t
}

// Add writes a run.
func (t *parquetTable) Add(r *result.Record) error {
	return t.Writer.Add(func(i int) any { return t.fields[i].Value(r) })
}
