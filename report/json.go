package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes an array with an object per run. Its keys are the field names of the CSV tables; mode and reasons, if
// any, come besides, and on request what was ruled out.
func WriteJSON(w io.Writer, columns []Column, refusals bool) error {
	runs := make([]map[string]any, len(columns))
	for i := range columns {
		c := &columns[i]
		run := map[string]any{"mode": c.Run.Mode}
		for _, t := range Tables() {
			for _, cat := range t.categories {
				for j := range cat.fields {
					// What one table leaves empty, another may know.
					if v := cat.fields[j].value(c); v != nil || run[cat.fields[j].name] == nil {
						run[cat.fields[j].name] = v
					}
				}
			}
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
