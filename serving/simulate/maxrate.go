package simulate

import (
	"errors"
	"fmt"
	"math"
)

// enough requests tell by their percentiles, and by how the queue grows, what a rate does in the long run: with 500 of them
// a rate 11% above the one that 20,000 find passed as one that holds.
const enough = 10_000

// MaxRate is the highest rate at which the limits hold and the queue does not grow, to 1%. run lets so many times the
// asked requests come at a rate; more are asked where too few come to tell.
func MaxRate(run func(rate float64, times int) (*Result, error)) (*Result, error) {
	least := 1
	try := func(rate float64) (*Result, bool, error) {
		for times := least; ; times *= 4 {
			r, err := run(rate, times)
			if err != nil {
				return nil, false, err
			}
			if n := int(r.Requests); least == 1 && n > 0 && n < enough {
				least = (enough + n - 1) / n
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
	low, high := 0.0, math.Inf(1)
	var best *Result
	for rate := 1.0; low == 0 || math.IsInf(high, 1) || high/low > 1.01; {
		r, ok, err := try(rate)
		if err != nil {
			return nil, err
		}
		if ok {
			low, best = rate, r
		} else {
			high = rate
		}
		switch {
		case low == 0 && rate < 1e-6:
			return nil, fmt.Errorf("%w: even one request at a time takes longer", ErrLimits)
		case low == 0:
			rate /= 4
		case math.IsInf(high, 1):
			rate *= 2
			if rate > 1e9 {
				return best, nil
			}
		default:
			rate = math.Sqrt(low * high)
		}
	}
	return best, nil
}

// ErrLimits is limits that no rate holds.
var ErrLimits = errors.New("the limits hold at no rate")
