package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"throughline/serving/simulate"
	"throughline/workload"
)

const (
	// rateWithin is the precision of the search: runs of a real server scatter by more than 1%.
	rateWithin = 1.05
	// mostTimes bounds the multiple of requests sent to show whether the queue grows.
	mostTimes = 8
	// alone is the mean concurrency below which requests do not interact: lower rates change
	// nothing.
	alone = 0.05
)

// MaxRate is the run at the highest rate, to 5%, at which the limits hold, all requests are
// answered and the queue does not grow. tell gets a line per rate. If cancelled, it is the best run
// so far, with the error.
func (b *Bench) MaxRate(ctx context.Context, first float64, tell func(string)) (*Report, error) {
	if math.IsInf(first, 1) {
		first = 1
	}
	var best, last *Report
	err := simulate.SeekRate(first, rateWithin, func(rate float64) (bool, error) {
		for times := 1; ; times *= 2 {
			r, err := b.run(ctx, rate, times, true)
			if err != nil {
				return false, err
			}
			last = r
			rising := r.Seen.Rising() && b.o.Traffic.Trace == nil
			ok := r.Holds() && !rising
			tell(r.verdict(rate, ok, rising))
			switch {
			case ok:
				best = r
				return true, nil
			case r.Holds() && times < mostTimes:
				continue
			case rate*r.Seen.E2E.Mean() < alone:
				return false, fmt.Errorf("%w: even one request at a time takes longer", simulate.ErrLimits)
			}
			return false, nil
		}
	})
	if errors.Is(err, simulate.ErrLimits) && last.Failed > 0 {
		err = fmt.Errorf("%w: at the lowest rate, too, %s", ErrServer, last.Wrong()[0])
	}
	return best, err
}

// verdict is a line on a tried rate.
func (r *Report) verdict(rate float64, ok, rising bool) string {
	s := &r.Seen
	figures := fmt.Sprintf("%.4g requests/s: ", rate)
	for _, d := range []struct {
		name   string
		digits int
		of     *simulate.Distribution
		limit  *workload.Limit
	}{{"TTFT", 1, &s.Summary.TTFT, &s.Terms.TTFT}, {"TPOT", 2, &s.Summary.TPOT, &s.Terms.TPOT}} {
		if d.of.Weight > 0 {
			figures += fmt.Sprintf("%s %s %.*f ms, ", d.name, d.limit.Statistic(), d.digits, 1e3*simulate.Figure(d.limit, d.of))
		}
	}
	figures += fmt.Sprintf("%d requests answered: ", s.Requests)
	switch {
	case ok:
		return figures + "holds"
	case r.Failed > 0:
		return figures + r.Wrong()[0]
	case r.hopeless:
		return figures + "too many are beyond the limits"
	case s.Saturated():
		return figures + "the queue grows"
	case rising:
		return figures + "requests under way still grow"
	}
	return figures + "the limits do not hold"
}
