package assume

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
)

var presets = []Assumptions{Reference, Physical}

func Presets() []string {
	var out []string
	for _, p := range presets {
		out = append(out, p.Name)
	}
	return out
}

// Parse reads a preset and changes to it, like "physical" or
// "physical,causal=false,memory-fraction=0.85".
func Parse(text string) (*Assumptions, error) {
	name, changes, changed := strings.Cut(text, ",")
	name = strings.TrimSpace(name)
	i := slices.IndexFunc(presets, func(p Assumptions) bool { return p.Name == name })
	if i < 0 {
		return nil, errors.New(document.NotOneOf(name, Presets()))
	}
	a := presets[i]
	if !changed {
		return &a, nil
	}
	for _, change := range strings.Split(changes, ",") {
		key, value, ok := strings.Cut(change, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form name=value", strings.TrimSpace(change))
		}
		if err := a.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	return &a, nil
}

// set changes one field, and notes it in the name.
func (a *Assumptions) set(key, value string) error {
	field, tag, ok := a.field(key)
	if !ok {
		return errors.New(document.NotOneOf(key, Names()))
	}
	if field.Kind() == reflect.Bool {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s must be true or false, not %q", key, value)
		}
		field.SetBool(b)
	} else {
		x, err := strconv.ParseFloat(value, 64)
		least, most, bounds := 0.0, 1e18, "a number of at least 0"
		switch tag.Get("bound") {
		case "positive":
			least, bounds = 1e-18, "a number above 0"
		case "share":
			least, most, bounds = 1e-18, 1, "a number above 0 and at most 1"
		}
		if err != nil || !(x >= least && x <= most) {
			return fmt.Errorf("%s must be %s, not %q", key, bounds, value)
		}
		field.SetFloat(x)
	}
	a.Name += "," + key + "=" + value
	return nil
}

func (a *Assumptions) field(name string) (reflect.Value, reflect.StructTag, bool) {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if of, ok := tag.Lookup("assume"); ok && of == name {
			return v.Field(i), tag, true
		}
	}
	return reflect.Value{}, "", false
}

// Names are the names of the fields, in order.
func Names() []string {
	var out []string
	for _, d := range Reference.Describe() {
		out = append(out, d.Name)
	}
	return out
}

type Described struct{ Name, Value, Doc string }

func (a *Assumptions) Describe() []Described {
	var out []Described
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if name := f.Tag.Get("assume"); name != "" {
			out = append(out, Described{name, fmt.Sprint(v.Field(i).Interface()), f.Tag.Get("doc")})
		}
	}
	return out
}
