// Package published predicts figures that others have printed: throughputs, times of parts of a
// layer or of exchanges, and ratios. A row's description, never its figure, decides by rule how it
// is treated (rules.go); it is read into a deployment (read.go) and priced like any other
// (predict.go).
package published

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/validate"
)

// Columns of a table of published figures.
var Columns = []string{
	"source", "url", "model", "hardware", "num_gpus", "parallelism", "precision", "isl", "osl", "concurrency_or_batch",
	"metric", "value", "unit", "evidence", "notes",
}

type Row struct {
	Cells []string // in the order of Columns
	Class Class
	// Value and Predicted are in the figure's unit, or a ratio for percentages; Predicted is 0
	// if there is none.
	Value, Predicted float64
	Reason           string // why it is not compared, or has no prediction

	asks         quantity
	group, label string
	stated       *config // the deployment, where one question of the program states it
	plain        bool    // of a table that the program reads by itself
}

// inputs is a row without its figure: all that rules and readers see.
type inputs struct{ cells []string }

func (in inputs) get(column string) string {
	if column == "value" {
		panic("a class never depends on the figure")
	}
	return strings.TrimSpace(in.cells[slices.Index(Columns, column)])
}

// with is the same row with another text in a column.
func (in inputs) with(column, text string) inputs {
	cells := slices.Clone(in.cells)
	cells[slices.Index(Columns, column)] = text
	return inputs{cells}
}

// Error of the prediction, relative to the figure.
func (r *Row) Error() float64 { return r.Predicted/r.Value - 1 }

// Has reports whether there is a prediction to compare.
func (r *Row) Has() bool { return r.Predicted > 0 && r.Value > 0 }

// chartWidth is how far off a figure may be that somebody read off a chart.
const chartWidth = 0.03

// Within reports whether the error is within the limit, which is wider for figures read off charts.
func (r *Row) Within(limit float64) bool {
	if r.evidence() == "chart_read" {
		limit += chartWidth
	}
	return math.Abs(r.Error()) <= limit
}

func (r *Row) evidence() string { return r.Cells[slices.Index(Columns, "evidence")] }

func (r *Row) column(name string) string { return r.Cells[slices.Index(Columns, name)] }

// Table is the rows of all files.
type Table struct {
	Rows    []Row
	Skipped []Skipped
}

// Skipped is a file that holds no such table.
type Skipped struct{ Name, Why string }

//go:embed published.csv
var builtIn []byte

// starts is what servers print of their memory when they start, in the columns of the program.
const starts = "measure/starts.csv"

// BuiltIn reads the figures of the project, whose root is a folder.
func (t *Table) BuiltIn(ctx context.Context, root string) error {
	if err := t.read(ctx, "published.csv (built in)", bytes.NewReader(builtIn)); err != nil {
		return err
	}
	name := filepath.Join(root, starts)
	f, err := csvfile.Open(files.Machine, name)
	if err != nil {
		return document.Unreadable(files.Machine, name, err)
	}
	defer f.Close()
	r, err := validate.Published(ctx, name, f, question.DefaultOf(question.Published))
	if err != nil {
		return err
	}
	t.plain(r)
	return nil
}

// plain adds the rows of a table that the program reads and predicts by itself.
func (t *Table) plain(r *validate.Report) {
	for i := range r.Rows {
		in, f := &r.Rows[i], &r.Rows[i].Figures[0]
		row := Row{Cells: make([]string, len(Columns)), Class: Target, Value: f.Measured, Predicted: f.Predicted, Reason: f.Reason, group: in.Group, label: in.Label, plain: true}
		for at, column := range Columns {
			if k := slices.Index(r.Header, column); k >= 0 {
				row.Cells[at] = in.Cells[k]
			}
		}
		if f.Reason != "" {
			row.Class = NotCompared
		}
		t.Rows = append(t.Rows, row)
	}
}

