package assume

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"throughline/internal/document"
)

// Presets by name.
var presets = []Assumptions{Reference, Physical}

// Presets are the names of the presets.
func Presets() []string {
	var out []string
	for _, p := range presets {
		out = append(out, p.Name)
	}
	return out
}

// Parse reads a preset and changes to it, like "physical" or "physical,causal=false,memory-fraction=0.85".
func Parse(text string) (*Assumptions, error) {
	name, changes, _ := strings.Cut(text, ",")
	var a Assumptions
	for _, p := range presets {
		if p.Name == strings.TrimSpace(name) {
			a = p
		}
	}
	if a.Name == "" {
		return nil, fmt.Errorf("assumptions: %s", document.NotOneOf(strings.TrimSpace(name), Presets()))
	}
	if changes == "" {
		return &a, nil
	}
	for _, change := range strings.Split(changes, ",") {
		if err := a.set(strings.TrimSpace(change)); err != nil {
			return nil, err
		}
	}
	return &a, nil
}

// set changes one field, and notes it in the name.
func (a *Assumptions) set(change string) error {
	key, value, ok := strings.Cut(change, "=")
	if !ok {
		return fmt.Errorf("assumptions: %q is not of the form name=value", change)
	}
	f, ok := a.field(key)
	if !ok {
		return fmt.Errorf("assumptions: %s", document.NotOneOf(key, Names()))
	}
	switch f.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("assumptions: %s must be true or false, not %q", key, value)
		}
		f.SetBool(b)
	default:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0) || x > 1e18 {
			return fmt.Errorf("assumptions: %s must be a number of at least 0, not %q", key, value)
		}
		f.SetFloat(x)
	}
	a.Name += "," + change
	return nil
}

func (a *Assumptions) field(name string) (reflect.Value, bool) {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("assume") == name {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// Names are the names of the fields, in order.
func Names() []string {
	var out []string
	for _, d := range Reference.Describe() {
		out = append(out, d.Name)
	}
	return out
}

// Described is one assumption with its value.
type Described struct{ Name, Value, Doc string }

// Describe lists the assumptions with their values.
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
