package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Encode writes the file as JSON, without default values.
func (f *File) Encode() []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	all := members(reflect.ValueOf(*f), reflect.ValueOf(defaults()))
	for i, m := range all {
		fmt.Fprintf(&b, "    %q: %s", m.key, encode(m.value))
		if i < len(all)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}

type member struct {
	key   string
	value reflect.Value
}

// members are the keys of a struct and its embedded ones whose values are not the defaults.
func members(v, defaults reflect.Value) []member {
	var out []member
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			out = append(out, members(v.Field(i), defaults.Field(i))...)
			continue
		}
		if !reflect.DeepEqual(v.Field(i).Interface(), defaults.Field(i).Interface()) {
			out = append(out, member{field.Tag.Get("json"), v.Field(i)})
		}
	}
	return out
}

// encode writes objects of a list and entries of a map on their own lines, anything else in place.
func encode(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		var lines []string
		if v.Type().Elem().Kind() == reflect.Float64 { // numbers stay in place
			return strings.ReplaceAll(literal(v.Interface()), ",", ", ")
		}
		for i := range v.Len() {
			var pairs []string
			element := v.Index(i)
			for _, m := range members(element, reflect.Zero(element.Type())) {
				pairs = append(pairs, fmt.Sprintf("%q: %s", m.key, encode(m.value)))
			}
			lines = append(lines, "{"+strings.Join(pairs, ", ")+"}")
		}
		return block('[', lines, ']')
	case reflect.Map:
		var lines []string
		for key, value := range v.Seq2() {
			lines = append(lines, literal(key.Interface())+": "+literal(value.Interface()))
		}
		slices.Sort(lines)
		return block('{', lines, '}')
	}
	return literal(v.Interface())
}

// block puts lines between brackets, indented below a key.
func block(opening byte, lines []string, closing byte) string {
	return string(opening) + "\n        " + strings.Join(lines, ",\n        ") + "\n    " + string(closing)
}

func literal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // numbers, strings and booleans can be encoded
	}
	return strings.TrimSpace(b.String())
}