// ReadFile reads a table, or all tables of a folder. Files in another schema are skipped.
func (t *Table) ReadFile(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return document.Unreadable(files.Machine, name, err)
	}
	if !info.IsDir() {
		return t.file(ctx, name, name)
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return document.Unreadable(files.Machine, path, err)
		}
		if d.IsDir() || !strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".csv") {
			return nil
		}
		short, _ := filepath.Rel(name, path)
		return t.file(ctx, path, short)
	})
}

func (t *Table) file(ctx context.Context, name, short string) error {
	f, err := csvfile.Open(files.Machine, name)
	if err != nil {
		return document.Unreadable(files.Machine, name, err)
	}
	defer f.Close()
	err = t.read(ctx, name, f)
	var other *otherSchema
	if errors.As(err, &other) {
		t.Skipped = append(t.Skipped, Skipped{filepath.ToSlash(short), other.Error()})
		return nil
	}
	return err
}

// otherSchema is a table with other columns.
type otherSchema struct{ missing []string }

func (o *otherSchema) Error() string {
	const most = 3
	what, more := "column", ""
	if len(o.missing) > 1 {
		what = "columns"
	}
	if n := len(o.missing) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("no %s %s%s", what, document.QuoteList(o.missing[:min(most, len(o.missing))]), more)
}

func (t *Table) read(ctx context.Context, name string, src io.Reader) error {
	c := csvfile.NewReader(src, csvfile.Kept)
	header, err := c.Header()
	if errors.Is(err, csvfile.ErrEmpty) {
		return &otherSchema{Columns}
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := make([]int, len(Columns))
	var missing []string
	for i, column := range Columns {
		at[i] = slices.Index(header, column)
		if at[i] < 0 {
			missing = append(missing, column)
		}
	}
	if len(missing) > 0 {
		return &otherSchema{missing}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		cells, err := c.Read()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(cells) != len(header) {
			return fmt.Errorf("%s:%d: %d cells, the header has %d", name, c.Line(), len(cells), len(header))
		}
		row := Row{Cells: make([]string, len(Columns))}
		for i := range Columns {
			row.Cells[i] = cells[at[i]]
		}
		row.Class, row.asks, row.Reason = classify(inputs{row.Cells})
		row.Value = row.figure()
		row.group, row.label = row.column("source")+", "+row.asks.String(), labelOf(inputs{row.Cells})
		t.Rows = append(t.Rows, row)
	}
}

// figure is the published number, or 0 if it cannot be compared; a gain in percent is a ratio.
func (r *Row) figure() float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(r.column("value")), 64)
	if r.Class == Relation && r.column("unit") == "%" {
		v = 1 + v/100
	}
	if r.Class == Order {
		return 0 // no figure, only which is larger
	}
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0
	}
	return v
}

// Of is the rows of a class as a report like that of any validation, grouped by what they are of.
func (t *Table) Of(class Class) *validate.Report {
	r := &validate.Report{Header: slices.Clone(Columns), Figures: []string{""}}
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Class != class {
			continue
		}
		f := validate.Figure{Measured: row.Value, Predicted: row.Predicted, Reason: row.Reason}
		if !row.Has() && f.Reason == "" {
			f.Reason = notANumber(row.column("value"))
		}
		r.Rows = append(r.Rows, validate.Row{
			Group: row.group, Label: row.label, Cells: row.Cells, Figures: []validate.Figure{f},
		})
	}
	return r
}

func notANumber(text string) string { return fmt.Sprintf("value %q is not a positive number", text) }

// labelOf names a row within its source.
func labelOf(in inputs) string {
	chip, _, _ := strings.Cut(in.get("hardware"), ",")
	chip, _, _ = strings.Cut(chip, " (")
	parts := []string{in.get("model"), chip, in.get("parallelism")}
	if n := in.get("isl"); n != "" {
		parts = append(parts, strings.TrimSuffix(n+" + "+in.get("osl"), " + ")+" tokens")
	}
	parts = append(parts, in.get("concurrency_or_batch"), in.get("metric"))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
