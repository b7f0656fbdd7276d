package report

import (
	"bytes"
	"encoding/json"
	"io"

	"throughline/internal/result"
)

// Array writes a JSON array of runs, one after another: of each its mode, and an object per table whose keys are the field
// names of the wide CSV; reasons, if a phase has no plan, and on request what was ruled out.
type Array struct {
	w      io.Writer
	tables []result.Table
	runs   int
}

// NewArray starts an array.
func NewArray(w io.Writer, with ...result.Category) *Array {
	return &Array{w: w, tables: result.Tables(with...)}
}

// Add writes a run.
func (a *Array) Add(r *result.Record) error {
	run := map[string]any{"mode": r.Mode}
	for i := range a.tables {
		fields := map[string]any{}
		for j := range a.tables[i].Rows {
			row := &a.tables[i].Rows[j]
			fields[row.Label] = row.Of(r)
		}
		run[a.tables[i].Name] = fields
	}
	if r.Refusals != nil {
		run["rejected"] = r.Refusals
	}
	if len(r.Reasons) > 0 {
		run["reasons"] = r.Reasons
	}
	text, err := json.MarshalIndent(run, "  ", "  ")
	if err != nil {
		return err
	}
	before := ",\n  "
	if a.runs == 0 {
		before = "[\n  "
	}
	a.runs++
	_, err = a.w.Write(append([]byte(before), text...))
	return err
}

// Close ends the array.
func (a *Array) Close() error {
	end := "\n]\n"
	if a.runs == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(a.w, end)
	return err
}

// WriteObject writes a value as indented JSON.
func WriteObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// entry is a key of an object: a field of the registry, in a unit of its own where the key names one, or an object.
type entry struct {
	key   string
	field string // of a phase without its prefix
	unit  result.Unit
	in    layout
	omit  bool // where there is no value
}

// layout is the keys of an object in their order.
type layout []entry

// object is a record under a layout. Names of fields have the prefix in front.
type object struct {
	layout layout
	record *result.Record
	prefix string
	more   []member // behind those of the layout
}

// member is a key with a value that is at hand.
type member struct {
	key   string
	value any
}

// MarshalJSON writes the keys in the order of the layout.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	add := func(key string, value any) error {
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(text)
		return nil
	}
	for _, e := range o.layout {
		var value any
		if e.in != nil {
			value = object{layout: e.in, record: o.record, prefix: o.prefix}
		} else if value = o.value(&e); value == nil && e.omit {
			continue
		}
		if err := add(e.key, value); err != nil {
			return nil, err
		}
	}
	for _, m := range o.more {
		if err := add(m.key, m.value); err != nil {
			return nil, err
		}
	}
	if b.Len() == 0 {
		return []byte("{}"), nil
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o *object) value(e *entry) any {
	f, ok := result.Lookup(o.prefix + e.field)
	if !ok {
		panic("report: no field " + o.prefix + e.field)
	}
	if e.unit == result.None {
		return f.Value(o.record)
	}
	return f.In(e.unit, o.record)
}
