package parquet

import (
	"encoding/binary"
	"errors"
)

// Types of Thrift's compact protocol.
const (
	isTrue   = 1
	isFalse  = 2
	isByte   = 3
	isShort  = 4
	isInt    = 5
	isLong   = 6
	isDouble = 7
	isBytes  = 8
	isList   = 9
	isStruct = 12
)

// message is a structure that is written in Thrift's compact protocol, its fields in order of their
// numbers.
type message struct {
	bytes []byte
	last  []int // field of each open structure
}

func (m *message) begin() { m.last = append(m.last, 0) }

func (m *message) end() { m.bytes, m.last = append(m.bytes, 0), m.last[:len(m.last)-1] }

func (m *message) field(number, kind int) {
	top := &m.last[len(m.last)-1]
	m.bytes = append(m.bytes, byte((number-*top)<<4|kind)) // less than 16 apart, as all of Parquet's are
	*top = number
}

func (m *message) int(number int, v int) {
	m.field(number, isInt)
	m.bytes = binary.AppendVarint(m.bytes, int64(v))
}

func (m *message) long(number int, v int) {
	m.field(number, isLong)
	m.bytes = binary.AppendVarint(m.bytes, int64(v))
}

func (m *message) text(number int, text string) {
	m.field(number, isBytes)
	m.element(text)
}

func (m *message) element(text string) {
	m.bytes = append(binary.AppendUvarint(m.bytes, uint64(len(text))), text...)
}

func (m *message) list(number, kind, n int) {
	m.field(number, isList)
	if n < 15 {
		m.bytes = append(m.bytes, byte(n<<4|kind))
		return
	}
	m.bytes = binary.AppendUvarint(append(m.bytes, byte(0xF0|kind)), uint64(n))
}

// within is a structure in a structure.
func (m *message) within(number int, fill func()) {
	m.field(number, isStruct)
	m.structure(fill)
}

// structure is one in a list.
func (m *message) structure(fill func()) {
	m.begin()
	fill()
	m.end()
}

// fields are those of a structure that was read, by their numbers: int64, bool, string, []any,
// fields.
type fields map[int]any

func (f fields) number(n int) int { v, _ := f[n].(int64); return int(v) }

func (f fields) string(n int) string { v, _ := f[n].(string); return v }

func (f fields) list(n int) []any { v, _ := f[n].([]any); return v }

func (f fields) within(n int) fields { v, _ := f[n].(fields); return v }

var errMessage = errors.New("a structure of its description is cut or spoilt")

// deepest is how far structures lie in each other; Parquet's descriptions need eight.
const deepest = 16

// decoder reads a message. What is wrong stays wrong.
type decoder struct {
	bytes []byte
	bad   bool
}

func (d *decoder) byte() byte {
	if len(d.bytes) == 0 {
		d.bad = true
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return b
}

func (d *decoder) length() int {
	v, n := binary.Uvarint(d.bytes)
	if n <= 0 || v > uint64(len(d.bytes)-n) {
		d.bad = true
		return 0
	}
	d.bytes = d.bytes[n:]
	return int(v)
}

func (d *decoder) value(kind, depth int) any {
	if d.bad || depth > deepest {
		d.bad = true
		return nil
	}
	switch kind {
	case isTrue, isFalse:
		return kind == isTrue
	case isByte:
		return int64(d.byte())
	case isShort, isInt, isLong:
		v, n := binary.Varint(d.bytes)
		if n <= 0 {
			d.bad = true
			return nil
		}
		d.bytes = d.bytes[n:]
		return v
	case isDouble:
		for range 8 {
			d.byte()
		}
	case isBytes:
		n := d.length()
		text := string(d.bytes[:n])
		d.bytes = d.bytes[n:]
		return text
	case isList:
		head := d.byte()
		n := int(head >> 4)
		if n == 15 {
			n = d.length() // an element takes a byte at least
		}
		var out []any
		for i := 0; i < n && !d.bad; i++ {
			out = append(out, d.value(int(head&15), depth+1))
		}
		return out
	case isStruct:
		return d.structure(depth)
	default:
		d.bad = true
	}
	return nil
}

func (d *decoder) structure(depth int) fields {
	out := fields{}
	for last := 0; !d.bad; {
		head := d.byte()
		if head == 0 {
			break
		}
		if step := int(head >> 4); step > 0 {
			last += step
		} else {
			v, n := binary.Varint(d.bytes)
			if n <= 0 {
				d.bad = true
				break
			}
			d.bytes, last = d.bytes[n:], int(v)
		}
		out[last] = d.value(int(head&15), depth+1)
	}
	return out
}

// decode reads a structure, and returns what comes after it.
func decode(bytes []byte) (fields, []byte, error) {
	d := &decoder{bytes: bytes}
	f := d.structure(0)
	if d.bad {
		return nil, nil, errMessage
	}
	return f, d.bytes, nil
}
