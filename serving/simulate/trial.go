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
	Source func(rate float64, seed uint64, requests int) (Source, error)
	// Recorded: the requests are the same whatever the seed, and as many as they are. There is one run.
	Recorded   bool
	Rate       float64
	TTFT, TPOT workload.Limit
	Requests   int // of a run
	Seed       uint64
	Runs       int // at least, where it holds

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
	// empty, the last leave it empty, and neither is counted.
	lifetimes = 10
	// warmUp is the share of the requests at the front that is not counted.
	warmUp = 0.2
	// mostRuns decide; where they do not, each has four times as many requests, and then it does not hold.
	mostRuns = Replications
	// hopeless is how many times as many requests as may miss a limit end a run before its time.
	hopeless = 5
	// easily: a share of the requests that may miss a limit.
	easily = 0.1
)

// sample is one run: what its requests saw, in the order of arrivals, without the first and the last.
type sample struct {
	ttft, tpot []float64
	whole      float64 // mean
	rate       float64 // of arrivals
	margins    [2]float64
	result     *Result
}

// verdict is what runs say of the limits.
type verdict int

const (
	open verdict = iota
	keeps
	breaks
)

// Decide runs until it is clear whether the limits hold. They do where another run would keep them 39 times in 40, by the
// scatter of those that there are: upper ends of prediction intervals.
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
	for n := len(t.samples); ; n++ {
		if n >= mostRuns {
			t.capped = t.capped || t.Requests >= 4*LeastRequests
			return open, nil
		}
		s, err := t.run(ctx, t.Rate, t.Seed+uint64(n), true)
		if err != nil {
			return open, err
		}
		if s == nil {
			t.samples = nil
			return breaks, nil
		}
		if under := s.whole * s.rate; !t.Recorded && (float64(t.Requests) < lifetimes*under || s.result.Rising()) && t.Requests < mostRequests {
			t.longer(max(2, int(math.Ceil(lifetimes*under/float64(t.Requests)))))
			n = -1
			continue
		}
		t.samples = append(t.samples, s)
		if s.result.Saturated() || s.result.Rising() {
			return breaks, nil
		}
		if t.Recorded {
			if max(s.margins[0], s.margins[1]) <= 0 {
				return keeps, nil
			}
			return breaks, nil
		}
		if v := t.judge(); v == breaks || v == keeps && len(t.samples) >= t.Runs {
			return v, nil
		}
	}
}

// judge looks at the margins of all runs.
func (t *Trial) judge() verdict {
	out := keeps
	for limit := range 2 {
		var m []float64
		for _, s := range t.samples {
			m = append(m, s.margins[limit])
		}
		switch judge(m) {
		case breaks:
			return breaks
		case open:
			out = open
		}
	}
	return out
}

// judge tells from how far runs were from a limit: below 0 a run keeps it.
func judge(m []float64) verdict {
	n := float64(len(m))
	mean, deviation := meanOf(m)
	switch {
	case len(m) < 2:
		return open
	case slices.Max(m) <= easily-1:
		return keeps
	case len(m) < 3:
		return open
	}
	half := student(len(m)-1) * deviation
	switch {
	case mean+half*math.Sqrt(1+1/n) <= 0:
		return keeps
	case mean-half/math.Sqrt(n) > 0:
		return breaks
	}
	return open
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

// run is one run at a rate; nil where so many miss a limit that it is not worth its end, if that is all there is to know.
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
		return t.sample(all, &Result{Record: record, Rate: rate, TTFT: t.TTFT, TPOT: t.TPOT, Seed: seed}), nil
	case inner.Err() != nil && ctx.Err() == nil:
		return nil, nil
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
