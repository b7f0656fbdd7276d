package difference

import (
	"cmp"
	"fmt"
	"strings"

	"throughline/internal/table"
)

// columns of both sides; files have all digits.
var columns = []table.Column[*Row]{
	{Name: "field", Value: func(r *Row) any { return r.Field }},
	{Name: "a", Title: "A", Kind: table.Number, Format: "%g", Digits: 4, Value: func(r *Row) any { return r.A }},
	{Name: "b", Title: "B", Kind: table.Number, Format: "%g", Digits: 4, Value: func(r *Row) any { return r.B }},
	{Name: "change", Kind: table.Number, Format: "%g", Value: func(r *Row) any { return r.Change }, Cell: func(r *Row) string { return Percent(r.Change) }},
}

func (d *Difference) Table() *table.Table[*Row] { return table.Of(columns, d.Rows) }

// Text describes for people what differs, and why one is better.
func (d *Difference) Text(v table.View) string {
	out := v.Wrap(strings.Join(d.Why, "\n")) + "\n\n" + v.Wrap(fmt.Sprintf("A: %s\nB: %s", d.A, d.B)) + "\n"
	numbers := table.Table[*Row]{Columns: columns}
	for i := range d.Rows {
		r := &d.Rows[i]
		switch {
		case !r.Differs():
		case isText(r.A) || isText(r.B): // words may be long
			out += v.WrapUnder(r.Field+": ", fmt.Sprintf("A %s, B %s", cmp.Or(numbers.Text(1, r), "none"), cmp.Or(numbers.Text(2, r), "none"))) + "\n"
		default:
			numbers.Rows = append(numbers.Rows, r)
		}
	}
	if numbers.Len() > 0 {
		out += "\n" + numbers.Render(v) + "\n"
	}
	return out
}

func isText(v any) bool { _, ok := v.(string); return ok }
