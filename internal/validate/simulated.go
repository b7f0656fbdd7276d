package validate

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"throughline/number"
	"throughline/serving/simulate"
	"throughline/workload"
)

const (
	// mostSimulated bounds the requests of a run, so that a table takes minutes at most. Each
	// client sends at least as many as usual: the simultaneous first ones are a share of the mean.
	mostSimulated = 20000
	// openSeconds are how long requests come at a rate where their number is not said: what MLPerf
	// asks for (github.com/mlcommons/inference, loadgen/mlperf.conf, min_duration).
	openSeconds = 600
)

// endless reports whether requests come at a rate, and no one says how many.
func (r *servingRun) endless() bool { return r.rate() > 0 && r.q.Traffic.Requests == 0 }

func (r *servingRun) traffic() (workload.Traffic, error) {
	t, err := r.q.ReadTraffic(func(string) bool { return true })
	t.Rate, t.Requests = r.q.Traffic.Rate, r.q.Traffic.Requests
	if t.Clients = r.Load.Clients; r.rate() > 0 {
		t.Clients = r.q.Concurrency
	}
	if r.endless() {
		t.Requests = int(math.Ceil(r.rate() * openSeconds))
	} else if t.Requests == 0 {
		t.Requests = int(math.Round(cmp.Or(r.Load.Requests, usualRequests) * float64(max(1, t.Clients))))
	}
	t.Repeated = r.Load.Repeated
	return t, err
}

// overload says by how much requests come faster than the servers answer them; empty: not.
func (r *servingRun) overload(a *answer) string {
	if r.rate() == 0 || r.q.Concurrency > 0 {
		return ""
	}
	if seen := (&simulate.Seen{Summary: &a.record.Summary}); !seen.Saturated() {
		return ""
	}
	return fmt.Sprintf("overloaded: %s requests/s come and %s are answered: the first token takes the longer, the longer the run",
		number.Plain(r.rate(), 3), number.Plain(a.requests(), 3))
}

// mostThinned is how many servers one may stand for.
const mostThinned = 1024

// thin simulates an equal part of the servers under the same part of the requests where too many
// come at a rate, so that they come for as long; beyond that, as of clients, the first count.
func thin(t *workload.Traffic, o *simulate.Options) (parts int) {
	parts = 1
	for by := 2; by <= mostThinned && t.Clients == 0 && t.Requests > mostSimulated; {
		if o.Thin(by) {
			t.Rate, t.Requests, parts = t.Rate/float64(by), t.Requests/by, parts*by
			continue
		}
		by++
	}
	t.Requests = min(t.Requests, max(mostSimulated, usualRequests*t.Clients))
	return parts
}

// simulated is a run, request by request, or one of its equal parts.
func simulated(ctx context.Context, r *servingRun) (record *simulate.Record, parts int, err error) {
	t, err := r.traffic()
	if err != nil {
		return nil, 1, err
	}
	input, output := t.Lengths()
	o, err := simulate.Of(&r.Served, workload.Lengths{Input: input, Output: output}, &simulate.Settings{Cold: r.kind() == coldTTFT})
	if err != nil {
		return nil, 1, err
	}
	parts = thin(&t, &o)
	record, err = simulate.Run(ctx, o, t.Source())
	return record, parts, err
}
