package report

import (
	"fmt"
	"math"

	"throughline/internal/advice"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/number"
	"throughline/serving/simulate"
	"throughline/workload"
)

// capacityColumns are the additional columns of simulated rows.
var capacityColumns = []fieldColumn{
	{title: "GPUs", field: "num_procs", show: table.Plain},
	askedTTFT: {title: "TTFT", field: "TTFT(s)", cell: func(r *result.Record) string { return verdictCell(r, "TTFT") }},
	askedTPOT: {title: "TPOT", field: "TPOT(s)", cell: func(r *result.Record) string { return verdictCell(r, "TPOT") }},
	{title: "headroom", field: "headroom", rank: 1, show: inPercent},
	{title: "breaks first", field: "breaks_first", rank: 4, show: table.Plain},
}

// Indices of the columns of the statistics that were asked for.
const (
	askedTTFT = 1
	askedTPOT = 2
)

// verdictCell is the statistic of a figure that a limit bounds; without a limit, its 99th
// percentile.
func verdictCell(r *result.Record, figure string) string {
	for _, v := range r.Verdicts() {
		if v.Figure == figure {
			return result.Mark(v.Holds()) + " " + number.Banded(v.Value, v.Band)
		}
	}
	return ""
}

// chanceText never claims certainty.
func chanceText(v any) string {
	switch p := v.(float64); {
	case p > 0.99:
		return ">99%"
	case p < 0.01:
		return "<1%"
	}
	return inPercent(v)
}

func inPercent(v any) string { return fmt.Sprintf("%.0f%%", 100*v.(float64)) }

// capacity describes the requests that the rows hold, and how that was found.
func capacity(writef func(format string, args ...any), o *advice.Options, best *advice.Candidate) {
	c, d := best.Capacity, o.Demand
	if c == nil {
		return
	}
	what := "held on"
	if o.Objective == advice.MinGPUs {
		what = "held by the fewest GPUs of each layout; the first row by"
	}
	writef("%s requests/s (%s), %s%s, %s %d GPUs", number.Plain(d.Rate, 4), d, goalText("TTFT", d.TTFT), goalText(" and TPOT", d.TPOT), what, best.Procs)
	times := func(p *simulate.Percentiles) string {
		return fmt.Sprintf("%s (%s to %s from run to run)", number.Time(p.P99, 3), number.Time(p.P99Low, 3), number.Time(p.P99High, 3))
	}
	writef("first row: p99 TTFT %s, p99 TPOT %s, %.0f requests under way; %s", times(&c.TTFT), times(&c.TPOT), math.Round(c.Concurrency), o.Demand.Method(c))
}

func goalText(of string, l workload.Limit) string {
	if l.Seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s within %s", of, l.Statistic(), number.Time(l.Seconds, 4))
}
