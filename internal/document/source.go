package document

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// A source is the text of a file, in which offsets have positions.
type source struct {
	text  []byte // without byte order mark
	lines []int  // the offset at which each line starts
}

func newSource(text []byte) source {
	s := source{bytes.TrimPrefix(text, []byte("\uFEFF")), []int{0}}
	for i, c := range s.text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// position returns the line and the column, in characters, of an offset. Both
// count from 1.
func (s source) position(offset int) (line, column int) {
	line = sort.SearchInts(s.lines, offset+1)
	start := s.lines[line-1]
	return line, 1 + utf8.RuneCount(s.text[start:offset])
}
