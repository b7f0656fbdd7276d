// Package parquet writes tables as Apache Parquet files (github.com/apache/parquet-format), and
// reads back what it wrote: columns of four kinds whose values may be missing, plain values
// compressed by zstd, a page with a checksum for each column of a group of rows.
package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Kind of the values of a column: float64, int, string or bool.
type Kind int

// Kinds, by the number of their physical type.
const (
	Bool  Kind = 0
	Int   Kind = 2
	Float Kind = 5
	Text  Kind = 6
)

type Column struct {
	Name string
	Kind Kind
}

// Numbers of the format.
const (
	magic      = "PAR1"
	optional   = 1 // a value may be missing
	utf8       = 0 // what a text is
	plain      = 0 // the encoding of values
	runs       = 3 // the encoding of which are there
	compressed = 6 // by zstd
	dataPage   = 0
)

// groupRows are held in memory until written. Readers prefer large groups; of a table of some
// hundred columns these are some megabytes.
const groupRows = 4096

// Writer holds a group of rows at a time.
type Writer struct {
	out     io.Writer
	at      int // bytes written
	columns []Column
	chunks  []chunk // of the group, by column
	rows    int     // in the group
	all     int
	groups  [][]chunk
	notes   [][2]string
	creator string
}

// chunk is a column of a group.
type chunk struct {
	there     []bool
	values    []byte // plain
	truths    int    // of them in values, eight to a byte
	nulls     int
	low, high uint64 // of numbers, as bits
	unordered bool   // some value is no number

	rows, offset, size, whole int // once written: bytes with and without compression
}

func NewWriter(out io.Writer, creator string, columns []Column) *Writer {
	return &Writer{out: out, columns: columns, chunks: make([]chunk, len(columns)), creator: creator}
}

// Note adds a text beside the table, until it is closed.
func (w *Writer) Note(key, text string) { w.notes = append(w.notes, [2]string{key, text}) }

// Row adds a row, nil where a value is missing; an integer may stand for a real number.
func (w *Writer) Row(row []any) error {
	for i := range w.columns {
		if err := w.chunks[i].add(w.columns[i].Kind, row[i]); err != nil {
			return fmt.Errorf("%s: %w", w.columns[i].Name, err)
		}
	}
	if w.rows++; w.rows == groupRows {
		return w.flush()
	}
	return nil
}

func (c *chunk) add(k Kind, v any) error {
	switch v := v.(type) {
	case nil:
		c.there, c.nulls = append(c.there, false), c.nulls+1
		return nil
	case int:
		if k == Int || k == Float {
			bits := uint64(v)
			if k == Float {
				bits = math.Float64bits(float64(v))
			}
			c.number(k, bits)
			return nil
		}
	case float64:
		if k == Float {
			c.unordered = c.unordered || math.IsNaN(v)
			c.number(k, math.Float64bits(v))
			return nil
		}
	case string:
		if k == Text {
			c.values = append(binary.LittleEndian.AppendUint32(c.values, uint32(len(v))), v...)
			c.there = append(c.there, true)
			return nil
		}
	case bool:
		if k == Bool {
			c.truth(v)
			return nil
		}
	}
	return fmt.Errorf("a value %v in a column of another type", v)
}

func (c *chunk) number(k Kind, bits uint64) {
	first := len(c.values) == 0
	if first || less(k, bits, c.low) {
		c.low = bits
	}
	if first || less(k, c.high, bits) {
		c.high = bits
	}
	c.values = binary.LittleEndian.AppendUint64(c.values, bits)
	c.there = append(c.there, true)
}

func less(k Kind, a, b uint64) bool {
	if k == Int {
		return int64(a) < int64(b)
	}
	return math.Float64frombits(a) < math.Float64frombits(b)
}

func (c *chunk) truth(v bool) {
	if c.truths%8 == 0 {
		c.values = append(c.values, 0)
	}
	if v {
		c.values[len(c.values)-1] |= 1 << (c.truths % 8)
	}
	c.truths++
	c.there = append(c.there, true)
}

