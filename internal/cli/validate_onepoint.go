package cli

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/internal/report"
	"throughline/internal/validate"
)

// onePointTable is what one measured run of each deployment tells of its others.
func onePointTable(r *validate.OnePointReport) *report.Grid {
	g := &report.Grid{Columns: []report.Column{
		{Title: "fitted to one run"}, {Title: "other runs"}, {Title: "rows", Right: true}, {Title: "TPOT", Right: true}, {Title: "TTFT", Right: true},
	}}
	last := ""
	for _, row := range r.Rows {
		name := row.Fitted
		if name == last {
			name = ""
		} else if last != "" {
			g.Separator()
		}
		last = row.Fitted
		g.Row(name, row.Others, strconv.Itoa(row.Rows), percent(row.TPOT), percent(row.TTFT))
	}
	return g
}

// onePointNotes say how that was found.
func onePointNotes(r *validate.OnePointReport) string {
	return fmt.Sprintf("\nMedians of the absolute error on the other runs of %d deployments, %d runs in all, each fitted to its run at mid concurrency. "+
		"How far a number may move was chosen on other models, systems and engines than it is judged on; on all of them that would be "+
		"(scales as logarithms, the first token in seconds; in brackets the share that is left at other lengths):\n- %s\n\n"+
		"calibrate serving takes: %s\n", r.Deployments, r.Runs, strings.Join(r.Chosen, "\n- "), r.BuiltIn)
}
