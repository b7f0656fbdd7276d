package report

import (
	"fmt"
	"math"

	"throughline/internal/advice"
	"throughline/internal/table"
	"throughline/number"
	"throughline/workload"
)

// capacityColumns are the additional columns of simulated rows.
var capacityColumns = []fieldColumn{
	{"GPUs", "num_procs", 0, "", table.Plain},
	{"TTFT p99", "ttft_p99_ms", 0, "", fixed(0)},
	{"TPOT p95", "tpot_p95_ms", 0, "", fixed(1)},
	{"headroom", "headroom", 1, "", inPercent},
	{"breaks first", "breaks_first", 4, "", table.Plain},
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
	writef("%s requests/s (%s), %s%s, %s %d GPUs", number.Plain(d.Rate, 4), d, goal("TTFT", d.TTFT), goal(" and TPOT", d.TPOT), what, best.Procs)
	ms := func(s float64) string { return number.Plain(1e3*s, 3) }
	writef("first row: p99 TTFT %s ms (95%% interval %s to %s), p99 TPOT %s ms (%s to %s), %.0f requests under way; %s", ms(c.TTFT.P99), ms(c.TTFT.P99Low), ms(c.TTFT.P99High),
		ms(c.TPOT.P99), ms(c.TPOT.P99Low), ms(c.TPOT.P99High), math.Round(c.Concurrency), o.Demand.Method(c))
}

func goal(of string, l workload.Limit) string {
	if l.Seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s within %s ms", of, l.Statistic(), number.Plain(1e3*l.Seconds, 4))
}
