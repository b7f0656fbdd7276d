package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

type Kind int

const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// A Value is a JSON value in a file.
type Value struct {
	file *File
	node *node
}

type node struct {
	kind     Kind
	path     string
	offset   int
	literal  hujson.Literal // of a null, bool, number or string
	elements []*node        // of a list
	members  []member       // of an object
}

type member struct {
	key    string
	offset int // of the key
	value  *node
}

func literalKind(l hujson.Literal) Kind {
	switch l.Kind() {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	default:
		return Number
	}
}

func memberPath(path, key string) string {
	// A path must not break the line it is printed on, nor be mistaken for
	// that of the object.
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func elementPath(path string, i int) string {
	return fmt.Sprintf("%s[%d]", path, i)
}

func (v Value) Kind() Kind { return v.node.kind }

func (v Value) Path() string { return v.node.path }

func (v Value) Line() int {
	line, _ := v.file.source.position(v.node.offset)
	return line
}

func (v Value) Column() int {
	_, column := v.file.source.position(v.node.offset)
	return column
}

func (v Value) Bool() (b, ok bool) {
	return v.node.literal.Bool(), v.Kind() == Bool
}

func (v Value) String() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.node.literal.String(), true
}

// Float returns the value of a number. It is not ok if the number is too large
// for a float64.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(v.node.literal), 64)
	return x, err == nil
}

// Int returns the value of a whole number, which may be written like 1.0 or
// 1e3. It is not ok if the number is too large for an int.
func (v Value) Int() (int, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, whole, fits := parseInteger(string(v.node.literal))
	if n < math.MinInt || n > math.MaxInt {
		fits = false
	}
	return int(n), whole && fits
}

func (v Value) Elements() []Value {
	values := make([]Value, 0, len(v.node.elements))
	for _, n := range v.node.elements {
		values = append(values, Value{v.file, n})
	}
	return values
}

// Describe says briefly what the value is, as in "must be a number, not " +
// v.Describe().
func (v Value) Describe() string {
	switch v.Kind() {
	case Number:
		return "the number " + v.raw()
	case String:
		s, _ := v.String()
		return "the string " + quote(s)
	case List:
		return "a list"
	case Object:
		return "an object"
	default: // null, true or false
		return v.raw()
	}
}

// isShort reports whether raw returns the literal in full.
func (v Value) isShort() bool { return string(v.node.literal) == v.raw() }

// raw returns a literal the way the file has it.
func (v Value) raw() string { return shorten(string(v.node.literal)) }

func (v Value) Problemf(format string, args ...any) {
	v.file.addProblem(v.node.offset, v.Path(), fmt.Sprintf(format, args...))
}

// parseInteger evaluates a JSON number exactly. It is whole if it has no
// fraction, however it is written, and fits if that is in the range of int64.
func parseInteger(literal string) (n int64, whole, fits bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	integer, fraction, _ := strings.Cut(mantissa, ".")

	// The number is digits × 10^shift, where digits ends in no zero.
	digits := strings.TrimLeft(integer+fraction, "0")
	shift := -len(fraction)
	if trimmed := strings.TrimRight(digits, "0"); trimmed != "" {
		shift += len(digits) - len(trimmed)
		digits = trimmed
	}
	if digits == "" {
		return 0, true, true
	}
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return 0, !strings.HasPrefix(exponent, "-"), false
		}
		shift += int(e)
	}
	const maxDigits = 19 // of an int64
	switch {
	case shift < 0:
		return 0, false, false
	case len(digits)+shift > maxDigits:
		return 0, true, false
	}
	digits += strings.Repeat("0", shift)
	if negative {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, true, err == nil
}

// quote quotes text for a message, shortened if it is long.
func quote(text string) string { return strconv.Quote(shorten(text)) }

func shorten(text string) string {
	const limit = 40
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// JSON returns the value as plain JSON, without comments.
func (v Value) JSON() []byte { return appendJSON(nil, v.node) }

func appendJSON(b []byte, n *node) []byte {
	switch n.kind {
	case List:
		b = append(b, '[')
		for i, e := range n.elements {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, hujson.String(m.key)...) // Go quotes what JSON does not know
			b = append(b, ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	}
	return append(b, n.literal...)
}
