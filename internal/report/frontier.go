package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/internal/axis"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/internal/table"
)

// findFrontier marks the rows that no other beats.
func (r *Scan) findFrontier() {
	var points []*sweep.Point
	for i := range r.rows {
		row := &r.rows[i]
		points = append(points, &sweep.Point{Number: i, Values: row.points[0].Values, Figures: row.Figures, Meets: row.Meets && (row.Fits || len(r.Of.Aims) > 0)})
	}
	front, aims := sweep.Frontier(r.Of, points)
	if len(aims) < 2 {
		return
	}
	r.aims = aims
	for _, p := range front {
		r.rows[p.Number].OnFrontier = true
	}
}

// front are the rows of the frontier, from the best by the first figure on.
func (r *Scan) front() (out []*scanRow) {
	for i := range r.rows {
		if r.rows[i].OnFrontier {
			out = append(out, &r.rows[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *scanRow) int {
		first := cmp.Compare(asNumber(b.figure(r.aims[0])), asNumber(a.figure(r.aims[0])))
		if len(r.Of.Aims) > 0 && r.Of.Aims[0].Low {
			first = -first
		}
		return first
	})
	return out
}

// lacking are the figures of the frontier that no point has, and what they are.
func (r *Scan) lacking() string {
	var list []string
	for _, k := range r.aims {
		f := &r.figures[k]
		if slices.ContainsFunc(r.rows, func(row scanRow) bool { return row.figure(k) != nil }) {
			continue
		}
		text := f.Title
		if about := f.About(); about != "" {
			text += " (" + about + ")"
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "all of " + strings.Join(r.aimed(), " and ")
	}
	return strings.Join(list, " and ")
}

// frontierText says which points no other beats, from one end to the other.
func (r *Scan) frontierText() string {
	front := r.front()
	if len(front) == 0 && len(r.Of.Aims) > 0 && r.Of.Sensitivity() == "" && len(r.rows) > 0 {
		return "There is no frontier: no point has " + r.lacking() + "."
	}
	if len(front) == 0 || r.Of.Sensitivity() != "" || len(r.Of.Aims) == 0 && (len(front) < 2 || !r.chooses() || len(r.byLoad()) > 1) {
		return ""
	}
	points := len(r.rows)
	if !r.repeated() {
		points = len(r.Points) // some of which may be the same
	}
	text := fmt.Sprintf("Frontier: %d of %d points are beaten by no other in %s", len(front), points, strings.Join(r.aimed(), " and "))
	if len(front) > 1 {
		text += fmt.Sprintf(", from %s to %s", r.where(front[0]), r.where(front[len(front)-1]))
	}
	return text + "."
}

// aimed are the titles of the figures that the frontier is of.
func (r *Scan) aimed() (names []string) {
	for _, k := range r.aims {
		names = append(names, r.figures[k].Title)
	}
	return names
}

// shown is the table for a terminal: where a frontier is asked for, its rows.
func (r *Scan) shown() *table.Table[*scanRow] {
	if len(r.Of.Aims) < 2 {
		return r.Table()
	}
	columns := r.columns()
	for i := range columns {
		for _, k := range r.aims {
			if columns[i].Name == r.figures[k].Name {
				columns[i].Rank = 0 // what is asked for is never left out
			}
		}
	}
	return (&table.Table[*scanRow]{Columns: columns, Rows: r.front()}).Filled()
}

// Why says of each row why it has no answer, or none that is shown; empty: it has one.
func (r *Scan) Why() (out []string) {
	for i := range r.rows {
		row, why := &r.rows[i], ""
		switch {
		case row.Figures == nil:
			why = row.Reason
		case !row.Meets:
			why = "it does not meet " + r.conditions()
		}
		out = append(out, why)
	}
	return out
}

func (r *Scan) conditions() string {
	var list []string
	for i := range r.Of.Where {
		list = append(list, r.Of.Where[i].String())
	}
	return strings.Join(list, " and ")
}

// influence is how much an axis matters for a figure.
type influence struct {
	figure, axis string
	axis.Influence
}

// Influences are those of every axis for the figures that are asked for; nil: none is asked for.
func (r *Scan) Influences() (out []*influence) {
	figures := []int{r.Objective()}
	if len(r.Of.Aims) > 0 {
		figures = nil
		for _, a := range r.Of.Aims {
			figures = append(figures, sweep.Find(r.Of.Of, a.Figure))
		}
	}
	for _, k := range figures {
		values := make([]float64, r.Of.Len())
		for i := range values {
			values[i] = math.NaN()
		}
		for _, p := range r.Points {
			if p.Figures != nil {
				values[p.Number] = asNumber(p.Figures[k])
			}
		}
		names := r.Of.Groups()
		for i, one := range r.Of.Influences(values) {
			out = append(out, &influence{r.figures[k].Title, names[i], one})
		}
	}
	slices.SortStableFunc(out, func(a, b *influence) int {
		if a.figure != b.figure {
			return 0
		}
		return cmp.Compare(b.Size+b.Total, a.Size+a.Total)
	})
	return out
}

func influenceText(s *scan.Scan) string {
	if s.Sensitivity() == axis.Morris {
		return "What matters: effect is how far the figure moves where an axis moves over its whole range; the deviation is high where that depends on the other axes."
	}
	return "What matters: first is the share of the variance that an axis explains by itself, total that with all others."
}

// influenceTable has a row for each figure and axis.
func influenceTable(s *scan.Scan, list []*influence) *table.Table[*influence] {
	number := func(name, title string, of func(*influence) float64) table.Column[*influence] {
		return table.Column[*influence]{Name: name, Title: title, Kind: table.Number, Digits: 3, Value: func(i *influence) any {
			if v := of(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
				return v
			}
			return nil
		}}
	}
	columns := []table.Column[*influence]{
		table.TextColumn("figure", func(i *influence) string { return i.figure }),
		table.TextColumn("axis", func(i *influence) string { return i.axis }),
	}
	if s.Sensitivity() == axis.Morris {
		columns = append(columns, number("effect", "effect", func(i *influence) float64 { return i.Size }), number("effect_ci95", "±", func(i *influence) float64 { return i.SizeWidth }),
			number("mean", "with sign", func(i *influence) float64 { return i.Mean }), number("deviation", "deviation", func(i *influence) float64 { return i.Deviation }))
	} else {
		columns = append(columns, number("first", "first", func(i *influence) float64 { return i.First }), number("first_ci95", "±", func(i *influence) float64 { return i.FirstWidth }),
			number("total", "total", func(i *influence) float64 { return i.Total }), number("total_ci95", "±", func(i *influence) float64 { return i.TotalWidth }))
	}
	columns = append(columns, table.CountColumn("runs", func(i *influence) int { return i.Runs }))
	return &table.Table[*influence]{Columns: columns, Rows: list}
}
