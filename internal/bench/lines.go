package bench

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Sizes of buffers: a chunk has some hundred bytes, but megabytes with the probabilities of a long
// prompt or cumulative text. Streams are many at a time; unstreamed answers may be longer.
const (
	usualLine  = 2 << 10
	mostEvent  = 8 << 20
	mostAnswer = 64 << 20
)

// errLong is an event that does not end.
var errLong = fmt.Errorf("an event of more than %d MB", mostEvent>>20)

// lines reads a stream line by line with the times of arrival.
type lines struct {
	r        io.Reader
	buf      []byte
	from, to int       // read but not consumed
	searched int       // of it, bytes without the end of a line
	at       time.Time // when the last bytes came
	err      error
	begun    bool // a byte order mark is only allowed before the first line
	cr       bool // the last line ended with a carriage return, which a line feed may follow
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, usualLine)} }

// next is the next line without its end, valid until the next call, or io.EOF.
func (l *lines) next() ([]byte, error) {
	for {
		if l.cr && l.from < l.to {
			if l.cr = false; l.buf[l.from] == '\n' {
				l.from++
				l.searched = max(0, l.searched-1)
			}
		}
		if i := lineEnd(l.buf[l.from+l.searched : l.to]); i >= 0 {
			end := l.from + l.searched + i
			line := l.buf[l.from:end]
			l.cr = l.buf[end] == '\r'
			l.from, l.searched = end+1, 0
			return l.first(line), nil
		}
		l.searched = l.to - l.from
		if l.err != nil {
			rest := l.buf[l.from:l.to]
			l.from, l.searched = l.to, 0
			if len(rest) > 0 && l.err == io.EOF {
				return l.first(rest), nil
			}
			return nil, l.err
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// lineEnd is the index of a line feed or carriage return, or -1.
func lineEnd(text []byte) int {
	i := bytes.IndexByte(text, '\n')
	if i >= 0 {
		text = text[:i]
	}
	if r := bytes.IndexByte(text, '\r'); r >= 0 {
		return r
	}
	return i
}

// first strips the byte order mark of the first line.
func (l *lines) first(line []byte) []byte {
	if !l.begun {
		l.begun = true
		return bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line
}

func (l *lines) fill() error {
	if l.from > 0 {
		copy(l.buf, l.buf[l.from:l.to])
		l.from, l.to = 0, l.to-l.from
	}
	if l.to == len(l.buf) {
		if len(l.buf) >= mostEvent {
			return errLong
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.to:])
	l.at = time.Now()
	l.to += n
	l.err = err
	return nil
}

// events reads Server-sent events (WHATWG HTML 9.2): consecutive data: lines. The empty line behind
// an event may be missing: it ends where its JSON does.
type events struct {
	lines
	pending []byte // lines of an incomplete event
	open    nesting
	tried   bool // it was closed once and not valid: more cannot make it so
}

// nesting counts open brackets as a text grows, so that only complete candidates are parsed.
type nesting struct {
	depth           int
	quoted, escaped bool
}

func (n *nesting) follow(text []byte) {
	for _, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted:
			n.escaped, n.quoted = c == '\\', c != '"'
		case c == '"':
			n.quoted = true
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			n.depth--
		}
	}
}

func newEvents(r io.Reader) *events { return &events{lines: *newLines(r)} }

// next is the data of the next event, or io.EOF. complete reports whether data is an event.
func (e *events) next(complete func([]byte) bool) ([]byte, error) {
	for {
		line, err := e.lines.next()
		if (err == io.EOF || err == nil && len(line) == 0) && len(e.pending) > 0 {
			data := e.taken()
			complete(data)
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // a comment, or another field
		}
		data = bytes.TrimPrefix(data, []byte{' '})
		if e.pending == nil && complete(data) {
			return data, nil
		}
		if len(e.pending)+len(data) > mostEvent {
			return nil, errLong
		}
		before := e.open.depth
		e.open.follow(data)
		if e.pending != nil {
			e.pending = append(e.pending, '\n')
		}
		e.pending = append(e.pending, data...)
		if before > 0 && e.open.depth == 0 && !e.open.quoted && !e.tried {
			if e.tried = true; complete(e.pending) {
				return e.taken(), nil
			}
		}
	}
}

// taken is the completed event.
func (e *events) taken() []byte {
	data := e.pending
	e.pending, e.open, e.tried = nil, nesting{}, false
	return data
}
