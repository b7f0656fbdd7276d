package bench

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Sizes of buffers: a chunk of an answer has some hundred bytes; one with the probabilities of all tokens of a long prompt, or
// all that was said so far, may have megabytes.
const (
	usualLine = 2 << 10
	mostLine  = 64 << 20
)

// lines reads a stream line by line, as its bytes come, and knows when they came.
type lines struct {
	r        io.Reader
	buf      []byte
	from, to int       // what is read and not yet taken
	searched int       // of it, bytes without the end of a line
	at       time.Time // when the last bytes came
	err      error
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, usualLine)} }

// next is the next line, without its end, or io.EOF. It is good until the next one. A line that the end of the stream cuts off
// is a line.
func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.from+l.searched:l.to], '\n'); i >= 0 {
			line := l.buf[l.from : l.from+l.searched+i]
			l.from += l.searched + i + 1
			l.searched = 0
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		l.searched = l.to - l.from
		if l.err != nil {
			rest := l.buf[l.from:l.to]
			l.from, l.searched = l.to, 0
			if len(rest) > 0 && l.err == io.EOF {
				return rest, nil
			}
			return nil, l.err
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more.
func (l *lines) fill() error {
	if l.from > 0 {
		copy(l.buf, l.buf[l.from:l.to])
		l.from, l.to = 0, l.to-l.from
	}
	if l.to == len(l.buf) {
		if len(l.buf) >= mostLine {
			return fmt.Errorf("a line of more than %d MB", mostLine>>20)
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.to:])
	l.at = time.Now()
	l.to += n
	l.err = err
	return nil
}

// events reads the events of a stream (Server-sent events, WHATWG HTML 9.2): what stands after data: in lines that follow each
// other. Servers that leave out the empty line behind an event are understood: an event ends where its JSON does.
type events struct {
	lines
	pending []byte // lines of an event whose end has not come
}

func newEvents(r io.Reader) *events { return &events{lines: *newLines(r)} }

// next is the data of the next event, or io.EOF. whole tells whether data is all of an event.
func (e *events) next(whole func([]byte) bool) ([]byte, error) {
	for {
		line, err := e.lines.next()
		if err == io.EOF && len(e.pending) > 0 {
			data := e.pending
			e.pending = nil
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if len(e.pending) > 0 {
				data := e.pending
				e.pending = nil
				return data, nil
			}
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // a comment, or another field
		}
		data = bytes.TrimPrefix(data, []byte{' '})
		if e.pending == nil && whole(data) {
			return data, nil
		}
		if e.pending != nil {
			e.pending = append(e.pending, '\n')
		}
		e.pending = append(e.pending, data...)
		if whole(e.pending) {
			data := e.pending
			e.pending = nil
			return data, nil
		}
	}
}
