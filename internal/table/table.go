// Package table writes tables: typed columns over rows of any type, for a terminal, as Markdown,
// CSV, JSON, Parquet, and as cells for pages and spreadsheets.
package table

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"throughline/number"
)

// Kind is the type of the values of a column; any may be absent.
type Kind string

const (
	Text   Kind = "text"   // the default
	Number Kind = "number" // real
	Count  Kind = "count"  // integer
	Flag   Kind = "flag"   // true or false
)

// Column is one of a table with rows of type T.
type Column[T any] struct {
	Name  string // in files, which leave out columns without one
	Title string // for people; the name if empty
	Unit  string
	Doc   string
	Kind  Kind
	Files bool // only in files
	Left  bool // although it holds numbers
	Once  bool // shown where it differs from the row above
	Omit  bool // from a JSON object, if there is no value
	Rank  int  // what is left out first for lack of room: the highest first, 0 never
	// Format writes real numbers in CSV and for people; Digits are the significant digits that
	// people see instead. Without them CSV has all digits and people see six.
	Format string
	Digits int
	// Value is a number, a text, a bool, or nil if there is none.
	Value func(T) any
	// Cell overrides what people see.
	Cell func(T) string
}

func CountColumn[T any](name string, value func(T) int) Column[T] {
	return Column[T]{Name: name, Kind: Count, Value: func(row T) any { return value(row) }}
}

func NumberColumn[T any](name, format string, value func(T) float64) Column[T] {
	return Column[T]{Name: name, Kind: Number, Format: format, Value: func(row T) any { return value(row) }}
}

// TextColumn is one of texts; an empty one is absent.
func TextColumn[T any](name string, value func(T) string) Column[T] {
	return Column[T]{Name: name, Value: func(row T) any {
		if text := value(row); text != "" {
			return text
		}
		return nil
	}}
}

// text returns what people see of a row.
func (c *Column[T]) text(row T) string {
	if c.Cell != nil {
		return c.Cell(row)
	}
	v := c.Value(row)
	if f, ok := v.(float64); ok {
		switch {
		case c.Digits > 0:
			return number.Plain(f, c.Digits)
		case c.Format != "":
			return strings.Replace(fmt.Sprintf(c.Format, f), "-", "−", 1)
		}
	}
	return Plain(v)
}

func (c *Column[T]) heading() Heading {
	return Heading{cmp.Or(c.Title, c.Name), (c.Kind == Number || c.Kind == Count) && !c.Left, c.Rank, c.Doc}
}

// Plain formats a value for people.
func Plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return number.Plain(v, 6)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprint(v)
}

// Table is rows under typed columns.
type Table[T any] struct {
	Columns []Column[T]
	Rows    []T
	// Line reports whether to draw a line between two rows.
	Line func(above, row T) bool
}

// Cell is a value with the text that people see.
type Cell struct {
	Text  string
	Value any
}

type Any interface {
	Render(v View) string
	Write(w io.Writer, form Form) error
	Headings() []Heading
	// Each visits the cells of each row.
	Each(take func([]Cell))
	Len() int
}

func Of[E any](columns []Column[*E], list []E) *Table[*E] {
	t := &Table[*E]{Columns: columns}
	for i := range list {
		t.Rows = append(t.Rows, &list[i])
	}
	return t
}

func (t *Table[T]) Len() int { return len(t.Rows) }

func (t *Table[T]) shownColumns() []Column[T] {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[T]) bool { return c.Files })
}

// Headings returns the columns as people see them.
func (t *Table[T]) Headings() (out []Heading) {
	for _, c := range t.shownColumns() {
		out = append(out, c.heading())
	}
	return out
}

// Text returns what people see in a column of a row.
func (t *Table[T]) Text(column int, row T) string { return t.Columns[column].text(row) }

// Each visits the cells of each row.
func (t *Table[T]) Each(take func([]Cell)) {
	columns := t.shownColumns()
	cells := make([]Cell, len(columns))
	for _, row := range t.Rows {
		for i := range columns {
			c := &columns[i]
			cells[i] = Cell{Text: c.text(row)}
			if c.Value != nil {
				cells[i].Value = c.Value(row)
			}
		}
		take(cells)
	}
}

// Pick returns the table with the named columns, in that order.
func (t *Table[T]) Pick(names ...string) *Table[T] {
	out := *t
	out.Columns = nil
	for _, name := range names {
		at := slices.IndexFunc(t.Columns, func(c Column[T]) bool { return c.Name == name })
		out.Columns = append(out.Columns, t.Columns[at])
	}
	return &out
}

// Filled returns the table without empty columns.
func (t *Table[T]) Filled() *Table[T] {
	out := *t
	out.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[T]) bool {
		return !slices.ContainsFunc(t.Rows, func(row T) bool { return c.text(row) != "" })
	})
	return &out
}

func (t *Table[T]) grid() *Grid {
	columns := t.shownColumns()
	g := &Grid{Columns: t.Headings()}
	for k, row := range t.Rows {
		if k > 0 && t.Line != nil && t.Line(t.Rows[k-1], row) {
			g.Separator()
		}
		cells := make([]string, len(columns))
		for i := range columns {
			c := &columns[i]
			if text := c.text(row); !c.Once || k == 0 || text != c.text(t.Rows[k-1]) {
				cells[i] = text
			}
		}
		g.Row(cells...)
	}
	return g
}

// Render draws the columns that fit, by rank, and names the others.
func (t *Table[T]) Render(v View) string { return t.grid().Render(v) }

// Shown returns the titles of the columns that fit, and of the others.
func (t *Table[T]) Shown(width int) (shown, left []string) {
	g := t.grid()
	at, left := g.choose(width)
	for _, i := range at {
		shown = append(shown, g.Columns[i].Title)
	}
	return shown, left
}
