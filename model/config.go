package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/internal/document"
)

// raw is a value that is decoded later.
type raw struct{ document.Value }

func (r *raw) DecodeDocument(v document.Value) { r.Value = v }

// object is an object of the file, with the keys that were read.
type object struct {
	at     string
	values map[string]raw
	seen   map[string]bool
}

// config is the object of a language model, possibly inside another that adds vision or audio.
type config struct {
	doc     *document.File
	inner   *object // text_config, or the root
	outer   *object // the root
	family  *family
	layers  int
	mixers  []string // kinds of the layers of a family that lists single blocks
	leftOut []string
	parts   []*object // nested objects whose keys are read
}

// newConfig is nil if the file could not be parsed or holds no config.
func newConfig(doc *document.File) *config {
	if !doc.Has("") {
		return nil
	}
	root := &object{values: map[string]raw{}, seen: map[string]bool{}}
	doc.Decode(&root.values)
	c := &config{doc: doc, inner: root, outer: root}
	if text, ok := root.values["text_config"]; ok && text.Kind() != document.Null {
		root.seen["text_config"] = true
		if c.inner = c.part(text); c.inner == nil {
			return nil
		}
	}
	return c
}

// part is a nested object, the same for each call; nil, with a problem, if the value is none.
func (c *config) part(v raw) *object {
	if v.Kind() != document.Object {
		v.Problemf("must be an object, not %s", v.Describe())
		return nil
	}
	for _, o := range c.parts {
		if o.at == v.Path() {
			return o
		}
	}
	o := &object{at: v.Path(), values: map[string]raw{}, seen: map[string]bool{}}
	v.Decode(&o.values)
	c.parts = append(c.parts, o)
	return o
}

// within is the config of a nested object; nil if there is none.
func (c *config) within(key string) *config {
	v, ok := c.find(key)
	if !ok {
		c.missing(key)
		return nil
	}
	o := c.part(v)
	if o == nil {
		return nil
	}
	return &config{doc: c.doc, inner: o, outer: o, family: c.family, layers: c.layers}
}

// find is the value, other than null, of a key or its aliases in the inner or else the outer
// object.
func (c *config) find(keys ...string) (raw, bool) {
	inner, ok := c.inner.find(keys)
	outer, okOuter := c.outer.find(keys)
	if ok {
		return inner, true
	}
	return outer, okOuter
}

// find is the value of a key. Alternative names must agree.
func (o *object) find(keys []string) (found raw, ok bool) {
	for _, key := range keys {
		v, given := o.values[key]
		o.seen[key] = true
		switch {
		case !given || v.Kind() == document.Null:
		case !ok:
			found, ok = v, true
		case v.Describe() != found.Describe():
			v.Problemf("contradicts %s, which is %s", found.Path(), found.Describe())
		}
	}
	return found, ok
}

func (c *config) missing(keys ...string) {
	message := fmt.Sprintf("missing key %q", keys[0])
	if c.family != nil {
		message += fmt.Sprintf(", which model_type %q needs", c.family.types[0])
	}
	c.doc.Problemf(c.inner.at, "%s", message)
}

// The largest values of the model format.
const (
	maxSize   = 1_000_000
	maxLength = 1_000_000_000
)

// number is an integer between bounds, and whether there is one.
func (c *config) number(low, high int, keys ...string) (int, bool) {
	v, ok := c.find(keys...)
	if !ok {
		return 0, false
	}
	return parseInt(v, low, high)
}

func parseInt(v raw, low, high int) (int, bool) {
	n, ok := v.Int()
	switch {
	case !ok:
		v.Problemf("must be a whole number from %d to %d, not %s", low, high, v.Describe())
	case n < low:
		v.Problemf("must be at least %d, not %d", low, n)
	case n > high:
		v.Problemf("must be at most %d, not %d", high, n)
	default:
		return n, true
	}
	return 0, false
}

// size is a required integer of at least 1.
func (c *config) size(keys ...string) int { return c.sizeUpTo(maxSize, keys...) }

func (c *config) sizeUpTo(high int, keys ...string) int {
	if _, ok := c.find(keys...); !ok {
		if c.family != nil && c.family.absent[keys[0]] > 0 {
			return c.family.absent[keys[0]]
		}
		c.missing(keys...)
		return 0
	}
	n, _ := c.number(1, high, keys...)
	return n
}

// sizeOr is an integer of at least 1, or a default.
func (c *config) sizeOr(absent int, keys ...string) int {
	if _, ok := c.find(keys...); !ok {
		return absent
	}
	n, _ := c.number(1, maxSize, keys...)
	return n
}

// count is an integer of at least 0, by default 0.
func (c *config) count(keys ...string) int {
	n, _ := c.number(0, maxSize, keys...)
	return n
}

// flag is a boolean, or a default.
func (c *config) flag(absent bool, keys ...string) bool {
	v, ok := c.find(keys...)
	if !ok {
		return absent
	}
	b, ok := v.Bool()
	if !ok {
		v.Problemf("must be true or false, not %s", v.Describe())
	}
	return b
}

// word is a string, by default empty.
func (c *config) word(keys ...string) string {
	v, ok := c.find(keys...)
	if !ok {
		return ""
	}
	s, ok := v.String()
	if !ok {
		v.Problemf("must be a string, not %s", v.Describe())
	}
	return s
}

func (c *config) list(keys ...string) ([]raw, bool) {
	v, ok := c.find(keys...)
	if !ok {
		return nil, false
	}
	if v.Kind() != document.List {
		v.Problemf("must be a list, not %s", v.Describe())
		return nil, false
	}
	return elements(v), true
}

func elements(v raw) []raw {
	var out []raw
	for _, e := range v.Elements() {
		out = append(out, raw{e})
	}
	return out
}

// perLayer is a list of translated values for each layer, and up to drafts draft layers.
func (c *config) perLayer(key string, drafts int, meaning map[string]string) ([]string, bool) {
	values, ok := c.list(key)
	if !ok {
		return nil, false
	}
	if len(values) < c.layers || len(values) > c.layers+drafts {
		c.doc.Problemf(join(c.inner.at, key), "must have an element for each of %d layers, not %d", c.layers, len(values))
		return nil, false
	}
	var out []string
	for _, v := range values[:c.layers] {
		meant, known := meaning[text(v)]
		if !known {
			if v.Kind() == document.String {
				v.Problemf("%s", document.NotOneOf(text(v), sortedKeys(meaning)))
			} else {
				v.Problemf("must be one of %s, not %s", strings.Join(sortedKeys(meaning), ", "), text(v))
			}
			return nil, false
		}
		out = append(out, meant)
	}
	return out, true
}

// text is a string, or an integer as a string.
func text(v raw) string {
	if s, ok := v.String(); ok {
		return s
	}
	if n, ok := v.Int(); ok {
		return fmt.Sprint(n)
	}
	return v.Describe()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
