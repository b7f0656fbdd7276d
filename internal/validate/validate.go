// Package validate predicts measured values row by row and reports how far off the predictions are.
package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/estimate"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/names"
)

// Row is one measured row with its predictions.
type Row struct {
	Group   string // rows that are summed up together
	Class   string // and the groups that are, where there are many
	Label   string // names the row within its group; empty: its cells do
	Cells   []string
	Figures []Figure  // in the order of the report
	More    []float64 // predictions that tables have no measurements of; NaN: none
	Kind    string    // of a TTFT

	Note string // what stands in for what is not known

	// Of serving runs that are answered: names of model, engine, system and deployment, and whether
	// its launch settings are unknown.
	Model, Engine, System, Deployment string
	Unstated                          bool
	Procs, Clients, Output            int // output tokens of a request

	drafted drafted
}

// Figure is one measured number of a row.
type Figure struct {
	Measured  float64 // 0: not known
	Predicted float64
	Reason    string               // why there is no prediction
	Misread   bool                 // what the table has is no time: the reason names its line
	Trusted   *estimate.Confidence // nil: a prediction of a single kernel
}

// Error of the prediction, relative to the measurement.
func (f *Figure) Error() float64 { return f.Predicted/f.Measured - 1 }

type Report struct {
	Header  []string // of the input, and the columns that were added
	Figures []string // names of the figures of a row; a single one needs none
	Rows    []Row
	Summed  bool // by class, although there is a single figure

	brief []bool // by figure: summed up by class alone; nil: none
	kinds bool   // rows have a kind and notes
}

// Summary is the errors of one figure of a group.
type Summary struct {
	Group, Figure       string
	Rows, Unpredicted   int
	Mean, Median, Worst float64 // absolute, in percent; the worst with its sign
	Bias                float64 // median with its sign: where it nears the median, the errors are one-sided
	WorstRow            string
}

// Summaries are the errors by group, in the order of the table.
func (r *Report) Summaries() []Summary {
	out := r.summaries(func(row *Row) string { return row.Group })
	brief := func(s Summary) bool {
		i := slices.Index(r.Figures, s.Figure)
		return i < len(r.brief) && r.brief[i]
	}
	timed, rated := map[string]bool{}, map[string]bool{}
	for _, s := range out {
		timed[s.Group] = timed[s.Group] || s.Rows > 0 && !brief(s)
		rated[s.Group] = rated[s.Group] || s.Rows > 0 && brief(s)
	}
	// Runs without times of tokens, as offline ones, are told by what they have.
	return slices.DeleteFunc(out, func(s Summary) bool {
		if rated[s.Group] && !timed[s.Group] {
			return s.Rows == 0
		}
		return brief(s)
	})
}

// Regroup summarizes the rows by input columns instead of by their own groups.
func (r *Report) Regroup(columns []string) error {
	var at []int
	for _, c := range columns {
		i := slices.Index(r.Header, c)
		if i < 0 || len(r.Rows) > 0 && i >= len(r.Rows[0].Cells) {
			return errors.New(document.NotOneOf(c, r.input()))
		}
		at = append(at, i)
	}
	for i := range r.Rows {
		var parts []string
		for _, c := range at {
			parts = append(parts, r.Rows[i].Cells[c])
		}
		r.Rows[i].Group = strings.Join(parts, " ")
	}
	return nil
}

// input is the columns of the table before any were added.
func (r *Report) input() []string {
	if len(r.Rows) == 0 {
		return r.Header
	}
	return r.Header[:len(r.Rows[0].Cells)]
}

// Miss is a figure of a row that is off.
type Miss struct {
	Group, Row, Figure string
	Measured           float64
	Predicted          float64
}

// Error of the prediction, relative to the measurement.
func (m *Miss) Error() float64 { return m.Predicted/m.Measured - 1 }

// Misses are the figures that are furthest off, at most n of each.
func (r *Report) Misses(n int) []Miss {
	var out []Miss
	for figure, name := range r.Figures {
		var all []Miss
		for i := range r.Rows {
			row := &r.Rows[i]
			if f := &row.Figures[figure]; f.Reason == "" && f.Measured > 0 {
				all = append(all, Miss{row.Group, row.label(), name, f.Measured, f.Predicted})
			}
		}
		slices.SortStableFunc(all, func(a, b Miss) int { return cmp.Compare(math.Abs(b.Error()), math.Abs(a.Error())) })
		out = append(out, all[:min(n, len(all))]...)
	}
	return out
}

