package simulate

import (
	"context"
	"math"
	"slices"

	"throughline/workload"
)

// Trial is a deployment under requests at a rate, run several times with other random numbers. Trials with the same
// numbers see the same requests: what they differ in is the deployment.
type Trial struct {
	Options Options
	// Source is so many requests at a rate; other seeds draw others.
	Source func(rate float64, seed uint64, requests int) (workload.Source, error)
	// Recorded: the requests are the same whatever the seed, and as many as they are. There is one run.
	Recorded   bool
	Rate       float64
	TTFT, TPOT workload.Limit
	Requests   int // of a run
	Seed       uint64
	Runs       int // at least, where it holds
	Patience   int // requests of a run beyond which it is no longer asked; 0 for four times the least

	samples []*sample
	capped  bool // runs are as long as they may be
}

const (
	// Replications is the runs of a deployment that is shown.
	Replications = 8
	// LeastRequests of a run: of 10,000, 100 decide about a 99th percentile.
	LeastRequests = 10_000
	mostRequests  = 640_000
	// lifetimes is how many times as many requests a run has as are under way at a time: the first of them find the system
	// empty, the last leave it empty, and neither is counted. Of many that are under way, fewer times tell as much: a run has so
	// many requests, or some lifetimes at least.
	lifetimes, leastLifetimes = 10, 4
	manyRequests              = 20_000
	// warmUp is the share of the requests at the front that is not counted.
	warmUp = 0.2
	// mostRuns decide; where they do not, each has four times as many requests, up to what there is patience for.
	mostRuns = Replications
	// hopeless is how many times as many requests as may miss a limit end a run before its time.
	hopeless = 5
	// fewRuns may decide where they are clearly on one side: all have twice as many requests beyond a limit as may be.
	fewRuns = 3
	clearly = 1.0
	// glance is the requests of a run that is only looked at.
	glance = 4_000
	// easily: a share of the requests that may miss a limit.
	easily = 0.1
)

// sample is one run: what its requests saw, in the order of arrivals, without the first and the last.
type sample struct {
	ttft, tpot []float64
	whole      float64 // mean
	rate       float64 // of arrivals
	margins    [2]float64
	all        [2]float64 // margins of all requests, the first and the last included
	result     *Result    // nil: the run was ended before its time
	piles      bool       // more and more requests wait
	lost       bool       // when most had missed a limit: nothing will save it
}

// verdict is what runs say of the limits.
type verdict int

const (
	open verdict = iota
	keeps
	breaks
)

// Decide runs until it is clear whether the limits hold. They do where another run would keep them 39 times in 40, by the
// scatter of those that there are: upper ends of prediction intervals. They do not where hardly any run keeps them. Between
// the two, runs get longer: a queue that is nearly full takes its time to show.
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

// Glance is whether one run holds, which is shorter than those that decide, and what it saw.
func (t *Trial) Glance(ctx context.Context) (bool, *Capacity, error) {
	if !t.Recorded {
		t.Requests = max(glance, t.Requests*glance/LeastRequests)
	}
	s, err := t.steady(ctx, t.Seed)
	if err != nil {
		return false, nil, err
	}
	t.samples = []*sample{s}
	return s.verdict() == keeps, t.capacity(), nil
}

// steady is a run that is long enough, for the number of requests that are under way, to tell about a steady state.
func (t *Trial) steady(ctx context.Context, seed uint64) (*sample, error) {
	for {
		s, err := t.run(ctx, t.Rate, seed, true)
		if err != nil || s.result == nil || t.Recorded || t.Requests >= mostRequests {
			return s, err
		}
		under := s.whole * s.rate
		under = max(min(lifetimes*under, manyRequests), leastLifetimes*under)
		if float64(t.Requests) >= under && !s.result.Rising() || max(s.all[0], s.all[1]) > clearly {
			return s, nil
		}
		t.longer(max(2, int(math.Ceil(under/float64(t.Requests)))))
		seed = t.Seed
	}
}

// verdict is what a run says by itself: by those in its middle, unless its end is clearly beyond a limit.
func (s *sample) verdict() verdict {
	if max(s.margins[0], s.margins[1]) > 0 || max(s.all[0], s.all[1]) > clearly {
		return breaks
	}
	return keeps
}

// judge looks at all runs. Those that break do so as a whole, from their first request to the last, which is kinder to them.
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

// keep tells from how far runs were from a limit whether another keeps it; 0 is on the limit, and less is within it.
func keep(m []float64) bool {
	mean, deviation := meanOf(m)
	switch {
	case len(m) < 2:
		return false
	case slices.Max(m) <= easily-1:
		return true
	}
	return len(m) >= fewRuns && mean+student(len(m)-1)*deviation*math.Sqrt(1+1/float64(len(m))) <= 0
}

// meanOf is the mean and the standard deviation.
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

// run is one run at a rate. In a hurry, it ends when so many have missed a limit that it cannot hold.
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

// seen is the time to the first token, and the time per further one; 0 where there is none.
func (e *Ended) seen() [2]float64 {
	out := [2]float64{e.First - e.Arrival}
	if e.Output > 1 {
		out[1] = (e.Finish - e.First) / float64(e.Output-1)
	}
	return out
}

// sample is what requests saw while as many were under way as usual: of a trace all of them.
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
		s.whole += (e.Finish - e.Arrival) / float64(last-first)
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

// margin is how far values are from a limit, 0 being on it: the requests beyond it over those that may be, less 1; of a limit
// on the mean, by how much of itself the mean is longer.
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

// marginOf is the same of a distribution.
func marginOf(l *workload.Limit, d *Distribution) float64 {
	switch {
	case l.Seconds == 0 || d.Weight == 0:
		return -1
	case l.Share == 0:
		return d.Mean()/l.Seconds - 1
	}
	return d.Above(l.Seconds)/(1-l.Share) - 1
}
