package simulate

import (
	"context"
	"math"
	"slices"

	"throughline/workload"
)

// Trial is a deployment at a request rate, run with several seeds. Trials with the same seeds see
// the same requests, so they differ only in the deployment.
type Trial struct {
	Options Options
	// Source draws requests at a rate from a seed.
	Source func(rate float64, seed uint64, requests int) (workload.Source, error)
	// Recorded requests are the same for every seed, so there is one run.
	Recorded   bool
	Rate       float64
	TTFT, TPOT workload.Limit
	Requests   int // per run
	Seed       uint64
	Runs       int // least number for a positive verdict
	Patience   int // most requests of a run; 0: four times the least

	samples []*sample
	capped  bool // runs are as long as they may be
}

const (
	// Replications of a deployment that is shown.
	Replications = 8
	// LeastRequests per run: of 10,000, 100 decide the 99th percentile.
	LeastRequests = 10_000
	mostRequests  = 640_000
	// lifetimes is the requests of a run over those in the system: the first find it empty, the
	// last leave it empty, and neither count. With many in the system, leastLifetimes suffice.
	lifetimes, leastLifetimes = 10, 4
	manyRequests              = 20_000
	// warmUp is the share of requests at the front that is not counted.
	warmUp = 0.2
	// mostRuns decide; if they cannot, runs get four times as long, up to Patience.
	mostRuns = Replications
	// hopeless is the multiple of tolerated misses that ends a run early.
	hopeless = 5
	// fewRuns decide if all have twice as many misses as tolerated.
	fewRuns = 3
	clearly = 1.0
	// glanceRequests is the requests of a preliminary run.
	glanceRequests = 4_000
	// clearShare is the share of tolerated misses that counts as clearly within a limit.
	clearShare = 0.1
)

// sample is one run as its requests saw it, in order of arrival, without the first and the last.
type sample struct {
	ttft, tpot []float64
	latency    float64 // mean latency
	rate       float64 // of arrivals
	margins    [2]float64
	all        [2]float64 // margins of all requests, the first and the last included
	result     *Result    // nil: the run was ended early
	piles      bool       // the queue grows
	lost       bool       // ended early after too many misses
}

// verdict of runs on the limits.
type verdict int

const (
	open verdict = iota
	keeps
	breaks
)

// Decide runs until it is clear whether the limits hold: another run would keep them with 97.5%, by
// prediction intervals, or hardly any run keeps them. In between runs get longer, since a queue
// near saturation takes long to show.
func (t *Trial) Decide(ctx context.Context) (*Capacity, error) {
	for {
		v, err := t.decide(ctx)
		if err != nil {
			return nil, err
		}
		if v != open || t.capped {
			out := t.capacity()
			out.Holds = v == keeps
			return out, nil
		}
		t.longer(4)
	}
}

// longer starts again with longer runs.
func (t *Trial) longer(times int) {
	t.Requests, t.samples = min(times*t.Requests, mostRequests), nil
}

func (t *Trial) decide(ctx context.Context) (verdict, error) {
	for {
		n := len(t.samples)
		if n >= mostRuns {
			t.capped = t.capped || t.Requests >= max(t.Patience, 4*LeastRequests)
			return open, nil
		}
		s, err := t.steady(ctx, t.Seed+uint64(n))
		if err != nil {
			return open, err
		}
		if s.lost {
			t.samples = nil
			return breaks, nil
		}
		t.samples = append(t.samples, s)
		if t.Recorded {
			return s.verdict(), nil
		}
		if v := t.judge(); v == breaks || v == keeps && len(t.samples) >= t.Runs {
			return v, nil
		}
	}
}

// Glance reports whether one short run holds, and what it saw.
func (t *Trial) Glance(ctx context.Context) (bool, *Capacity, error) {
	if !t.Recorded {
		t.Requests = max(glanceRequests, t.Requests*glanceRequests/LeastRequests)
	}
	s, err := t.steady(ctx, t.Seed)
	if err != nil {
		return false, nil, err
	}
	t.samples = []*sample{s}
	return s.verdict() == keeps, t.capacity(), nil
}

// steady is a run long enough, for the requests in the system, to show a steady state.
func (t *Trial) steady(ctx context.Context, seed uint64) (*sample, error) {
	for {
		s, err := t.run(ctx, t.Rate, seed, true)
		if err != nil || s.result == nil || t.Recorded || t.Requests >= mostRequests {
			return s, err
		}
		under := s.latency * s.rate
		under = max(min(lifetimes*under, manyRequests), leastLifetimes*under)
		if float64(t.Requests) >= under && !s.result.Rising() || max(s.all[0], s.all[1]) > clearly {
			return s, nil
		}
		t.longer(max(2, int(math.Ceil(under/float64(t.Requests)))))
		seed = t.Seed
	}
}

// verdict of a single run: by its middle, unless the entire run is clearly beyond a limit.
func (s *sample) verdict() verdict {
	if max(s.margins[0], s.margins[1]) > 0 || max(s.all[0], s.all[1]) > clearly {
		return breaks
	}
	return keeps
}

