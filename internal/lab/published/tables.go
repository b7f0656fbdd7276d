package published

import (
	"fmt"
	"slices"

	"throughline/internal/table"
	"throughline/internal/validate"
	"throughline/number"
)

func (t *Table) SummaryTable() table.Any {
	columns := validate.SummaryColumns(func(s *Summary) *validate.Summary { return &s.Summary })
	at := func(title string) int {
		return slices.IndexFunc(columns, func(c table.Column[*Summary]) bool { return c.Title == title })
	}
	within := func(title string, n func(*Summary) int) table.Column[*Summary] {
		return table.Column[*Summary]{Title: title, Kind: table.Count, Cell: func(s *Summary) string {
			if s.Rows == 0 {
				return ""
			}
			return fmt.Sprint(n(s))
		}}
	}
	columns = slices.Insert(columns, at("worst"), within("within 10%", func(s *Summary) int { return s.Near }), within("within 20%", func(s *Summary) int { return s.Far }))
	columns[at("figure")] = columns[at("group")]
	columns[at("group")] = table.Column[*Summary]{Title: "class", Cell: func(s *Summary) string { return string(s.Class) }}
	return table.Of(columns, t.Summaries())
}

func (t *Table) LayerTable() table.Any {
	columns := []table.Column[*Layer]{{Title: "ms per layer, published / predicted", Cell: func(l *Layer) string { return l.Name }}}
	for i, name := range PartNames {
		columns = append(columns, table.Column[*Layer]{Title: name, Rank: i, Cell: func(l *Layer) string {
			if p := l.Parts[i]; p.Published > 0 {
				return number.Plain(p.Published, 3) + " / " + number.Plain(p.Predicted, 3)
			}
			return ""
		}})
	}
	return table.Of(columns, t.Layers())
}

func (t *Table) RatioTable() table.Any {
	predicted := func(title string, cell func(*Ratio) string) table.Column[*Ratio] {
		return table.Column[*Ratio]{Title: title, Cell: func(r *Ratio) string {
			if r.Predicted > 0 {
				return cell(r)
			}
			return ""
		}}
	}
	return table.Of([]table.Column[*Ratio]{
		{Title: "ratio", Cell: func(r *Ratio) string { return r.Name }},
		{Title: "published", Cell: func(r *Ratio) string { return number.Plain(r.Published, 3) }},
		predicted("predicted", func(r *Ratio) string { return number.Plain(r.Predicted, 3) }),
		predicted("error", func(r *Ratio) string { return fmt.Sprintf("%+.1f%%", 100*r.Error()) }),
	}, t.Ratios())
}

// OrderTable is what is said to be faster than what, and the ratio as predicted.
func (t *Table) OrderTable() table.Any {
	predicted := func(title string, cell func(*AsPublished) string) table.Column[*AsPublished] {
		return table.Column[*AsPublished]{Title: title, Cell: func(a *AsPublished) string {
			if a.Ratio > 0 {
				return cell(a)
			}
			return ""
		}}
	}
	return table.Of([]table.Column[*AsPublished]{
		{Title: "faster than", Cell: func(a *AsPublished) string { return a.Name }},
		predicted("predicted", func(a *AsPublished) string { return number.Plain(a.Ratio, 3) }),
		predicted("", func(a *AsPublished) string {
			if a.Holds() {
				return "as published"
			}
			return "the other way"
		}),
	}, t.Orders())
}