// label names the row within its group.
func (row *Row) label() string {
	return cmp.Or(row.Label, strings.Join(row.Cells[:len(row.Cells)-1], ","))
}

// Totals are the errors by class.
func (r *Report) Totals() []Summary { return r.summaries(func(row *Row) string { return row.Class }) }

func (r *Report) summaries(of func(*Row) string) []Summary {
	var groups []string
	byGroup := map[string][]*Row{}
	for i := range r.Rows {
		g := of(&r.Rows[i])
		if byGroup[g] == nil {
			groups = append(groups, g)
		}
		byGroup[g] = append(byGroup[g], &r.Rows[i])
	}
	var out []Summary
	for _, g := range groups {
		for figure, name := range r.Figures {
			s := summary(g, name, figure, byGroup[g])
			if s.Rows+s.Unpredicted > 0 || figure < meanFigures {
				out = append(out, s)
			}
		}
	}
	return out
}

// summary is the errors of one figure of some rows.
func summary(group, name string, figure int, rows []*Row) Summary {
	s := Summary{Group: group, Figure: name}
	var signed, absolute []float64
	for _, row := range rows {
		f := &row.Figures[figure]
		if f.Reason != "" {
			s.Unpredicted++
			continue
		}
		if f.Measured == 0 {
			continue
		}
		e := 100 * f.Error()
		signed, absolute = append(signed, e), append(absolute, math.Abs(e))
		if math.Abs(e) >= math.Abs(s.Worst) {
			s.Worst, s.WorstRow = e, row.label()
		}
	}
	s.Rows = len(absolute)
	if s.Rows > 0 {
		for _, e := range absolute {
			s.Mean += e / float64(s.Rows)
		}
		s.Median, s.Bias = Median(absolute), Median(signed)
	}
	return s
}

func Median(list []float64) float64 {
	slices.SortFunc(list, cmp.Compare[float64])
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// Predicted is how many figures have a prediction.
func (r *Report) Predicted() (n int) {
	for i := range r.Rows {
		for _, f := range r.Rows[i].Figures {
			if f.Reason == "" && f.Predicted != 0 {
				n++
			}
		}
	}
	return n
}

// Answered is how many rows have a prediction of any figure.
func (r *Report) Answered() (n int) {
	for i := range r.Rows {
		if slices.ContainsFunc(r.Rows[i].Figures, func(f Figure) bool { return f.Reason == "" && f.Predicted != 0 }) {
			n++
		}
	}
	return n
}

// Reasons are why figures have no prediction, and how many: the most frequent first.
func (r *Report) Reasons() []Reason {
	counts := map[string]int{}
	for i := range r.Rows {
		if why := r.Reason(&r.Rows[i]); why != "" {
			counts[why]++
		}
	}
	var out []Reason
	for why, n := range counts {
		out = append(out, Reason{why, n})
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Text, b.Text)) })
	return out
}

// Reason is why rows have no prediction.
type Reason struct {
	Text string
	Rows int
}

// Reason is why figures of a row have no prediction: once where it is the same for all.
func (r *Report) Reason(row *Row) string {
	var reasons []string
	figures := map[string][]string{}
	answered := false
	for i := range row.Figures {
		f := &row.Figures[i]
		if f.Reason == "" {
			answered = answered || f.Predicted != 0
			continue
		}
		if figures[f.Reason] == nil {
			reasons = append(reasons, f.Reason)
		}
		figures[f.Reason] = append(figures[f.Reason], r.Figures[i])
	}
	if len(reasons) == 1 && !answered {
		return reasons[0]
	}
	var parts []string
	for _, why := range reasons {
		parts = append(parts, strings.TrimPrefix(strings.Join(figures[why], ", ")+": "+why, ": "))
	}
	return strings.Join(parts, "; ")
}

func (r *Report) WriteCSV(w io.Writer) error {
	c := csvfile.NewWriter(w)
	if err := c.Write(r.Header); err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		cells := slices.Clone(row.Cells)
		for _, f := range row.Figures {
			predicted := ""
			if f.Reason == "" && f.Predicted != 0 {
				predicted = strconv.FormatFloat(f.Predicted, 'g', 9, 64)
			}
			cells = append(cells, predicted)
		}
		for _, v := range row.More {
			text := ""
			if !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'g', 9, 64)
			}
			cells = append(cells, text)
		}
		if r.kinds {
			cells = append(cells, row.Kind, row.Note)
		}
		if err := c.Write(append(cells, r.Reason(row))); err != nil {
			return err
		}
	}
	return c.Flush()
}

