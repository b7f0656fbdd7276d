// Package table writes tables: typed columns over rows of any type, for a terminal, as Markdown, CSV, JSON, Parquet, and as cells
// for pages and spreadsheets. What a table says is told once, by its columns.
package table

import (
	"fmt"
	"io"
	"slices"

	"throughline/number"
)

// Kind is what the values of a column are. Any may be absent.
type Kind string

const (
	Text   Kind = "text"   // also where none is told
	Number Kind = "number" // with a fraction
	Count  Kind = "count"  // whole
	Flag   Kind = "flag"   // true or false
)

// Column is one of a table whose rows are made of T.
type Column[T any] struct {
	Name  string // in files, which leave out columns without one
	Title string // for people; the name where it is empty
	Unit  string
	Doc   string
	Kind  Kind
	Files bool // people do not see it
	Left  bool // although it holds numbers
	Once  bool // people see it where it differs from the row above
	Omit  bool // from a JSON object, where there is no value
	Rank  int  // how soon it is left out where there is no room: the highest first, 0 never
	// Format is how a number with a fraction is written, in CSV and for people; Digits are the significant ones that people
	// see instead. Without, CSV has all digits and people see six.
	Format string
	Digits int
	// Value is a number, a text, a bool, or nil where there is none.
	Value func(T) any
	// Cell is what people see where that is not the value alone.
	Cell func(T) string
}

// CountColumn is one of whole numbers.
func CountColumn[T any](name string, value func(T) int) Column[T] {
	return Column[T]{Name: name, Kind: Count, Value: func(row T) any { return value(row) }}
}

// NumberColumn is one of numbers with a fraction.
func NumberColumn[T any](name, format string, value func(T) float64) Column[T] {
	return Column[T]{Name: name, Kind: Number, Format: format, Value: func(row T) any { return value(row) }}
}

// TextColumn is one of texts; one that is empty is none.
func TextColumn[T any](name string, value func(T) string) Column[T] {
	return Column[T]{Name: name, Value: func(row T) any {
		if text := value(row); text != "" {
			return text
		}
		return nil
	}}
}

// text is what people see of a row.
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
			return fmt.Sprintf(c.Format, f)
		}
	}
	return Plain(v)
}

// heading is the column as people see it.
func (c *Column[T]) heading() Heading {
	title := c.Title
	if title == "" {
		title = c.Name
	}
	return Heading{title, (c.Kind == Number || c.Kind == Count) && !c.Left, c.Rank, c.Doc}
}

// Plain is a value for people.
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
	// Line says whether a line stands between two rows.
	Line func(above, row T) bool
}

// Cell is a value with the text that people see of it.
type Cell struct {
	Text  string
	Value any
}

// Any is a table whatever its rows are made of.
type Any interface {
	Render(v View) string
	Write(w io.Writer, form Form) error
	Headings() []Heading
	// Each hands over the cells of the rows, one row after another.
	Each(take func([]Cell))
	Len() int
}

// Of is a table of the elements of a list.
func Of[E any](columns []Column[*E], list []E) *Table[*E] {
	t := &Table[*E]{Columns: columns}
	for i := range list {
		t.Rows = append(t.Rows, &list[i])
	}
	return t
}

// Len is the number of rows.
func (t *Table[T]) Len() int { return len(t.Rows) }

// seen are the columns for people.
func (t *Table[T]) seen() []Column[T] {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[T]) bool { return c.Files })
}

// Headings are the columns as people see them.
func (t *Table[T]) Headings() (out []Heading) {
	for _, c := range t.seen() {
		out = append(out, c.heading())
	}
	return out
}

// Text is what people see in a column of a row.
func (t *Table[T]) Text(column int, row T) string { return t.Columns[column].text(row) }

// Each hands over the cells of the rows, one row after another.
func (t *Table[T]) Each(take func([]Cell)) {
	columns := t.seen()
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

// Pick is the table with some of its columns, by their names, in another order.
func (t *Table[T]) Pick(names ...string) *Table[T] {
	out := *t
	out.Columns = nil
	for _, name := range names {
		at := slices.IndexFunc(t.Columns, func(c Column[T]) bool { return c.Name == name })
		out.Columns = append(out.Columns, t.Columns[at])
	}
	return &out
}

// Filled is the table without the columns in which nothing stands.
func (t *Table[T]) Filled() *Table[T] {
	out := *t
	out.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column[T]) bool {
		return !slices.ContainsFunc(t.Rows, func(row T) bool { return c.text(row) != "" })
	})
	return &out
}

// grid is the table as texts.
func (t *Table[T]) grid() *Grid {
	columns := t.seen()
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

// Render draws the columns that fit into a width, the important ones first, and says what was left out.
func (t *Table[T]) Render(v View) string { return t.grid().Render(v) }

// Shown are the titles of the columns that fit, and of those that do not.
func (t *Table[T]) Shown(width int) (shown, left []string) {
	g := t.grid()
	at, left := g.choose(width)
	for _, i := range at {
		shown = append(shown, g.Columns[i].Title)
	}
	return shown, left
}