// judge weighs all runs. Broken ones are judged by all their requests, which is more lenient.
func (t *Trial) judge() verdict {
	kept, least := 0, math.Inf(1)
	for _, s := range t.samples {
		worst := max(s.all[0], s.all[1])
		least = min(least, worst)
		if worst <= 0 {
			kept++
		}
	}
	if n := len(t.samples); n >= fewRuns && least > clearly || n == mostRuns && kept <= 1 {
		return breaks
	}
	for limit := range 2 {
		var m []float64
		for _, s := range t.samples {
			m = append(m, s.margins[limit])
		}
		if !keep(m) {
			return open
		}
	}
	return keeps
}

// keep predicts from the margins of runs whether another keeps the limit; at most 0 is within it.
func keep(m []float64) bool {
	mean, deviation := meanOf(m)
	switch {
	case len(m) < 2:
		return false
	case slices.Max(m) <= clearShare-1:
		return true
	}
	return len(m) >= fewRuns && mean+student(len(m)-1)*deviation*math.Sqrt(1+1/float64(len(m))) <= 0
}

// meanOf returns the mean and the standard deviation.
func meanOf(list []float64) (mean, deviation float64) {
	n := float64(len(list))
	for _, v := range list {
		mean += v / n
	}
	for _, v := range list {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / max(1, n-1))
}

// run simulates one run; in a hurry, it ends once too many have missed a limit.
func (t *Trial) run(ctx context.Context, rate float64, seed uint64, hurry bool) (*sample, error) {
	source, err := t.Source(rate, seed, t.Requests)
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	o := t.Options
	o.Seed = seed
	var all []Ended
	missed := [2]float64{}
	limits := [2]*workload.Limit{&t.TTFT, &t.TPOT}
	o.Each = func(e *Ended) {
		for int64(len(all)) <= e.ID {
			all = append(all, Ended{})
		}
		all[e.ID] = *e
		for i, seen := range e.seen() {
			if l := limits[i]; hurry && l.Seconds > 0 && l.Share > 0 && seen > l.Seconds {
				if missed[i]++; missed[i] > hopeless*(1-l.Share)*float64(t.Requests) {
					cancel()
				}
			}
		}
	}
	record, err := Run(inner, o, source)
	switch {
	case err == nil:
		return t.sample(all, &Result{Record: record, Terms: workload.Terms{Traffic: workload.Traffic{Rate: rate, Seed: seed}, TTFT: t.TTFT, TPOT: t.TPOT}}), nil
	case inner.Err() != nil && ctx.Err() == nil:
		far := [2]float64{hopeless - 1, hopeless - 1}
		return &sample{margins: far, all: far, lost: 2*max(missed[0], missed[1]) > float64(len(all))}, nil
	}
	return nil, err
}

// seen is the TTFT and the TPOT; 0 where there is none.
func (e *Ended) seen() [2]float64 {
	out := [2]float64{e.First - e.Arrival}
	if e.Output > 1 {
		out[1] = (e.Finish - e.First) / float64(e.Output-1)
	}
	return out
}

// sample keeps the requests of the steady state, or all of a trace.
func (t *Trial) sample(all []Ended, r *Result) *sample {
	first, last := 0, len(all)
	if !t.Recorded {
		first = int(warmUp * float64(last))
		until := r.LastArrival - 2*r.E2E.Mean()
		for last > first+len(all)/2 && all[last-1].Arrival > until {
			last--
		}
	}
	s := &sample{result: r}
	for i := first; i < last; i++ {
		e := &all[i]
		seen := e.seen()
		s.latency += (e.Finish - e.Arrival) / float64(last-first)
		s.ttft = append(s.ttft, seen[0])
		if e.Output > 1 {
			s.tpot = append(s.tpot, seen[1])
		}
	}
	if last > first+1 {
		s.rate = float64(last-first-1) / (all[last-1].Arrival - all[first].Arrival)
	}
	s.margins = [2]float64{margin(&t.TTFT, s.ttft), margin(&t.TPOT, s.tpot)}
	s.all = [2]float64{marginOf(&t.TTFT, &r.Record.TTFT), marginOf(&t.TPOT, &r.Record.TPOT)}
	if s.piles = r.Saturated(); s.piles {
		s.margins, s.all = [2]float64{hopeless - 1, hopeless - 1}, [2]float64{hopeless - 1, hopeless - 1}
	}
	return s
}

// margin is the excess of misses over tolerated ones, as a share of these, or of the mean over its
// limit; 0 is on the limit.
func margin(l *workload.Limit, values []float64) float64 {
	if l.Seconds == 0 || len(values) == 0 {
		return -1
	}
	if l.Share == 0 {
		mean, _ := meanOf(values)
		return mean/l.Seconds - 1
	}
	beyond := 0.0
	for _, v := range values {
		if v > l.Seconds {
			beyond++
		}
	}
	return beyond/float64(len(values))/(1-l.Share) - 1
}

// marginOf is the same for a distribution.
func marginOf(l *workload.Limit, d *Distribution) float64 {
	switch {
	case l.Seconds == 0 || d.Weight == 0:
		return -1
	case l.Share == 0:
		return d.Mean()/l.Seconds - 1
	}
	return d.Above(l.Seconds)/(1-l.Share) - 1
}