// predictTable reads a CSV table with the given columns; its rows are passed on by column name.
func predictTable(ctx context.Context, name string, src io.Reader, columns []string, row func(get func(column string) string) Row) (*Report, error) {
	check := func(header []string) error {
		missing := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(header, c) })
		if len(missing) > 0 {
			return missingColumns(missing, columns)
		}
		return nil
	}
	return predictRows(ctx, name, src, check, func(_ []string, get func(string) string) Row { return row(get) })
}

func missingColumns(missing, columns []string) error {
	what := "column"
	if len(missing) > 1 {
		what = "columns"
	}
	return fmt.Errorf("no %s %s; the columns of this kind of table are %s", what, document.QuoteList(missing), strings.Join(columns, ", "))
}

// tableRow is a row of a table, read by the names of its columns.
type tableRow struct {
	cells []string
	get   func(column string) string
	line  int
}

// predicted is the row with its cells and, where it is misread, its line.
func (t *tableRow) predicted(name string, out Row) Row {
	out.Cells = t.cells
	placeMisread(out.Figures, name, t.line)
	return out
}

// predictRows reads a CSV table once check accepts its header, passing rows as cells and by column.
func predictRows(ctx context.Context, name string, src io.Reader, check func(header []string) error, row func(cells []string, get func(column string) string) Row) (*Report, error) {
	r, rows, err := readRows(ctx, name, src, check)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, rows[i].predicted(name, row(rows[i].cells, rows[i].get)))
	}
	return r, nil
}

// readRows reads a CSV table once check accepts its header.
func readRows(ctx context.Context, name string, src io.Reader, check func(header []string) error) (r *Report, rows []tableRow, err error) {
	c := csvfile.NewReader(src, csvfile.Kept)
	header, err := c.Header()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	columns := names.Header(header)
	if err := check(columns.Names()); err != nil {
		if len(header) == 1 && strings.ContainsAny(header[0], ";\t") {
			err = fmt.Errorf("%w; columns are separated by commas", err)
		}
		return nil, nil, fmt.Errorf("%s:1: %w", name, err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		cells, err := c.Read()
		switch {
		case err == io.EOF && len(rows) == 0:
			return nil, nil, fmt.Errorf("%s: the table has no rows", name)
		case err == io.EOF:
			return &Report{Header: header, Figures: []string{""}}, rows, nil
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		case len(cells) != len(header):
			return nil, nil, fmt.Errorf("%s:%d: %d cells, the header has %d", name, c.Line(), len(cells), len(header))
		}
		cells = slices.Clone(cells)
		rows = append(rows, tableRow{cells, columns.Of(cells), c.Line()})
	}
}

// placeMisread puts the file and line before the reasons of figures that could not be read.
func placeMisread(figures []Figure, name string, line int) {
	for i := range figures {
		if f := &figures[i]; f.Misread {
			f.Reason = fmt.Sprintf("%s:%d: %s", name, line, f.Reason)
		}
	}
}

// params reads "b=1;s=512;tp=8"; other names with numbers are for the reader of the table.
func params(text string) (map[string]int, error) {
	out := map[string]int{}
	for part := range strings.SplitSeq(text, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, fmt.Errorf("params: %q is not of the form name=value", part)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("params: %s stands there twice", key)
		}
		n, err := strconv.Atoi(value)
		if known := key == "b" || key == "s" || key == "tp"; known && (err != nil || n < 1) {
			return nil, fmt.Errorf("params: %s must be a whole number of at least 1, not %q", key, value)
		}
		out[key] = n
	}
	return out, nil
}

// Bounds of plausible measurements in table units, ms or requests per second: nothing in a server
// or chip takes less than a picosecond or more than thirty years.
const leastMeasured, mostMeasured = 1e-9, 1e12

func measured(text string) Figure {
	if text == "" {
		return Figure{} // not known
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(v > 0) || math.IsInf(v, 1):
		return Figure{Reason: fmt.Sprintf("%q is not a time", text), Misread: true}
	case v < leastMeasured || v > mostMeasured:
		return Figure{Reason: fmt.Sprintf("%q is no time that can have been measured: %g to %g", text, leastMeasured, mostMeasured), Misread: true}
	}
	return Figure{Measured: v}
}
