package published

import (
	"cmp"
	"slices"
	"strings"

	"throughline/internal/validate"
)

// Summary is the errors of a group of figures.
type Summary struct {
	Class Class
	validate.Summary
	Near, Far int // predicted to within 10 and 20%; 3 points more if read off charts
}

// Summaries are the errors by class and group of all that is compared.
func (t *Table) Summaries() (out []Summary) {
	for _, class := range Classes {
		if class == NotCompared || class == Order {
			continue
		}
		r := t.Of(class)
		slices.SortStableFunc(r.Rows, func(a, b validate.Row) int { return strings.Compare(a.Group, b.Group) })
		for _, s := range append(r.Summaries(), total(r)...) {
			out = append(out, Summary{Class: class, Summary: s, Near: within(r, s.Group, 0.1), Far: within(r, s.Group, 0.2)})
		}
	}
	return out
}

// total is the errors of a whole class.
func total(r *validate.Report) []validate.Summary {
	for i := range r.Rows {
		r.Rows[i].Class = allGroups
	}
	return r.Totals()
}

const allGroups = "all"

// within counts the figures of a group that are predicted so well.
func within(r *validate.Report, group string, limit float64) (n int) {
	for i := range r.Rows {
		row := Row{Cells: r.Rows[i].Cells, Value: r.Rows[i].Figures[0].Measured, Predicted: r.Rows[i].Figures[0].Predicted}
		if (group == allGroups || r.Rows[i].Group == group) && row.Has() && row.Within(limit) {
			n++
		}
	}
	return n
}

// Side is a part of a layer as published and as predicted, in milliseconds. 0: not there.
type Side struct{ Published, Predicted float64 }

// Layer is the parts of a layer of one profile.
type Layer struct {
	Name  string
	Parts [partCount]Side
}

// Layers are the breakdowns, side by side.
func (t *Table) Layers() []Layer {
	var out []Layer
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Class != Breakdown || row.asks != layerPart {
			continue
		}
		name := row.column("parallelism")
		at := slices.IndexFunc(out, func(l Layer) bool { return l.Name == name })
		if at < 0 {
			at, out = len(out), append(out, Layer{Name: name})
		}
		metric := partOf.FindStringSubmatch(row.column("metric"))[1]
		if part, ok := partNames[metric]; ok {
			out[at].Parts[part] = Side{row.Value, row.Predicted}
		}
	}
	return out
}

// Ratio is one figure over another, published and predicted; Predicted is 0 if either has none.
type Ratio struct {
	Name                 string
	Published, Predicted float64
}

// Error of the predicted ratio.
func (r *Ratio) Error() float64 { return r.Predicted/r.Published - 1 }

// pairs are texts by which two rows of a source differ, to show the effect of one change.
var pairs = []struct{ with, without string }{
	{"TBO on", "TBO off"}, {" + SBO", ""},
	{"MTP 3-token topk1, accept len 2.18", "overlap sched, no MTP"}, {"MTP 4-token topk1, accept len 2.44", "overlap sched, no MTP"},
}

// Ratios are the rows that are ratios, and those of rows that differ in one thing.
func (t *Table) Ratios() []Ratio {
	var out []Ratio
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Class == Relation {
			out = append(out, Ratio{r.label, r.Value, r.Predicted})
		}
	}
	for _, p := range pairs {
		for i := range t.Rows {
			r := &t.Rows[i]
			other := t.partner(r, p.with, p.without)
			if other == nil || !r.Has() || !other.Has() {
				continue
			}
			name := strings.TrimPrefix(p.with, " + ") + ": " + r.label
			out = append(out, Ratio{name, r.Value / other.Value, r.Predicted / other.Predicted})
		}
	}
	return out
}

// partner is the row that differs in one text of its layout.
func (t *Table) partner(r *Row, with, without string) *Row {
	layout := r.column("parallelism")
	if r.Class != Target || !strings.Contains(layout, with) {
		return nil
	}
	want := inputs{r.Cells}.with("parallelism", strings.Replace(layout, with, without, 1))
	for i := range t.Rows {
		if other := &t.Rows[i]; other.Class == Target && want.same(inputs{other.Cells}) {
			return other
		}
	}
	return nil
}

// same reports whether two rows state the same, whatever their figures and how these were found.
func (in inputs) same(other inputs) bool {
	for i, column := range Columns {
		if column != "value" && column != "evidence" && in.cells[i] != other.cells[i] {
			return false
		}
	}
	return true
}

// Reason is why rows are not compared or not predicted.
type Reason struct {
	Class Class
	Text  string
	Rows  int
}

// Reasons are why rows are not compared or have no prediction, the most frequent first.
func (t *Table) Reasons() []Reason {
	var out []Reason
	for i := range t.Rows {
		row := &t.Rows[i]
		text := row.Reason
		if text == "" && row.Class != NotCompared && row.Class != Order && !row.Has() {
			text = notANumber(row.column("value"))
		}
		if text == "" {
			continue
		}
		at := slices.IndexFunc(out, func(r Reason) bool { return r.Class == row.Class && r.Text == text })
		if at < 0 {
			at, out = len(out), append(out, Reason{Class: row.Class, Text: text})
		}
		out[at].Rows++
	}
	slices.SortStableFunc(out, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(slices.Index(Classes, a.Class), slices.Index(Classes, b.Class)), cmp.Compare(b.Rows, a.Rows))
	})
	return out
}
