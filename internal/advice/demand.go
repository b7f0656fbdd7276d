package advice

import (
	"cmp"
	"fmt"

	"throughline/deploy"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Demand is requests at a rate, with limits that a share of them must meet.
type Demand struct {
	Rate       float64
	TTFT, TPOT workload.Limit

	traffic workload.Traffic
	longest int // most tokens of a request the model takes; 0: any
	set     simulate.Settings
	lengths workload.Lengths // means
	seed    uint64
	first   bool // requests end with their first token
}

// NewDemand returns the demand of a question, or nil if it has no percentile limits.
func NewDemand(l *question.Loaded) (*Demand, error) {
	if !l.Simulates() {
		return nil, nil
	}
	t := &l.Traffic
	d := &Demand{Rate: l.Rate, seed: uint64(t.Seed), longest: l.Shape.Positions, set: simulate.Settings{PrefixCache: t.PrefixCache, BlockTokens: t.BlockTokens, Routing: deploy.Routing(t.Routing)}}
	d.TTFT, d.TPOT = l.GoalsOf()
	var err error
	if d.traffic, err = l.ReadTraffic(func(string) bool { return false }); err != nil {
		return nil, err
	}
	d.traffic.Clients = 0 // open loop: requests come at their rate
	d.lengths.Input, d.lengths.Output = d.traffic.Lengths()
	trace := d.traffic.Trace
	switch {
	case trace == nil:
		return d, nil
	case d.longest > 0 && trace.Longest > d.longest:
		return nil, fmt.Errorf("%s: line %d: a request of %d tokens is longer than the %d that the model takes", trace.Name, trace.LongestLine, trace.Longest, d.longest)
	}
	d.Rate = cmp.Or(d.Rate, trace.Rate())
	return d, trace.Keep()
}

func (d *Demand) String() string {
	if d.traffic.Trace != nil {
		return "arrivals, lengths and prefixes of " + d.traffic.Trace.Name
	}
	lengths := cmp.Or(d.traffic.Input.Kind, "recorded")
	return d.traffic.Arrival.Kind + " arrivals, " + lengths + " lengths"
}

// Method describes how the figures of a row were found.
func (d *Demand) Method(c *simulate.Capacity) string {
	if d.traffic.Trace != nil {
		return fmt.Sprintf("one run of all %d requests of the trace, whose sixteenths give the intervals", c.Requests)
	}
	return fmt.Sprintf("%d runs of %d requests, each with other random numbers and the same for every row, the first fifth of a run and its end not counted", c.Runs, c.Requests)
}

// source returns n requests at a rate, or a trace in full.
func (d *Demand) source(rate float64, seed uint64, requests int) (workload.Source, error) {
	t := d.traffic
	if t.Rate = rate; t.Trace == nil {
		turns := max(1, t.Turns)
		t.Rate, t.Requests, t.Seed = rate/float64(turns), (requests+turns-1)/turns, seed
	}
	return t.Source(), nil
}

// prompts returns the demand on a prefill pool: first tokens only.
func (d *Demand) prompts() *Demand {
	out := *d
	out.TPOT, out.first = workload.Limit{}, true
	return &out
}

// firstTokens ends every request with its first token.
type firstTokens struct{ workload.Source }

func (f firstTokens) Next() (workload.Request, bool, error) {
	r, ok, err := f.Source.Next()
	r.Output = 1
	return r, ok, err
}

func (f firstTokens) Ended(client int, r *workload.Request, t float64) (workload.Request, bool) {
	next, ok := f.Source.Ended(client, r, t)
	next.Output = 1
	return next, ok
}

// decisive is the least number of requests of a run beyond a percentile.
const decisive = 100

// trial sets up a simulation, reusing known step times of the pools.
func (d *Demand) trial(on *deploy.Deployment, times []simulate.Times) (*simulate.Trial, error) {
	set := d.set
	for i := range on.Pools {
		if on.Pools[i].Role != deploy.Prefill {
			set.Running = on.Pools[i].Plan.Batch.Size // as launched
		}
	}
	o, err := simulate.Of(on, d.lengths, &set)
	if err != nil {
		return nil, err
	}
	for i := range o.Pools {
		if i < len(times) {
			o.Pools[i].Times = times[i]
		}
		if o.Pools[i].Role == deploy.Prefill {
			o.Pools[i].Policy.Sequences = on.Engine.Sequences
		}
	}
	o.Longest = d.longest
	t := &simulate.Trial{
		Options: o, Recorded: d.traffic.Trace != nil, Rate: d.Rate, TTFT: d.TTFT, TPOT: d.TPOT, Requests: simulate.LeastRequests, Seed: d.seed,
		Source: d.source,
	}
	for _, l := range []workload.Limit{d.TTFT, d.TPOT} {
		if l.Share > 0 {
			t.Requests = max(t.Requests, int(decisive/(1-l.Share)))
		}
	}
	if d.first {
		t.Source = func(rate float64, seed uint64, requests int) (workload.Source, error) {
			s, err := d.source(rate, seed, requests)
			return firstTokens{s}, err
		}
	}
	return t, nil
}
