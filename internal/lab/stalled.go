package lab

import (
	"slices"
	"strconv"
	"strings"

	"throughline/internal/benchmark"
	"throughline/internal/validate"
)

// measuredLoad is what tells a stalled run: the deployment and its lengths, how many clients it had, and the TTFT that was measured.
// It holds no prediction, so that none can decide which runs predictions are judged by.
type measuredLoad struct {
	deployment string
	clients    int
	ttft       float64 // ms
}

// beyondNoise is by what factor TTFT must fall as clients are added before a run counts as stalled: twice the 13% by which nine in
// ten repeats of a run of the public table differ at most.
const beyondNoise = 1.26

// stalledRuns are those whose first tokens took longer than under more clients of the same deployment, lengths and version. More load
// makes nobody wait less, so something else than the load kept them waiting, such as a start or a connection.
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
