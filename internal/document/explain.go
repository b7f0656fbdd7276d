package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookalikes are characters that a word processor or an input method writes
// in place of the ones that JSON needs.
var lookalikes = map[rune]rune{
	'\'': '"', '“': '"', '”': '"', '‘': '"', '’': '"', '＂': '"',
	'：': ':', '，': ',', '、': ',', '；': ',', ';': ',',
	'｛': '{', '｝': '}', '［': '[', '］': ']', '【': '[', '】': ']',
}

// meantBy is the end of a message about a lookalike.
func meantBy(r rune) string {
	if meant, ok := lookalikes[r]; ok {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return ""
}

// explain says where and what a syntax error of hujson is.
func (s *scanner) explain(src source, err error) *note {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return &note{0, err.Error()}
	}
	offset := src.lines[line-1] + column - 1
	message := errors.Unwrap(err).Error()

	if errors.Is(err, io.ErrUnexpectedEOF) && len(s.open) > 0 {
		bracket := s.unclosed()
		return &note{bracket, fmt.Sprintf("this %q is never closed", s.text[bracket])}
	}
	if literal, ok := strings.CutPrefix(message, "invalid literal: "); ok {
		return &note{offset, invalidLiteral(literal)}
	}
	r, _ := utf8.DecodeRune(s.text[offset:])
	if hint := meantBy(r); hint != "" {
		return &note{offset, message + hint}
	}
	switch _, where, _ := strings.Cut(message, "' "); where {
	case "after object value (expecting ',' or '}')", "after array value (expecting ',' or ']')":
		return s.explainAfterValue(src, offset, r, message)
	case "after object name":
		message = fmt.Sprintf("a ':' and a value must follow the key, not %q", r)
	case "at start of object name":
		message = fmt.Sprintf("a key in double quotes must stand here, not %q", r)
	case "at start of value":
		message = fmt.Sprintf("a value must stand here, not %q", r)
	case "after top-level value":
		message = "the object of the file has ended before this; remove this, or the bracket that is one too many"
	}
	return &note{offset, message}
}

// explainAfterValue says what is wrong when r follows on a value in a list or
// an object.
func (s *scanner) explainAfterValue(src source, offset int, r rune, message string) *note {
	open := s.openAt(offset)
	bracket := open[len(open)-1]
	switch {
	case r == ':' && s.text[bracket] == '[':
		line, _ := src.position(offset)
		return &note{bracket, fmt.Sprintf("this '[' is not closed before the key on line %d", line)}
	case r == '}' || r == ']':
		line, _ := src.position(bracket)
		return &note{offset, fmt.Sprintf("this %q does not match the %q on line %d", r, s.text[bracket], line)}
	case isWord(r) && isWord(rune(s.text[offset-1])):
		notWord := func(r rune) bool { return !isWord(r) }
		start := bytes.LastIndexFunc(s.text[:offset], notWord) + 1
		word := s.text[start:]
		if end := bytes.IndexFunc(word, notWord); end >= 0 {
			word = word[:end]
		}
		return &note{start, invalidLiteral(string(word))}
	case isWord(r) || strings.ContainsRune(`"{[-`, r):
		before := bytes.TrimRight(s.text[:offset], " \t\r\n")
		return &note{len(before), "a comma is missing here"}
	}
	return &note{offset, message}
}

func isWord(r rune) bool {
	return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// unclosed returns the offset of the bracket that is probably the one that was
// not closed.
func (s *scanner) unclosed() int {
	// Where the lines are indented, a bracket that ends a line further out than
	// the one it closes was meant for another.
	suspect := -1
	s.walk(len(s.text), func(opening, closing int) {
		if suspect < 0 && s.startsLine(closing) && s.indentation(closing) < s.indentation(opening) {
			suspect = opening
		}
	})
	if suspect >= 0 {
		return suspect
	}
	// The end of the file is the last place to look for what is missing.
	return s.open[len(s.open)-1]
}

// openAt returns the offsets of the brackets that are open at an offset.
func (s *scanner) openAt(offset int) []int { return s.walk(offset, func(int, int) {}) }

// walk calls pair for each pair of brackets in the text before end, and returns
// the offsets of those that are still open there.
func (s *scanner) walk(end int, pair func(opening, closing int)) (open []int) {
	for i := 0; i < end; i++ {
		switch s.text[i] {
		case '"':
			i += max(0, stringLength(s.text[i:])-1)
		case '{', '[':
			open = append(open, i)
		case '}', ']':
			if last := len(open) - 1; last >= 0 {
				pair(open[last], i)
				open = open[:last]
			}
		}
	}
	return open
}

// startsLine reports whether only blanks stand before an offset in its line.
func (s *scanner) startsLine(offset int) bool {
	return s.indentation(offset) == offset-s.lineStart(offset)
}

// indentation is the number of blanks at the start of the line of an offset.
func (s *scanner) indentation(offset int) int {
	line := s.text[s.lineStart(offset):]
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

func (s *scanner) lineStart(offset int) int {
	return bytes.LastIndexByte(s.text[:offset], '\n') + 1
}

func invalidLiteral(literal string) string {
	if literal[0] == '"' {
		return `this string has a control character or an unknown escape in it; a backslash is written \\`
	}
	hint := "keys and strings need double quotes"
	switch lower := strings.ToLower(literal); {
	case lower == "true" || lower == "false" || lower == "null":
		hint = "did you mean " + lower + "?"
	case lower == "none" || lower == "nil":
		hint = "did you mean null?"
	case lower == "nan" || lower == "inf" || lower == "infinity" || strings.ContainsAny(literal[:1], "+-.0123456789"):
		hint = "numbers are written like 5, -0.5 or 1e9"
	}
	return shorten(literal) + " is not a JSON value; " + hint
}
