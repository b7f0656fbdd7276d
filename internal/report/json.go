package report

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"throughline/internal/result"
	"throughline/internal/table"
)

// Array streams a JSON array of runs: the mode, an object per table keyed by the field names of the
// wide CSV, the reasons for a missing plan and, on request, what was ruled out.
type Array struct {
	w      io.Writer
	tables []result.Table
	runs   int
}

func NewArray(w io.Writer, with ...result.Category) *Array {
	return &Array{w: w, tables: result.Tables(with...)}
}

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

func (a *Array) Close() error {
	end := "\n]\n"
	if a.runs == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(a.w, end)
	return err
}

func WriteObject(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// entry is a key of an object: a field of the registry, in the unit that the key names, or an
// object.
type entry struct {
	key   string
	field string // without the prefix of its phase
	unit  result.Unit
	in    layout
	omit  bool // if there is no value
}

// layout is the keys of an object in order.
type layout []entry

// fields are keys that are called as their fields are.
func fields(names string) (l layout) {
	for _, name := range strings.Fields(names) {
		l = append(l, entry{key: name, field: name})
	}
	return l
}

// and is a layout with more keys behind its own.
func (l layout) and(more layout) layout { return slices.Concat(l, more) }

type column = table.Column[*result.Record]

// columns returns the keys of a layout, with the prefix before field names.
func (l layout) columns(prefix string) (out []column) {
	for _, e := range l {
		c := column{Name: e.key, Omit: e.omit}
		if e.in != nil {
			in := e.in.columns(prefix)
			c.Value = func(r *result.Record) any { return object(in, r) }
		} else {
			c.Value = result.In(prefix+e.field, e.unit)
		}
		out = append(out, c)
	}
	return out
}

func object(columns []column, r *result.Record) json.Marshaler {
	return table.Object[*result.Record]{Columns: columns, Row: r}
}

func keyValue(key string, value any) column {
	return column{Name: key, Value: func(*result.Record) any { return value }}
}
