package document

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Decoder decodes itself from a value of any kind, null included. It reports
// what is wrong with [Value.Problemf].
type Decoder interface {
	DecodeDocument(v Value)
}

// A Defaulter is told to set its defaults when decoding creates it: as an
// element of a list or map, or behind a pointer that was nil.
type Defaulter interface {
	SetDefaults()
}

// Decode fills the struct that into points to from the root object and adds
// what is wrong to the problems of the file. It does nothing if the file could
// not be parsed.
//
// Fields whose key is absent or whose value has a problem keep what they hold.
// Only fields with a json tag take part; embedded structs are flattened. Types
// that implement [Decoder] decode themselves. A pointer is nil if the value is
// null; other fields must not be null. These tags say more about a field:
//
//	required:"true"    the key must be present
//	null:"ok"          null is the same as leaving the key out
//	nonempty:"true"    the string, list or map must not be empty
//	line:"true"        the string must be one line of characters that can be printed
//	range:"(0,1]"      the interval of the number, or of all numbers in a list or map
//	enum:"a,b"         the allowed strings, also in a list or map
//	keys:"a,b"         the allowed keys of a map
//	form:"[a, b]"      what the elements of a list of fixed length are, for messages
//	unit:"s"           the unit of the number, for messages about its range
//	aka:"a,b"          names of the key elsewhere, to be recognized as near misses
//	doc:"..."          the description in the schema
//
// Decode panics if into or a tag is not of this form.
func (f *File) Decode(into any) {
	if f.root != nil {
		Value{f, f.root}.Decode(into)
	}
}

// Decode decodes the value into what into points to, by the rules of
// [File.Decode]. It is for a [Decoder] that accepts several kinds of values.
func (v Value) Decode(into any) {
	dst := reflect.ValueOf(into)
	if dst.Kind() != reflect.Pointer || dst.IsNil() {
		panic(fmt.Sprintf("document: Decode into %T, which is not a pointer to a value", into))
	}
	v.decode(dst.Elem(), rules{})
}

// decode sets dst and reports whether it did. When it does not, it has added a
// problem and dst is as before.
//
// A struct counts as set even if there are problems with its fields: each of
// them is on its own.
func (v Value) decode(dst reflect.Value, r rules) bool {
	if isCustom(dst.Type()) {
		dst.Addr().Interface().(Decoder).DecodeDocument(v)
		return true
	}
	if dst.Kind() == reflect.Pointer {
		return v.decodePointer(dst, r)
	}
	if v.Kind() == Null {
		return v.wrongType(dst.Type(), r)
	}
	switch dst.Kind() {
	case reflect.Bool:
		return v.decodeBool(dst, r)
	case reflect.String:
		return v.decodeString(dst, r)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.decodeInt(dst, r)
	case reflect.Float32, reflect.Float64:
		return v.decodeFloat(dst, r)
	case reflect.Slice:
		return v.decodeSlice(dst, r)
	case reflect.Array:
		return v.decodeArray(dst, r)
	case reflect.Map:
		return v.decodeMap(dst, r)
	case reflect.Struct:
		return v.decodeStruct(dst, r)
	}
	panic(fmt.Sprintf("document: cannot decode into %s at %s", dst.Type(), v.Path()))
}

func (v Value) decodePointer(dst reflect.Value, r rules) bool {
	if v.Kind() == Null {
		dst.SetZero()
		return true
	}
	// What the pointer points to now may be a default that others share.
	target := newValue(dst.Type().Elem())
	if !dst.IsNil() {
		target.Set(dst.Elem())
	}
	if !v.decode(target, r) {
		return false
	}
	dst.Set(target.Addr())
	return true
}

func (v Value) decodeBool(dst reflect.Value, r rules) bool {
	b, ok := v.Bool()
	if !ok {
		return v.wrongType(dst.Type(), r)
	}
	dst.SetBool(b)
	return true
}

func (v Value) decodeString(dst reflect.Value, r rules) bool {
	s, ok := v.String()
	switch {
	case !ok:
		return v.wrongType(dst.Type(), r)
	case r.nonempty && s == "":
		return v.empty()
	case r.line && NotOneLine(s) != nil:
		v.Problemf("%v", NotOneLine(s))
		return false
	case r.enum != nil && !slices.Contains(r.enum, s):
		v.Problemf("%s", NotOneOf(s, r.enum))
		return false
	}
	dst.SetString(s)
	return true
}

