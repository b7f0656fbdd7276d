package validate

import (
	"fmt"
	"slices"

	"throughline/internal/table"
	"throughline/number"
)

// summed is a row of the table of errors.
type summed struct {
	Summary
	total bool
}

// SummaryColumns are the errors of groups; without errors they are empty.
func SummaryColumns[T any](of func(T) *Summary) []table.Column[T] {
	column := func(title string, rank int, cell func(*Summary) string) table.Column[T] {
		return table.Column[T]{Title: title, Rank: rank, Cell: func(row T) string {
			if s := of(row); s.Rows > 0 {
				return cell(s)
			}
			return ""
		}}
	}
	return []table.Column[T]{
		{Title: "group", Cell: func(row T) string { return of(row).Group }},
		{Title: "figure", Cell: func(row T) string { return of(row).Figure }},
		{Title: "rows", Kind: table.Count, Value: func(row T) any { return of(row).Rows }},
		{Title: "not predicted", Kind: table.Count, Rank: 3, Value: func(row T) any { return of(row).Unpredicted }},
		column("mean", 0, func(s *Summary) string { return percent(s.Mean) }),
		column("median", 1, func(s *Summary) string { return percent(s.Median) }),
		column("bias", 1, func(s *Summary) string { return signed(s.Bias) }),
		column("worst", 2, func(s *Summary) string { return signed(s.Worst) }),
		column("worst row", 4, func(s *Summary) string { return s.WorstRow }),
	}
}

// SummaryTable is the errors by group and, behind a line, by class.
func (r *Report) SummaryTable() table.Any {
	t := &table.Table[*summed]{
		Columns: ofFigures(r, SummaryColumns(func(s *summed) *Summary { return &s.Summary })),
		Line:    func(above, row *summed) bool { return row.total && !above.total },
	}
	for _, s := range r.Summaries() {
		t.Rows = append(t.Rows, &summed{Summary: s})
	}
	if len(r.Figures) > 1 || r.Summed {
		for _, s := range r.Totals() {
			t.Rows = append(t.Rows, &summed{s, true})
		}
	}
	return t
}

// ofFigures leaves out which figure a row is of, where there is but one.
func ofFigures[T any](r *Report, columns []table.Column[T]) []table.Column[T] {
	if len(r.Figures) > 1 {
		return columns
	}
	return slices.DeleteFunc(columns, func(c table.Column[T]) bool { return c.Title == "figure" })
}

// MissTable is the rows that are furthest off, at most n of each figure.
func (r *Report) MissTable(n int) table.Any {
	return table.Of(ofFigures(r, []table.Column[*Miss]{
		{Title: "furthest off in", Rank: 1, Cell: func(m *Miss) string { return m.Group }},
		{Title: "row", Cell: func(m *Miss) string { return m.Row }},
		{Title: "figure", Cell: func(m *Miss) string { return m.Figure }},
		{Title: "measured", Cell: func(m *Miss) string { return number.Plain(m.Measured, 4) }},
		{Title: "predicted", Cell: func(m *Miss) string { return number.Plain(m.Predicted, 4) }},
		{Title: "error", Cell: func(m *Miss) string { return signed(100 * m.Error()) }},
	}), r.Misses(n))
}

// GainTable is what drafts do to runs that were made with and without them.
func (r *Report) GainTable() table.Any {
	list := r.DraftGains()
	pairs := len(list)
	if pairs > 0 {
		measured, predicted := MedianGain(list)
		list = append(list, DraftGain{Name: fmt.Sprintf("median of %d", pairs), Measured: measured, Predicted: predicted})
	}
	t := table.Of([]table.Column[*DraftGain]{
		{Title: "runs with and without drafts", Cell: func(g *DraftGain) string { return g.Name }},
		{Title: "gain", Cell: func(g *DraftGain) string { return number.Plain(g.Measured, 3) }},
		{Title: "predicted", Cell: func(g *DraftGain) string { return number.Plain(g.Predicted, 3) }},
		{Title: "error", Cell: func(g *DraftGain) string { return signed(100 * (g.Predicted/g.Measured - 1)) }},
	}, list)
	t.Line = func(_, row *DraftGain) bool { return row == t.Rows[pairs] }
	return t
}

// CoverageTable is how often the truth lies in the bands of predictions.
func (r *Report) CoverageTable() table.Any {
	return table.Of(coverageColumns, Covered(r.Samples()))
}

var coverageColumns = func() (out []table.Column[*Coverage]) {
	for i, c := range []table.Column[*Coverage]{
		{Title: "band of"}, {Title: "confidence"}, {Title: "rows", Kind: table.Count}, {Title: "inside"},
		{Title: "narrowest third", Rank: 2}, {Title: "middle", Rank: 2}, {Title: "widest", Rank: 2}, {Title: "median band", Rank: 1},
	} {
		c.Cell = func(row *Coverage) string { return row.Cells()[i] }
		out = append(out, c)
	}
	return out
}()

// runSpread is the errors of one figure over runs.
type runSpread struct {
	name         string
	runs         int
	median, high float64
}

// SpreadTable is the errors of each figure over runs.
func (r *RequestsReport) SpreadTable() table.Any {
	var list []runSpread
	for _, name := range r.MetricNames() {
		s := runSpread{name: name}
		s.median, s.high, s.runs = r.Spread(name)
		list = append(list, s)
	}
	return table.Of([]table.Column[*runSpread]{
		{Title: "figure", Cell: func(s *runSpread) string { return s.name }},
		{Title: "runs", Kind: table.Count, Value: func(s *runSpread) any { return s.runs }},
		{Title: "median error", Cell: func(s *runSpread) string { return fmt.Sprintf("%.2f%%", s.median) }},
		{Title: "90th percentile", Cell: func(s *runSpread) string { return fmt.Sprintf("%.2f%%", s.high) }},
	}, list)
}

func signed(v float64) string { return fmt.Sprintf("%+.1f%%", v) }

func percent(v float64) string { return fmt.Sprintf("%.1f%%", v) }
