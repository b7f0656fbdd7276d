package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes an array with an object per run: its mode, and an object per table whose keys are the field names of
// the CSV; reasons, if a phase has no plan, and on request what was ruled out.
func WriteJSON(w io.Writer, columns []Column, refusals bool) error {
	runs := make([]map[string]any, len(columns))
	for i := range columns {
		c := &columns[i]
		run := map[string]any{"mode": c.Run.Mode}
		for _, t := range Tables() {
			fields := map[string]any{}
			for _, cat := range t.categories {
				for j := range cat.fields {
					fields[cat.fields[j].name] = cat.fields[j].value(c)
				}
			}
			run[t.Name] = fields
		}
		if refusals {
			run["rejected"] = c.refusals()
		}
		if reasons := c.Reasons(); len(reasons) > 0 {
			run["reasons"] = reasons
		}
		runs[i] = run
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(runs)
}