func (v Value) decodeInt(dst reflect.Value, r rules) bool {
	if v.Kind() != Number {
		return v.wrongType(dst.Type(), r)
	}
	n, whole, fits := parseInteger(string(v.node.literal))
	switch {
	case !whole:
		v.Problemf("must be a whole number, not %s", v.raw())
		return false
	case !fits || dst.OverflowInt(n):
		return v.outOfRange(r)
	case !v.within(r.interval, float64(n)):
		return false
	}
	dst.SetInt(n)
	return true
}

func (v Value) decodeFloat(dst reflect.Value, r rules) bool {
	if v.Kind() != Number {
		return v.wrongType(dst.Type(), r)
	}
	x, ok := v.Float()
	switch {
	case !ok || dst.OverflowFloat(x):
		return v.outOfRange(r)
	case !v.within(r.interval, x):
		return false
	}
	dst.SetFloat(x)
	return true
}

func (v Value) decodeSlice(dst reflect.Value, r rules) bool {
	switch {
	case v.Kind() != List:
		v.Problemf("must be %s, not %s%s", expected(dst.Type(), r), v.Describe(), v.asElement(dst.Type()))
		return false
	case r.nonempty && len(v.node.elements) == 0:
		return v.empty()
	case v.isMissingBrackets(dst.Type()):
		v.Problemf("must be %s, not a single one%s", expected(dst.Type(), r), v.inBrackets(dst.Type()))
		return false
	}
	list := reflect.MakeSlice(dst.Type(), len(v.node.elements), len(v.node.elements))
	return v.decodeElements(dst, list, r)
}

func (v Value) decodeArray(dst reflect.Value, r rules) bool {
	switch {
	case v.Kind() != List:
		return v.wrongType(dst.Type(), r)
	case len(v.node.elements) != dst.Len():
		v.Problemf("must be %s, not of %d", expected(dst.Type(), r), len(v.node.elements))
		return false
	}
	return v.decodeElements(dst, reflect.New(dst.Type()).Elem(), r)
}

// asElement suggests the value as the only element of a list of type t, if it
// can be one.
func (v Value) asElement(t reflect.Type) string {
	kinds := map[string]Kind{"string": String, "number": Number, "whole number": Number}
	if kind, ok := kinds[noun(t.Elem())]; ok && kind == v.Kind() && v.isShort() {
		return "; did you mean [" + v.raw() + "]?"
	}
	return ""
}

// isMissingBrackets reports whether the value is one list where t is a list of
// lists.
func (v Value) isMissingBrackets(t reflect.Type) bool {
	element := t.Elem()
	if isCustom(element) || element.Kind() != reflect.Slice && element.Kind() != reflect.Array {
		return false
	}
	isList := func(n *node) bool { return n.kind == List }
	return len(v.node.elements) > 0 && !slices.ContainsFunc(v.node.elements, isList)
}

// inBrackets suggests the value within a further pair of brackets, if that
// would have the right length.
func (v Value) inBrackets(t reflect.Type) string {
	element := t.Elem()
	if element.Kind() != reflect.Array || element.Len() != len(v.node.elements) {
		return ""
	}
	var literals []string
	for _, e := range v.Elements() {
		if e.Kind() == Object {
			return ""
		}
		literals = append(literals, e.raw())
	}
	return "; did you mean [[" + strings.Join(literals, ", ") + "]]?"
}

// decodeElements fills list and, if that goes well, sets dst to it.
func (v Value) decodeElements(dst, list reflect.Value, r rules) bool {
	ok := true
	for i, element := range v.Elements() {
		list.Index(i).Set(newValue(dst.Type().Elem()))
		ok = element.decode(list.Index(i), r.ofElements()) && ok
	}
	if ok {
		dst.Set(list)
	}
	return ok
}

