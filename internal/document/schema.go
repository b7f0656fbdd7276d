package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
)

// A Schemer is a [Decoder] that can say in terms of JSON Schema what it
// accepts. The schema lets pass anything for other Decoders.
type Schemer interface {
	DocumentSchema() map[string]any
}

// Schema returns the JSON Schema (draft 2020-12) of the files that decode into
// the type of v, a struct or a pointer to one. It fails for recursive types.
func Schema(title, id string, v any) ([]byte, error) {
	root, err := schemaOf(structType(v), rules{}, nil)
	if err != nil {
		return nil, err
	}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	if id != "" {
		root["$id"] = id
	}
	root["properties"].(map[string]any)[schemaKey] = map[string]any{"type": "string"}

	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(root)
	return b.Bytes(), err
}

// schemaOf returns the schema of type t, which the types around contain.
func schemaOf(t reflect.Type, r rules, around []reflect.Type) (map[string]any, error) {
	if slices.Contains(around, t) {
		return nil, fmt.Errorf("document: no schema for recursive type %s", t)
	}
	around = append(slices.Clip(around), t)

	if isCustom(t) {
		s := map[string]any{}
		if custom, ok := reflect.New(t).Interface().(Schemer); ok {
			maps.Copy(s, custom.DocumentSchema())
		}
		return s, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		s, err := schemaOf(t.Elem(), r, around)
		return nullable(s), err
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.String:
		return stringSchema(r), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return numberSchema("integer", r), nil
	case reflect.Float32, reflect.Float64:
		return numberSchema("number", r), nil
	case reflect.Slice, reflect.Array:
		return listSchema(t, r, around)
	case reflect.Map:
		return mapSchema(t, r, around)
	case reflect.Struct:
		return structSchema(t, around)
	}
	return nil, fmt.Errorf("document: no schema for type %s", t)
}

func stringSchema(r rules) map[string]any {
	s := map[string]any{"type": "string"}
	if r.enum != nil {
		s["enum"] = enum(r.enum)
	}
	if r.nonempty {
		s["minLength"] = 1
	}
	return s
}

func enum(words []string) []any {
	values := make([]any, 0, len(words))
	for _, w := range words {
		values = append(values, w)
	}
	return values
}

func numberSchema(name string, r rules) map[string]any {
	s := map[string]any{"type": name}
	if r.interval == nil {
		return s
	}
	bound := func(x float64, open bool, closedKey, openKey string) {
		switch {
		case math.IsInf(x, 0):
		case open:
			s[openKey] = x
		default:
			s[closedKey] = x
		}
	}
	bound(r.interval.low, r.interval.lowOpen, "minimum", "exclusiveMinimum")
	bound(r.interval.high, r.interval.highOpen, "maximum", "exclusiveMaximum")
	return s
}

func listSchema(t reflect.Type, r rules, around []reflect.Type) (map[string]any, error) {
	items, err := schemaOf(t.Elem(), r.ofElements(), around)
	s := map[string]any{"type": "array", "items": items}
	switch {
	case t.Kind() == reflect.Array:
		s["minItems"], s["maxItems"] = t.Len(), t.Len()
	case r.nonempty:
		s["minItems"] = 1
	}
	return s, err
}

func mapSchema(t reflect.Type, r rules, around []reflect.Type) (map[string]any, error) {
	values, err := schemaOf(t.Elem(), r.ofEntries(), around)
	s := map[string]any{"type": "object", "additionalProperties": values}
	if r.keys != nil {
		s["propertyNames"] = map[string]any{"enum": enum(r.keys)}
	}
	if r.nonempty {
		s["minProperties"] = 1
	}
	return s, err
}

func structSchema(t reflect.Type, around []reflect.Type) (map[string]any, error) {
	properties := map[string]any{}
	var required []string
	for _, f := range fieldsOf(t) {
		property, err := schemaOf(f.typ, f.rules, around)
		if err != nil {
			return nil, err
		}
		if f.nullable {
			property = nullable(property)
		}
		if f.doc != "" {
			property["description"] = f.doc
		}
		properties[f.key] = property
		if f.required {
			required = append(required, f.key)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s, nil
}

// nullable returns a schema that accepts null in addition to what s accepts.
func nullable(s map[string]any) map[string]any {
	name, hasType := s["type"].(string)
	switch {
	case len(s) == 0: // accepts anything
	case hasType:
		s["type"] = []any{name, "null"}
		if values, ok := s["enum"].([]any); ok {
			s["enum"] = append(values, nil)
		}
	default:
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	return s
}

// Leaves lists the keys of the files that decode into the type of v, a struct
// or a pointer to one, as patterns: networks[].ops.*.op_scalar is the key
// op_scalar of each entry of the map ops of each element of the list networks.
// Keys that hold further keys are not listed themselves. The type must not be
// recursive.
func Leaves(v any) []string { return leavesOf("", structType(v)) }

func leavesOf(path string, t reflect.Type) []string {
	leaf, isMap, _ := leafOf(t)
	if hasKeys := leaf.Kind() == reflect.Struct && !isCustom(leaf); !hasKeys && !isMap {
		return []string{path}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return leavesOf(path, t.Elem())
	case reflect.Slice, reflect.Array:
		return leavesOf(path+"[]", t.Elem())
	case reflect.Map:
		return leavesOf(memberPath(path, "*"), t.Elem())
	}
	fields := fieldsOf(t)
	if len(fields) == 0 {
		return []string{path}
	}
	var leaves []string
	for _, f := range fields {
		leaves = append(leaves, leavesOf(memberPath(path, f.key), f.typ)...)
	}
	return leaves
}

// structType returns the struct type of v, which may be a pointer to a struct.
func structType(v any) reflect.Type {
	t := reflect.TypeOf(v)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("document: %T is not a struct", v))
	}
	return t
}
