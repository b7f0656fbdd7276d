package document

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxNesting bounds how deep lists and objects may nest. The parser is
// recursive, and a few bytes per level must not be able to exhaust the stack.
const maxNesting = 64

// maxValues bounds how many values a file may hold: a hundred times those of the
// largest system. Two bytes of a list become hundreds in memory.
const maxValues = 1_000_000

// A note is a remark about the text at an offset.
type note struct {
	offset  int
	message string
}

// parse parses a file. It tells what text it skipped, other than comments, and
// what is wrong with the rest, if anything.
func parse(src source) (v hujson.Value, skipped []note, bad *note) {
	s := scanner{original: src.text, text: bytes.Clone(src.text)}
	for _, step := range []func() *note{s.binary, s.lead, s.object, s.tail, s.encoding} {
		if bad := step(); bad != nil {
			return v, s.skipped, bad
		}
	}
	v, err := hujson.Parse(s.text)
	if err != nil {
		bad = s.explain(src, err)
	}
	return v, s.skipped, bad
}

// A scanner reduces our dialect to that of hujson, JSON with trailing commas.
// It blanks out everything else byte by byte, so that what remains is at the
// same offsets as before.
type scanner struct {
	original []byte
	text     []byte // is blanked out in place
	pos      int
	open     []int // offsets of the brackets that are not closed yet
	commas   int
	skipped  []note
}

// binary recognizes what is no text, and what some editors call Unicode.
func (s *scanner) binary() *note {
	if bytes.HasPrefix(s.text, []byte("\xff\xfe")) || bytes.HasPrefix(s.text, []byte("\xfe\xff")) {
		return &note{0, "the file is encoded in UTF-16; save it as UTF-8"}
	}
	if i := bytes.IndexByte(s.text, 0); i >= 0 {
		return &note{i, "this is not a text file: it has a zero byte here"}
	}
	return nil
}

// lead skips what stands before the first brace.
func (s *scanner) lead() *note {
	start := -1 // of the text that is neither blank nor a comment
	for s.pos < len(s.text) && s.text[s.pos] != '{' {
		if skipped, bad := s.skipComment(); bad != nil {
			return bad
		} else if skipped {
			continue
		}
		if start < 0 && !isSpace(s.text[s.pos]) {
			start = s.pos
		}
		s.pos++
	}
	const needed = "it must hold an object in braces { }"
	switch none := s.pos == len(s.text); {
	case none && start < 0:
		return &note{0, "the file is empty; " + needed}
	case none:
		r, _ := utf8.DecodeRune(s.text[start:])
		return &note{start, "the file has no opening brace; " + needed + meantBy(r)}
	case start < 0:
		return nil
	}
	brace := s.pos
	s.pos = start
	if len(bytes.Trim(s.text[start:brace], "[ \t\r\n")) == 0 {
		// Only brackets: that is a list of objects and no title.
		return nil
	}
	title := bytes.TrimSpace(s.original[start:brace])
	s.skipped = append(s.skipped, note{start, fmt.Sprintf("skipped the text %s before the first brace", quote(string(title)))})
	s.blank(brace - start)
	return nil
}

// object blanks the comments of the root value and goes past its end.
func (s *scanner) object() *note {
	for s.pos < len(s.text) {
		if skipped, bad := s.skipComment(); bad != nil {
			return bad
		} else if skipped {
			continue
		}
		switch s.text[s.pos] {
		case '"':
			length := stringLength(s.text[s.pos:])
			if length == 0 {
				return &note{s.pos, "this string is not closed on its line"}
			}
			s.pos += length
			continue
		case '{', '[':
			if len(s.open) == maxNesting {
				return &note{s.pos, fmt.Sprintf("lists and objects may nest %d levels deep and no further", maxNesting)}
			}
			s.open = append(s.open, s.pos)
		case '}', ']':
			s.open = s.open[:max(0, len(s.open)-1)]
			if len(s.open) == 0 {
				s.pos++
				return nil
			}
		case ',':
			if s.commas++; s.commas == maxValues {
				return &note{s.pos, fmt.Sprintf("there are more than %d values; this is no file of this program", maxValues)}
			}
		}
		s.pos++
	}
	return nil
}

// tail skips comments and a Markdown fence after the root value. It leaves
// anything else for the parser to refuse.
func (s *scanner) tail() *note {
	for s.pos < len(s.text) {
		if skipped, bad := s.skipComment(); bad != nil {
			return bad
		} else if skipped {
			continue
		}
		switch rest := s.text[s.pos:]; {
		case isSpace(rest[0]):
			s.pos++
		case bytes.HasPrefix(rest, []byte("```")):
			s.skipped = append(s.skipped, note{s.pos, "skipped the Markdown fence after the object"})
			s.blank(len(rest) - len(bytes.TrimLeft(rest, "`")))
		default:
			return nil
		}
	}
	return nil
}

// encoding checks the encoding of what is left. Comments may be anything.
func (s *scanner) encoding() *note {
	for i := 0; i < len(s.text); {
		r, size := utf8.DecodeRune(s.text[i:])
		if r == utf8.RuneError && size == 1 {
			return &note{i, "the file is not encoded in UTF-8 here"}
		}
		i += size
	}
	return nil
}

// skipComment blanks the comment at the current position, if there is one. The
// line break after a line comment is not part of it.
func (s *scanner) skipComment() (skipped bool, bad *note) {
	rest := s.text[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("#")), bytes.HasPrefix(rest, []byte("//")):
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		s.blank(len(line))
		return true, nil
	case bytes.HasPrefix(rest, []byte("/*")):
		inner, _, closed := bytes.Cut(rest[2:], []byte("*/"))
		if !closed {
			return false, &note{s.pos, "this comment is never closed"}
		}
		s.blank(2 + len(inner) + 2)
		return true, nil
	}
	return false, nil
}

// blank overwrites the next bytes with spaces, but keeps line breaks, and goes
// past them.
func (s *scanner) blank(length int) {
	for end := s.pos + length; s.pos < end; s.pos++ {
		if s.text[s.pos] != '\n' {
			s.text[s.pos] = ' '
		}
	}
}

// stringLength returns the length of the string literal that text starts with,
// 0 if the line ends before the literal does.
func stringLength(text []byte) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			// Whatever is escaped does not close the string, but a line break
			// still ends the line.
			if i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		}
	}
	return 0
}

func isSpace(c byte) bool {
	return strings.IndexByte(" \t\r\n", c) >= 0
}

// pythonNumbers are strings, and what Python's json writes for numbers that JSON lacks.
var pythonNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// WithoutPython has null in place of such numbers; columns stay.
func WithoutPython(src []byte) []byte {
	return pythonNumbers.ReplaceAllFunc(src, func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return fmt.Appendf(nil, "%-*s", len(token), "null")
	})
}