func (v Value) decodeMap(dst reflect.Value, r rules) bool {
	switch {
	case v.Kind() != Object:
		return v.wrongType(dst.Type(), r)
	case r.nonempty && len(v.node.members) == 0:
		return v.empty()
	}
	entries := reflect.MakeMap(dst.Type())
	ok := true
	for _, m := range v.node.members {
		if r.keys != nil && !slices.Contains(r.keys, m.key) {
			message, _ := unknownKey(m.key, r.keys, nil)
			v.file.addProblem(m.offset, m.value.path, message)
			ok = false
			continue
		}
		entry := newValue(dst.Type().Elem())
		if !(Value{v.file, m.value}).decode(entry, r.ofEntries()) {
			ok = false
			continue
		}
		entries.SetMapIndex(reflect.ValueOf(m.key).Convert(dst.Type().Key()), entry)
	}
	if ok {
		dst.Set(entries)
	}
	return ok
}

func (v Value) decodeStruct(dst reflect.Value, r rules) bool {
	if v.Kind() != Object {
		return v.wrongType(dst.Type(), r)
	}
	values := map[string]Value{}
	for _, m := range v.node.members {
		values[m.key] = Value{v.file, m.value}
	}
	fields := fieldsOf(dst.Type())
	v.unknownKeys(fields)
	for _, f := range fields {
		value, present := values[f.key]
		switch {
		case !present:
			if f.required && !v.file.meant[memberPath(v.Path(), f.key)] {
				v.Problemf("missing required key %q", f.key)
			}
		case value.Kind() == Null && f.nullable && f.typ.Kind() != reflect.Pointer && !isCustom(f.typ):
			// The same as absent.
		default:
			value.decode(dst.FieldByIndex(f.index), f.rules)
		}
	}
	return true
}

// unknownKeys reports the keys that are none of the fields. A key that was
// probably meant by one of them is not missing too.
func (v Value) unknownKeys(fields []field) {
	var allowed []string
	aliases := map[string]string{}
	for _, f := range fields {
		allowed = append(allowed, f.key)
		for _, a := range f.aka {
			aliases[a] = f.key
		}
	}
	for _, m := range v.node.members {
		if slices.Contains(allowed, m.key) {
			continue
		}
		message, meant := unknownKey(m.key, allowed, aliases)
		v.file.addProblem(m.offset, m.value.path, message)
		if meant != "" {
			v.file.meant[memberPath(v.Path(), meant)] = true
		}
	}
}

// newValue returns a settable value of type t with the defaults of the type.
func newValue(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if d, ok := p.Interface().(Defaulter); ok {
		d.SetDefaults()
	}
	return p.Elem()
}

// The following report a problem and return false, for decode to return.

func (v Value) wrongType(t reflect.Type, r rules) bool {
	v.Problemf("must be %s, not %s", expected(t, r), v.Describe())
	return false
}

func (v Value) empty() bool {
	v.Problemf("must not be empty")
	return false
}

func (v Value) outOfRange(r rules) bool {
	// The bounds of the file format say more than those of the type.
	if x, _ := strconv.ParseFloat(string(v.node.literal), 64); !v.within(r.interval, x) {
		return false
	}
	v.Problemf("%s is out of range", v.raw())
	return false
}

func (v Value) within(i *interval, x float64) bool {
	if i == nil || i.contains(x) {
		return true
	}
	v.Problemf("must be %s, not %s", i.violated(x), v.raw())
	return false
}

// expected says what a value of type t with rules r must be.
func expected(t reflect.Type, r rules) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of " + noun(t.Elem()) + "s" + r.suffix()
	case reflect.Array:
		if t.Len() == 1 {
			return "a list of 1 " + noun(t.Elem()) + r.suffix()
		}
		return "a list of " + strconv.Itoa(t.Len()) + " " + noun(t.Elem()) + "s" + r.suffix()
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a " + noun(t)
	}
}

func noun(t reflect.Type) string {
	if isCustom(t) {
		return "value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return noun(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	default:
		return "whole number"
	}
}

// NotOneLine returns what is wrong with a name that would break the line it is printed on, or nil.
func NotOneLine(name string) error {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsGraphic(c) }) {
		return fmt.Errorf("must be one line of characters that can be printed, not %q", name)
	}
	return nil
}