// levels says which values are there: a run where it is all or none, and otherwise a bit each.
func (c *chunk) levels() []byte {
	n := len(c.there)
	var out []byte
	if c.nulls == 0 || c.nulls == n {
		out = binary.AppendUvarint(nil, uint64(n)<<1)
		out = append(out, byte(1-min(c.nulls, 1)))
	} else {
		out = binary.AppendUvarint(nil, uint64((n+7)/8)<<1|1)
		bits := make([]byte, (n+7)/8)
		for i, there := range c.there {
			if there {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		out = append(out, bits...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(out))), out...)
}

// packer compresses pages; it has no state between them.
var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // an option that is not one
	}
	return e
})

func (w *Writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.at += n
	return err
}

func (w *Writer) flush() error {
	if w.at == 0 {
		if err := w.write([]byte(magic)); err != nil {
			return err
		}
	}
	if w.rows == 0 {
		return nil
	}
	written := make([]chunk, len(w.chunks))
	for i := range w.chunks {
		c := &w.chunks[i]
		page := append(c.levels(), c.values...)
		packed := packer().EncodeAll(page, nil)
		var head message
		head.structure(func() {
			head.int(1, dataPage)
			head.int(2, len(page))
			head.int(3, len(packed))
			head.int(4, int(int32(crc32.ChecksumIEEE(packed))))
			head.within(5, func() { head.int(1, w.rows); head.int(2, plain); head.int(3, runs); head.int(4, runs) })
		})
		c.rows, c.offset, c.size, c.whole = w.rows, w.at, len(head.bytes)+len(packed), len(head.bytes)+len(page)
		if err := w.write(append(head.bytes, packed...)); err != nil {
			return err
		}
		written[i] = *c
		written[i].there, written[i].values = nil, nil
		*c = chunk{there: c.there[:0], values: c.values[:0]}
	}
	w.groups, w.all, w.rows = append(w.groups, written), w.all+w.rows, 0
	return nil
}

// Close writes the last group, and the description of the file.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	var m message
	m.structure(func() {
		m.int(1, 1) // version of the format
		m.list(2, isStruct, 1+len(w.columns))
		m.structure(func() { m.text(4, "table"); m.int(5, len(w.columns)) })
		for _, c := range w.columns {
			m.structure(func() { m.column(c) })
		}
		m.long(3, w.all)
		m.list(4, isStruct, len(w.groups))
		for _, group := range w.groups {
			m.structure(func() { m.group(w.columns, group) })
		}
		if len(w.notes) > 0 {
			m.list(5, isStruct, len(w.notes))
			for _, n := range w.notes {
				m.structure(func() { m.text(1, n[0]); m.text(2, n[1]) })
			}
		}
		m.text(6, w.creator)
		m.list(7, isStruct, len(w.columns)) // numbers are ordered as numbers
		for range w.columns {
			m.structure(func() { m.within(1, func() {}) })
		}
	})
	m.bytes = binary.LittleEndian.AppendUint32(m.bytes, uint32(len(m.bytes)))
	return w.write(append(m.bytes, magic...))
}

func (m *message) column(c Column) {
	m.int(1, int(c.Kind))
	m.int(3, optional)
	m.text(4, c.Name)
	if c.Kind == Text {
		m.int(6, utf8)
		m.within(10, func() { m.within(1, func() {}) })
	}
}

func (m *message) group(columns []Column, group []chunk) {
	bytes := 0
	m.list(1, isStruct, len(group))
	for i := range group {
		c := &group[i]
		bytes += c.whole
		m.structure(func() {
			m.long(2, c.offset)
			m.within(3, func() { m.chunk(columns[i], c) })
		})
	}
	m.long(2, bytes)
	m.long(3, group[0].rows)
}

func (m *message) chunk(of Column, c *chunk) {
	m.int(1, int(of.Kind))
	m.list(2, isInt, 2)
	m.bytes = binary.AppendVarint(binary.AppendVarint(m.bytes, plain), runs)
	m.list(3, isBytes, 1)
	m.element(of.Name)
	m.int(4, compressed)
	m.long(5, c.rows)
	m.long(6, c.whole)
	m.long(7, c.size)
	m.long(9, c.offset)
	m.within(12, func() {
		m.long(3, c.nulls)
		if (of.Kind == Int || of.Kind == Float) && c.nulls < c.rows && !c.unordered {
			m.text(5, string(binary.LittleEndian.AppendUint64(nil, c.high)))
			m.text(6, string(binary.LittleEndian.AppendUint64(nil, c.low)))
		}
	})
}
