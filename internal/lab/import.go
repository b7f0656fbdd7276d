package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"throughline/internal/csvfile"
	"throughline/internal/files"
	"throughline/internal/names"
	"throughline/internal/question"
	"throughline/internal/rows"
	"throughline/internal/runs"
	"throughline/internal/validate"
)

// Table is a public table of serving runs.
type Table struct {
	Name   string
	text   []byte
	header []string
	rows   []run
}

// run is a row by the columns of public tables, and its cells in their order.
type run struct {
	rows.Row
	cells []string
}

// Import reads a public table of serving runs, with whatever its authors wrote into it.
func Import(ctx context.Context, name string) (*Table, error) {
	f, err := runs.Open(files.Machine, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(ctx, name, f)
}

func read(ctx context.Context, name string, src io.Reader) (*Table, error) {
	t := &Table{Name: name}
	var err error
	if t.text, err = io.ReadAll(src); err != nil {
		return nil, err
	}
	c := csvfile.NewReader(bytes.NewReader(t.text), csvfile.Kept)
	header, err := c.Header()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	columns := names.Header(header)
	t.header = columns.Names()[:len(header)]
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cells, err := c.Read()
		if err == io.EOF {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(cells) != len(header) {
			return nil, fmt.Errorf("%s:%d: %d cells, the header has %d", name, c.Line(), len(cells), len(header))
		}
		cells = slices.Clone(cells)
		t.rows = append(t.rows, run{rows.Row{Cell: columns.Of(cells)}, cells})
	}
}

// Write writes the table in the columns of questions, followed by its own other columns.
func (t *Table) Write(w io.Writer) error {
	var measured []string
	for _, column := range t.header {
		if validate.IsFigure(column) {
			measured = append(measured, column)
		}
	}
	reader := rows.NewReader(question.Default())
	lines := make([]map[string]string, len(t.rows))
	all := map[string]bool{"model": true, "system": true, "isl": true, "osl": true, "concurrency": true}
	for i, r := range t.rows {
		lines[i] = reader.Cells(withSentences(r.Row).Completed(), slices.ContainsFunc(measured, func(c string) bool { return r.Cell(c) != "" }))
		for column := range lines[i] {
			all[column] = true
		}
	}
	columns := slices.Sorted(maps.Keys(all))
	var keep []int
	header := slices.Clone(columns)
	for i, column := range t.header {
		if !question.IsRunColumn(column) && !rows.Replaced(column) {
			keep, header = append(keep, i), append(header, column)
		}
	}
	out := csvfile.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for i, r := range t.rows {
		var line []string
		for _, column := range columns {
			line = append(line, lines[i][column])
		}
		for _, k := range keep {
			line = append(line, r.cells[k])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
