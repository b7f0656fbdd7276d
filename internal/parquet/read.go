package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// File is a table that a Writer wrote.
type File struct {
	Columns []Column
	Notes   map[string]string
	Rows    int

	data   []byte
	groups []any
}

var (
	errCut     = errors.New("it is no whole Parquet file")
	errForeign = errors.New("another program wrote it")
)

func Open(data []byte) (*File, error) {
	end := len(data) - len(magic)
	if end < len(magic)+4 || string(data[:len(magic)]) != magic || string(data[end:]) != magic {
		return nil, errCut
	}
	size := int(binary.LittleEndian.Uint32(data[end-4:]))
	if size > end-4-len(magic) {
		return nil, errCut
	}
	m, _, err := decode(data[end-4-size : end-4])
	if err != nil {
		return nil, err
	}
	f := &File{Notes: map[string]string{}, Rows: m.number(3), data: data, groups: m.list(4)}
	for i, v := range m.list(2) {
		c, _ := v.(fields)
		if i > 0 {
			f.Columns = append(f.Columns, Column{c.string(4), Kind(c.number(1))})
		}
	}
	for _, v := range m.list(5) {
		n, _ := v.(fields)
		f.Notes[n.string(1)] = n.string(2)
	}
	return f, nil
}

// Each hands over the rows in order; a row is written over by the next.
func (f *File) Each(take func(row []any) error) error {
	rows := 0
	row := make([]any, len(f.Columns))
	for _, v := range f.groups {
		group, _ := v.(fields)
		chunks, n := group.list(1), group.number(3)
		if len(chunks) != len(f.Columns) || n < 0 || n > groupRows {
			return errForeign
		}
		pages := make([]page, len(chunks))
		for i := range chunks {
			chunk, _ := chunks[i].(fields)
			var err error
			if pages[i], err = f.page(chunk.within(3), f.Columns[i].Kind, n); err != nil {
				return fmt.Errorf("column %s: %w", f.Columns[i].Name, err)
			}
		}
		for i := range n {
			for j := range pages {
				var err error
				if row[j], err = pages[j].next(f.Columns[j].Kind, i); err != nil {
					return fmt.Errorf("column %s: %w", f.Columns[j].Name, err)
				}
			}
			if err := take(row); err != nil {
				return err
			}
		}
		rows += n
	}
	if rows != f.Rows {
		return errCut
	}
	return nil
}

// page is the values of a column in a group.
type page struct {
	levels []byte // a bit each; nil: all are there, or none is
	all    bool
	values []byte
	truths int
}

// mostBytes of a page, as large as a group of long texts may be.
const mostBytes = 1 << 30

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(mostBytes))
	if err != nil {
		panic(err) // an option that is not one
	}
	return d
})

func (f *File) page(chunk fields, kind Kind, rows int) (p page, err error) {
	at := chunk.number(9)
	if chunk.number(1) != int(kind) || chunk.number(4) != compressed || at < len(magic) || at > len(f.data) {
		return p, errForeign
	}
	head, packed, err := decode(f.data[at:])
	if err != nil {
		return p, err
	}
	in, size := head.within(5), head.number(3)
	if head.number(1) != dataPage || in == nil || in.number(1) != rows || in.number(2) != plain {
		return p, errForeign
	}
	if size < 0 || size > len(packed) {
		return p, errCut
	}
	packed = packed[:size]
	if int32(crc32.ChecksumIEEE(packed)) != int32(head.number(4)) {
		return p, errors.New("its checksum is not that of its bytes")
	}
	text, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return p, err
	}
	return p, p.split(text, rows)
}

// split separates which values are there from the values.
func (p *page) split(text []byte, rows int) error {
	if len(text) < 4 {
		return errCut
	}
	size := int(binary.LittleEndian.Uint32(text))
	text = text[4:]
	if size > len(text) {
		return errCut
	}
	levels := text[:size]
	p.values = text[size:]
	run, n := binary.Uvarint(levels)
	levels = levels[max(0, n):]
	switch {
	case n <= 0:
		return errCut
	case run&1 == 0 && int(run>>1) == rows && len(levels) == 1:
		p.all = levels[0] == 1
	case run&1 == 1 && int(run>>1) == (rows+7)/8 && len(levels) == (rows+7)/8:
		p.levels = levels
	default:
		return errForeign
	}
	return nil
}

// next is the value of row i.
func (p *page) next(k Kind, i int) (any, error) {
	if p.levels == nil && !p.all || p.levels != nil && p.levels[i/8]&(1<<(i%8)) == 0 {
		return nil, nil
	}
	if k == Bool {
		at, bit := p.truths/8, p.truths%8
		p.truths++
		if at >= len(p.values) {
			return nil, errCut
		}
		return p.values[at]&(1<<bit) != 0, nil
	}
	if k == Text {
		if len(p.values) < 4 {
			return nil, errCut
		}
		n := int(binary.LittleEndian.Uint32(p.values))
		if n > len(p.values)-4 {
			return nil, errCut
		}
		text := string(p.values[4 : 4+n])
		p.values = p.values[4+n:]
		return text, nil
	}
	if len(p.values) < 8 {
		return nil, errCut
	}
	bits := binary.LittleEndian.Uint64(p.values)
	p.values = p.values[8:]
	switch k {
	case Float:
		return math.Float64frombits(bits), nil
	case Int:
		return int(bits), nil
	}
	return nil, errForeign
}
