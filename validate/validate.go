// Package validate predicts what was measured, row by row, and says how far off the predictions are.
package validate

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Row is one measured row with its prediction.
type Row struct {
	Group     string // rows that are summed up together
	Cells     []string
	Measured  float64
	Predicted float64
	Reason    string // why there is no prediction
}

// Error of the prediction, relative to the measurement.
func (r *Row) Error() float64 { return r.Predicted/r.Measured - 1 }

// Report is all rows of a table.
type Report struct {
	Header []string // of the input, and the columns that were added
	Rows   []Row
}

// Summary is the errors of a group.
type Summary struct {
	Group               string
	Rows, Unpredicted   int
	Mean, Median, Worst float64 // absolute, in percent; the worst with its sign
	WorstRow            string
}

// Summaries are the errors by group, in the order of the table.
func (r *Report) Summaries() []Summary {
	var groups []string
	byGroup := map[string][]*Row{}
	for i := range r.Rows {
		g := r.Rows[i].Group
		if byGroup[g] == nil {
			groups = append(groups, g)
		}
		byGroup[g] = append(byGroup[g], &r.Rows[i])
	}
	var out []Summary
	for _, g := range groups {
		s := Summary{Group: g}
		var errors []float64
		for _, row := range byGroup[g] {
			if row.Reason != "" {
				s.Unpredicted++
				continue
			}
			e := 100 * row.Error()
			errors = append(errors, math.Abs(e))
			if math.Abs(e) >= math.Abs(s.Worst) {
				s.Worst, s.WorstRow = e, strings.Join(row.Cells[:len(row.Cells)-1], ",")
			}
		}
		s.Rows = len(errors)
		if s.Rows > 0 {
			slices.SortFunc(errors, cmp.Compare[float64])
			for _, e := range errors {
				s.Mean += e / float64(s.Rows)
			}
			s.Median = errors[s.Rows/2]
		}
		out = append(out, s)
	}
	return out
}

// WriteCSV writes the table with its predictions.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(r.Header); err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		predicted := ""
		if row.Reason == "" {
			predicted = strconv.FormatFloat(row.Predicted, 'g', 9, 64)
		}
		if err := c.Write(append(slices.Clone(row.Cells), predicted, row.Reason)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// table reads a CSV table with the given columns; its rows are passed on by column name.
func table(name string, src io.Reader, columns []string, row func(get func(column string) string) Row) (*Report, error) {
	c := csv.NewReader(src)
	header, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, want := range columns {
		if !slices.Contains(header, want) {
			return nil, fmt.Errorf("%s:1: no column %q; the columns are %s", name, want, strings.Join(columns, ", "))
		}
	}
	r := &Report{Header: slices.Clone(header)}
	for {
		cells, err := c.Read()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out := row(func(column string) string { return cells[slices.Index(header, column)] })
		out.Cells = cells
		r.Rows = append(r.Rows, out)
	}
}

// params reads "b=1;s=512".
func params(text string) map[string]int {
	out := map[string]int{}
	for _, part := range strings.Split(text, ";") {
		key, value, _ := strings.Cut(part, "=")
		if n, err := strconv.Atoi(value); err == nil {
			out[key] = n
		}
	}
	return out
}

// measured reads a time; it must be positive.
func (r *Row) measured(text string) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) {
		r.Reason = fmt.Sprintf("%q is not a time", text)
		return
	}
	r.Measured = v
}
