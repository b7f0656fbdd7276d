package published

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"

	"throughline/internal/question"
	"throughline/internal/table"
)

// described are the columns that rows have besides those of their deployments.
var described = []string{"source", "url", "hardware", "metric", "value", "unit", "evidence", "notes", "unpredictable", "class", "lab_predicted", "lab_reason"}

// WriteCSV writes all rows in the columns of the program, which predicts those that one question
// states; why it does not predict the others is unpredictable. Those it reads anyway are left out.
func (t *Table) WriteCSV(w io.Writer) error {
	var rows []map[string]string
	settings := map[string]bool{"model": true}
	for i := range t.Rows {
		if t.Rows[i].plain {
			continue
		}
		cells := t.Rows[i].canonical()
		for column := range cells {
			if !slices.Contains(described, column) {
				settings[column] = true
			}
		}
		rows = append(rows, cells)
	}
	out := table.Table[map[string]string]{Rows: rows}
	for _, column := range append(slices.Sorted(maps.Keys(settings)), described...) {
		out.Columns = append(out.Columns, table.TextColumn(column, func(cells map[string]string) string { return cells[column] }))
	}
	return out.Write(w, table.CSV)
}

// canonical is a row by the columns of the program.
func (r *Row) canonical() map[string]string {
	out := map[string]string{"class": string(r.Class), "lab_reason": r.Reason, "unpredictable": r.Reason}
	for _, column := range []string{"source", "url", "model", "hardware", "metric", "value", "unit", "evidence", "notes"} {
		out[column] = r.column(column)
	}
	if r.Predicted > 0 {
		out["lab_predicted"] = strconv.FormatFloat(r.Predicted, 'g', 9, 64)
	}
	c := r.stated
	if c == nil {
		out["unpredictable"] = cmp.Or(r.Reason, "no single question states what the laboratory predicts here: "+cmp.Or(r.asks.String(), string(r.Class)))
		return out
	}
	question.RunCells(&c.point, out)
	out["hardware"], out["metric"], out["unit"] = out["system"], metrics[c.asks], c.unit
	out["tp"] = strconv.Itoa(c.point.TP) // also where it is the usual one: it says that there is a layout
	delete(out, "system")
	if c.point.Context > 0 {
		out["context"] = strconv.Itoa(c.point.Context)
	}
	return out
}
