package lab

import (
	"slices"
	"strconv"
	"strings"

	"throughline/internal/benchmark"
	"throughline/internal/validate"
)

// measuredLoad is what identifies a stalled run. It holds no prediction, so that none can decide
// which runs predictions are judged by.
type measuredLoad struct {
	deployment string
	clients    int
	ttft       float64 // ms
}

// beyondNoise is the factor by which TTFT must fall as clients are added for a run to count as
// stalled: twice the 13% that bounds nine in ten repeats of a run in the public table.
const beyondNoise = 1.26

// stalledRuns had a longer TTFT than with more clients of the same deployment, lengths and version.
// Load cannot explain that; a start or a connection may.
func stalledRuns(runs []measuredLoad) []bool {
	out := make([]bool, len(runs))
	for i, r := range runs {
		out[i] = r.clients > 0 && slices.ContainsFunc(runs, func(other measuredLoad) bool {
			return other.deployment == r.deployment && other.clients > r.clients && other.ttft > 0 && r.ttft > beyondNoise*other.ttft
		})
	}
	return out
}

// loads are the rows of a table as far as stalls are told by them.
func (t *Table) loads(r *validate.Report) []measuredLoad {
	out := make([]measuredLoad, len(t.rows))
	for i := range t.rows {
		of := t.rows[i]
		var deployment []string
		for _, column := range benchmark.Deployed {
			deployment = append(deployment, of.Get(column))
		}
		drafts, _ := of.Drafts()
		deployment = append(deployment, strconv.FormatBool(drafts), of.Cell("backend_version"))
		clients, _ := strconv.ParseFloat(of.Get("concurrency"), 64)
		out[i] = measuredLoad{strings.Join(deployment, "\x00"), int(clients), r.Rows[i].Figures[ttft].Measured}
	}
	return out
}
