package csvfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Lines reads a text line by line, within limits of lines, of the bytes of each, and of all bytes.
type Lines struct {
	*bufio.Scanner
	limits Limits
	line   int
	err    error
}

func NewLines(src io.Reader, limits Limits) *Lines {
	l := &Lines{Scanner: bufio.NewScanner(&limited{src: src, limits: Limits{Bytes: limits.Bytes}}), limits: limits}
	l.Buffer(make([]byte, min(bufferSize, limits.Row)), limits.Row)
	return l
}

// Scan advances to the next line, if there is one.
func (l *Lines) Scan() bool {
	if l.err != nil || !l.Scanner.Scan() {
		return false
	}
	if l.line++; l.limits.Rows > 0 && l.line > l.limits.Rows {
		l.err = exceeds("the text", l.limits.Rows, "lines")
		return false
	}
	return true
}

// Line is the number of the last line.
func (l *Lines) Line() int { return l.line }

// Err is why reading ended early.
func (l *Lines) Err() error {
	switch err := l.Scanner.Err(); {
	case l.err != nil:
		return l.err
	case errors.Is(err, bufio.ErrTooLong):
		return exceeds(fmt.Sprintf("line %d", l.line+1), l.limits.Row, "bytes")
	case err != nil:
		return fmt.Errorf("after line %d: %w", l.line, err)
	}
	return nil
}
