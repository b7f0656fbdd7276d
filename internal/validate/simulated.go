package validate

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"throughline/serving/simulate"
	"throughline/workload"
)

const (
	// usualRequests of each client are simulated where neither the row nor its benchmark says how many there were.
	usualRequests = 10
	// mostSimulated bounds the requests of a run, so that a table takes minutes at most. Clients have at least fewestRequests
	// each: the first of them all start at once, and should not be what the median is about.
	mostSimulated  = 20000
	fewestRequests = 5
)

// traffic is the requests of a run.
func (r *servingRun) traffic() (workload.Traffic, error) {
	t := workload.Traffic{Clients: r.load.Clients, Rate: math.Inf(1), Arrival: r.arrival, Requests: r.requests, Seed: r.seed}
	if r.rate > 0 {
		t.Rate = r.rate
	}
	if t.Requests == 0 {
		per := r.load.Requests
		if per == 0 {
			per = usualRequests
		}
		t.Requests = int(math.Round(per * float64(max(1, t.Clients))))
	}
	t.Requests = min(t.Requests, max(mostSimulated, fewestRequests*t.Clients))
	if file, ok := strings.CutPrefix(r.spread, "trace:"); ok {
		var err error
		t.Recorded, err = workload.ReadLengths(file)
		return t, err
	}
	var err error
	if t.Input, err = workload.ParseLength(r.spread, r.drawn.Input); err != nil {
		return t, err
	}
	t.Output, err = workload.ParseLength(r.spread, r.drawn.Output)
	return t, err
}

// simulated is a run, request by request.
func simulated(ctx context.Context, r *servingRun) (*simulate.Record, error) {
	t, err := r.traffic()
	if err != nil {
		return nil, err
	}
	input, output := t.Lengths()
	o, err := simulate.Of(&r.deployment, workload.Lengths{Input: input, Output: output}, &simulate.Settings{Cold: true})
	if err != nil {
		return nil, err
	}
	return simulate.Run(ctx, o, t.Source())
}

// gammaWords are how tables say that gaps between requests have a gamma distribution: vLLM's burstiness is its shape, so that
// the coefficient of variation is one over its root.
var gammaWords = regexp.MustCompile(`burstiness[ =]([0-9.]+)`)

// open is the rate and the arrivals of requests that come by themselves; 0: clients wait for their answers.
func (r run) open() (rate float64, arrival workload.Arrival, err error) {
	words := r.plain("arrival")
	if !strings.Contains(words, "open loop") && (r.plain("concurrency") != "" || !finite(r.plain("request_rate"))) {
		return 0, arrival, nil
	}
	text := r.plain("request_rate")
	if !finite(text) {
		return 0, arrival, fmt.Errorf("open loop: request_rate %q is no number of requests per second", text)
	}
	rate, _ = strconv.ParseFloat(text, 64)
	arrival.Kind = "poisson"
	if strings.Contains(words, "constant") {
		arrival.Kind = "constant"
	}
	if m := gammaWords.FindStringSubmatch(words); m != nil {
		shape, err := strconv.ParseFloat(m[1], 64)
		if err != nil || !(shape > 0) {
			return 0, arrival, fmt.Errorf("arrival: %q is no burstiness", m[1])
		}
		arrival = workload.Arrival{Kind: "gamma", By: 1 / math.Sqrt(shape)}
	}
	return rate, arrival, nil
}
