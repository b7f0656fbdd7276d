package validate

import (
	"context"
	"math"

	"throughline/serving/simulate"
	"throughline/workload"
)

const (
	// mostSimulated bounds the requests of a run, so that a table takes minutes at most. Each
	// client sends at least fewestRequests, lest the simultaneous first ones set the median.
	mostSimulated  = 20000
	fewestRequests = 5
)

// traffic is the requests of a run.
func (r *servingRun) traffic() (workload.Traffic, error) {
	t, err := r.q.ReadTraffic(func(string) bool { return true })
	t.Rate, t.Requests = r.q.Traffic.Rate, r.q.Traffic.Requests
	if t.Clients = r.Load.Clients; r.rate() > 0 {
		t.Clients = r.q.Concurrency
	}
	if t.Requests == 0 {
		per := r.Load.Requests
		if per == 0 {
			per = usualRequests
		}
		t.Requests = int(math.Round(per * float64(max(1, t.Clients))))
	}
	t.Requests = min(t.Requests, max(mostSimulated, fewestRequests*t.Clients))
	return t, err
}

// simulated is a run, request by request.
func simulated(ctx context.Context, r *servingRun) (*simulate.Record, error) {
	t, err := r.traffic()
	if err != nil {
		return nil, err
	}
	input, output := t.Lengths()
	o, err := simulate.Of(&r.Served, workload.Lengths{Input: input, Output: output}, &simulate.Settings{Cold: true})
	if err != nil {
		return nil, err
	}
	return simulate.Run(ctx, o, t.Source())
}
