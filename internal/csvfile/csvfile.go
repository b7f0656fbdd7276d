// Package csvfile reads CSV tables within limits, so that a device or a decompression bomb ends
// with a message, and writes them without anything that a spreadsheet would take for a formula.
package csvfile

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"throughline/internal/files"
)

type Limits struct {
	Row   int   // bytes of a row
	Cell  int   // bytes of a cell
	Cells int   // cells of a row
	Rows  int   // 0: unlimited
	Bytes int64 // of the table; 0: unlimited
}

// Streamed limits apply to tables that are read row by row, far above any sensible row.
var Streamed = Limits{Row: 1 << 20, Cell: 1 << 16, Cells: 1 << 14}

// Kept limits apply to tables in memory; large public ones have 100,000 rows of 200 bytes.
var Kept = Limits{Row: 1 << 20, Cell: 1 << 16, Cells: 1 << 14, Rows: 2_000_000, Bytes: 512 << 20}

// unpacked is the most bytes of a decompressed file.
const unpacked = 16 << 30

// Open opens a file; one whose name ends in ".gz" is unpacked.
func Open(in *files.Door, name string) (io.ReadCloser, error) {
	f, err := in.Open(name)
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

// OpenEither opens a file, or the packed one with ".gz" behind its name.
func OpenEither(in *files.Door, name string) (io.ReadCloser, error) {
	f, err := Open(in, name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = Open(in, name+".gz")
	}
	return f, err
}

type Reader struct {
	csv    *csv.Reader
	buffer *bufio.Reader
	src    *limited
	limits Limits
	rows   int
	line   int // of the start of the last row
}

const bufferSize = 1 << 16

// NewReader reads a table within limits. Rows are overwritten by the next and may differ in cells.
func NewReader(src io.Reader, limits Limits) *Reader {
	r := &Reader{src: &limited{src: src, limits: limits}, limits: limits}
	r.buffer = bufio.NewReaderSize(r.src, bufferSize)
	r.csv = csv.NewReader(r.buffer)
	r.csv.FieldsPerRecord, r.csv.ReuseRecord = -1, true
	return r
}

// Read is the next row, or io.EOF. Errors are final, except a [*csv.ParseError].
func (r *Reader) Read() ([]string, error) {
	r.src.row = 0
	row, err := r.csv.Read()
	if r.src.err != nil { // whatever was parsed of the partial row
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

var ErrEmpty = errors.New("the table is empty: its first row names the columns")

// Header reads the names of the columns, without the spaces and the byte order mark around them.
func (r *Reader) Header() ([]string, error) {
	row, err := r.Read()
	if err == io.EOF {
		return nil, ErrEmpty
	} else if err != nil {
		return nil, err
	}
	names := make([]string, len(row))
	for i, name := range row {
		names[i] = strings.TrimSpace(strings.TrimPrefix(name, "\uFEFF"))
	}
	return names, nil
}

func exceeds(what string, limit int, unit string) error {
	return fmt.Errorf("%s has more than %d %s, the most that is read", what, limit, unit)
}

// place says where reading ended. The start of the unread row is only known by the one before it.
func (r *Reader) place(err error) error {
	if r.rows == 0 {
		return fmt.Errorf("line 1: %w", err)
	}
	return fmt.Errorf("after line %d: %w", r.Line(), err)
}

// Line is where the last row begins.
func (r *Reader) Line() int { return r.line }

// Waits reports whether the buffer is empty, so that a sender of single rows waits for the answer.
func (r *Reader) Waits() bool { return r.buffer.Buffered() == 0 }

// limited counts the bytes read, in all and for the current row.
type limited struct {
	src    io.Reader
	limits Limits
	row    int // bytes since the row began, including those buffered beyond it
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
