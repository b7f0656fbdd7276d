// Package csvfile reads and writes the CSV tables of the program. Tables come from anywhere: what is read has limits, so
// that a device or a packed file of a thousand times its size ends with a message and not with the memory; what is
// written holds nothing that a spreadsheet would take for a formula.
package csvfile

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits of what is read.
type Limits struct {
	Row   int   // bytes of a row
	Cell  int   // bytes of a cell
	Cells int   // cells of a row
	Rows  int   // 0: any number
	Bytes int64 // of the whole table; 0: any number
}

// Streamed are the limits of a table that is forgotten row by row: a row is far longer than any that makes sense here.
var Streamed = Limits{Row: 1 << 20, Cell: 1 << 16, Cells: 1 << 14}

// Kept are the limits of a table that stays in memory. The largest public ones have some 100,000 rows of 200 bytes.
var Kept = Limits{Row: 1 << 20, Cell: 1 << 16, Cells: 1 << 14, Rows: 2_000_000, Bytes: 512 << 20}

// unpacked is the most bytes that a compressed file may hold.
const unpacked = 16 << 30

// Open opens a file; one whose name ends in ".gz" is unpacked.
func Open(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".gz") {
		return f, nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(f, bufferSize))
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{&limited{src: z, limits: Limits{Bytes: unpacked}}, f}, nil
}

// Reader reads rows.
type Reader struct {
	csv    *csv.Reader
	buffer *bufio.Reader
	src    *limited
	limits Limits
	rows   int
	line   int // where the last row begins
}

const bufferSize = 1 << 16

// NewReader reads a table within limits. A row is overwritten by the next; rows may differ in their number of cells.
func NewReader(src io.Reader, limits Limits) *Reader {
	r := &Reader{src: &limited{src: src, limits: limits}, limits: limits}
	r.buffer = bufio.NewReaderSize(r.src, bufferSize)
	r.csv = csv.NewReader(r.buffer)
	r.csv.FieldsPerRecord, r.csv.ReuseRecord = -1, true
	return r
}

// Read is the next row, or io.EOF. After a [*csv.ParseError] the rows that follow can be read; other errors are final.
func (r *Reader) Read() ([]string, error) {
	r.src.row = 0
	row, err := r.csv.Read()
	if r.src.err != nil { // whatever was made of the part that was read
		return nil, r.place(r.src.err)
	}
	if err != nil {
		return nil, err
	}
	r.rows++
	r.line, _ = r.csv.FieldPos(0)
	if r.limits.Rows > 0 && r.rows > r.limits.Rows {
		return nil, fmt.Errorf("line %d: %w", r.Line(), exceeds("the table", r.limits.Rows, "rows"))
	}
	if len(row) > r.limits.Cells {
		return nil, fmt.Errorf("line %d: %w", r.Line(), exceeds("a row", r.limits.Cells, "cells"))
	}
	for i := range row {
		if len(row[i]) > r.limits.Cell {
			line, _ := r.csv.FieldPos(i)
			return nil, fmt.Errorf("line %d: %w", line, exceeds(fmt.Sprintf("cell %d", i+1), r.limits.Cell, "bytes"))
		}
	}
	return row, nil
}

func exceeds(what string, limit int, unit string) error {
	return fmt.Errorf("%s has more than %d %s, the most that is read", what, limit, unit)
}

// place says where reading ended. Where the row that was not read begins is only known by the one before it.
func (r *Reader) place(err error) error {
	if r.rows == 0 {
		return fmt.Errorf("line 1: %w", err)
	}
	return fmt.Errorf("after line %d: %w", r.Line(), err)
}

// Line is where the last row begins.
func (r *Reader) Line() int { return r.line }

// LineOf is where a cell of the last row begins.
func (r *Reader) LineOf(cell int) int {
	line, _ := r.csv.FieldPos(cell)
	return line
}

// Waits reports whether all that has come was read: whoever sends row by row waits for the answer.
func (r *Reader) Waits() bool { return r.buffer.Buffered() == 0 }

// limited counts what is read: in all, and for the row that is being read.
type limited struct {
	src    io.Reader
	limits Limits
	row    int // bytes since the row began, what the buffer holds beyond it included
	all    int64
	err    error // final
}

func (l *limited) Read(p []byte) (int, error) {
	switch {
	case l.err != nil:
		return 0, l.err
	case l.limits.Row > 0 && l.row > l.limits.Row+bufferSize:
		l.err = exceeds("a row", l.limits.Row, "bytes (is a quote not closed?)")
		return 0, l.err
	case l.limits.Bytes > 0 && l.all > l.limits.Bytes:
		l.err = fmt.Errorf("the table has more than %d MiB, the most that is read", l.limits.Bytes>>20)
		return 0, l.err
	}
	n, err := l.src.Read(p)
	l.row += n
	l.all += int64(n)
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}
