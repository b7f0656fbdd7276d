package document

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// A field is a key of an object, as a struct declares it.
type field struct {
	key      string
	index    []int // of the struct field, for reflect's FieldByIndex
	typ      reflect.Type
	required bool
	nullable bool
	aka      []string // what others call it
	doc      string
	rules    rules
}

// rules restrict the values of a field beyond their type.
type rules struct {
	interval *interval // of the numbers
	enum     []string  // of the strings
	keys     []string  // of the map
	nonempty bool
	line     bool   // the string is printed within lines
	form     string // of a list of fixed length, in words
}

// suffix is the form as an addition to a message.
func (r rules) suffix() string {
	if r.form == "" {
		return ""
	}
	return " " + r.form
}

// ofElements returns the rules for the elements of a list with rules r.
func (r rules) ofElements() rules {
	r.nonempty = false
	return r
}

// ofEntries returns the rules for the values in a map with rules r.
func (r rules) ofEntries() rules {
	r.nonempty, r.keys = false, nil
	return r
}

// fieldsOf returns the keys that the struct type t declares. It panics if a
// tag makes no sense, as that is a mistake in the program.
func fieldsOf(t reflect.Type) []field {
	if known, ok := declared.Load(t); ok {
		return known.([]field)
	}
	fields := readFields(t)
	declared.Store(t, fields)
	return fields
}

// declared is the fields of types that have been read: tags never change, and reading them took a
// quarter of the time of a small file.
var declared sync.Map

func readFields(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && key == "" && sf.Type.Kind() == reflect.Struct {
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				fields = append(fields, f)
			}
			continue
		}
		if key == "" || key == "-" {
			continue
		}
		f, err := newField(sf, key)
		if err != nil {
			panic(fmt.Sprintf("document: %s.%s: %v", t, sf.Name, err))
		}
		f.index = []int{i}
		fields = append(fields, f)
	}
	return fields
}

func newField(sf reflect.StructField, key string) (field, error) {
	tag := sf.Tag.Get
	f := field{
		key:      key,
		typ:      sf.Type,
		required: tag("required") == "true",
		nullable: tag("null") == "ok",
		aka:      words(tag("aka")),
		doc:      tag("doc"),
		rules:    rules{enum: words(tag("enum")), keys: words(tag("keys")), nonempty: tag("nonempty") == "true", line: tag("line") == "true", form: tag("form")},
	}
	if r := tag("range"); r != "" {
		interval, err := parseInterval(r)
		if err != nil {
			return f, err
		}
		interval.unit = tag("unit")
		f.rules.interval = &interval
	}

	// A rule that would never be applied is worse than none.
	leaf, isMap, isContainer := leafOf(sf.Type)
	leafIsCustom := isCustom(leaf)
	switch isString := leaf.Kind() == reflect.String && !leafIsCustom; {
	case f.rules.interval != nil && (leafIsCustom || !isNumber(leaf)):
		return f, fmt.Errorf("range tag on %s", sf.Type)
	case tag("unit") != "" && f.rules.interval == nil:
		return f, fmt.Errorf("unit tag without range")
	case f.rules.enum != nil && !isString:
		return f, fmt.Errorf("enum tag on %s", sf.Type)
	case f.rules.keys != nil && !isMap:
		return f, fmt.Errorf("keys tag on %s", sf.Type)
	case f.rules.form != "" && !isContainer:
		return f, fmt.Errorf("form tag on %s", sf.Type)
	case f.rules.nonempty && !isString && !isContainer:
		return f, fmt.Errorf("nonempty tag on %s", sf.Type)
	}
	return f, nil
}

func words(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// leafOf returns the type that t holds within pointers, lists and maps, and
// whether there are maps, or lists or maps, around it.
func leafOf(t reflect.Type) (leaf reflect.Type, isMap, isContainer bool) {
	for !isCustom(t) {
		switch t.Kind() {
		case reflect.Pointer:
		case reflect.Slice, reflect.Array:
			isContainer = true
		case reflect.Map:
			isMap, isContainer = true, true
		default:
			return t, isMap, isContainer
		}
		t = t.Elem()
	}
	return t, isMap, isContainer
}

func isCustom(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Decoder]())
}

func isNumber(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

// An interval is a range of numbers, open or closed at either end.
type interval struct {
	low, high         float64
	lowOpen, highOpen bool
	unit              string // for messages
}

// parseInterval parses the mathematical notation, like (0,1] or [0,inf).
func parseInterval(s string) (interval, error) {
	invalid := fmt.Errorf("invalid range %q", s)
	if len(s) < 2 {
		return interval{}, invalid
	}
	first, last := s[0], s[len(s)-1]
	low, high, ok := strings.Cut(s[1:len(s)-1], ",")
	if !ok || !strings.ContainsRune("([", rune(first)) || !strings.ContainsRune(")]", rune(last)) {
		return interval{}, invalid
	}
	i := interval{lowOpen: first == '(', highOpen: last == ')'}
	var lowErr, highErr error
	i.low, lowErr = strconv.ParseFloat(strings.TrimSpace(low), 64)
	i.high, highErr = strconv.ParseFloat(strings.TrimSpace(high), 64)
	if lowErr != nil || highErr != nil || !(i.low <= i.high) {
		return interval{}, invalid
	}
	return i, nil
}

func (i interval) contains(x float64) bool {
	aboveLow := x > i.low || x == i.low && !i.lowOpen
	belowHigh := x < i.high || x == i.high && !i.highOpen
	return aboveLow && belowHigh
}

// violated says what is wrong with x, which is not in the interval, as in "must
// be at least 0".
func (i interval) violated(x float64) string {
	// A bound that only keeps numbers away from 0 is no help to who wrote 0.
	const nearlyZero = 1e-6
	var bound string
	switch {
	case x <= 0 && i.low > 0 && i.low <= nearlyZero:
		bound = "greater than 0"
	case x < i.low && !i.lowOpen:
		bound = "at least " + formatFloat(i.low)
	case x <= i.low:
		bound = "greater than " + formatFloat(i.low)
	case i.highOpen:
		bound = "less than " + formatFloat(i.high)
	default:
		bound = "at most " + formatFloat(i.high)
	}
	if i.unit == "" || strings.HasSuffix(bound, " 0") {
		return bound
	}
	return bound + " " + i.unit
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
