package simulate

import (
	"errors"
	"fmt"
	"math"
)

// requestsToJudge requests to judge a rate: with 500, one 11% above what 20,000 sustain passed.
const requestsToJudge = 10_000

// MaxRate finds the highest rate, to 1%, at which the limits hold and the queue does not grow. run
// multiplies the number of requests by times, which grows where too few come to judge.
func MaxRate(run func(rate float64, times int) (*Result, error)) (*Result, error) {
	least := 1
	try := func(rate float64) (*Result, bool, error) {
		for times := least; ; times *= 4 {
			r, err := run(rate, times)
			if err != nil {
				return nil, false, err
			}
			if n := int(r.Requests); least == 1 && n > 0 && n < requestsToJudge {
				least = (requestsToJudge + n - 1) / n
				if r, err = run(rate, least); err != nil {
					return nil, false, err
				}
				times = least
			}
			if r.Rising() && times < 64*least {
				continue
			}
			return r, r.Holds() && !r.Rising(), nil
		}
	}
	var best *Result
	err := SeekRate(1, 1.01, func(rate float64) (bool, error) {
		r, ok, err := try(rate)
		if ok {
			best = r
		}
		return ok, err
	})
	return best, err
}

const leastRate, mostRate = 1e-6, 1e9

// SeekRate brackets the highest rate at which try holds, to a factor; the last that held is
// highest.
func SeekRate(first, within float64, try func(rate float64) (bool, error)) error {
	low, high := 0.0, math.Inf(1)
	for rate := first; low == 0 || math.IsInf(high, 1) || high/low > within; {
		ok, err := try(rate)
		if err != nil {
			return err
		}
		if ok {
			low = rate
		} else {
			high = rate
		}
		switch {
		case low == 0 && rate < leastRate:
			return fmt.Errorf("%w: even one request at a time takes longer", ErrLimits)
		case low == 0:
			rate /= 4
		case math.IsInf(high, 1):
			rate *= 2
			if rate > mostRate {
				return nil
			}
		default:
			rate = math.Sqrt(low * high)
		}
	}
	return nil
}

// ErrLimits means that no rate keeps the limits.
var ErrLimits = errors.New("the limits hold at no rate")
