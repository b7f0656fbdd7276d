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

// Bounds of rates that are tried.
const leastRate, mostRate = 1e-6, 1e9

// SeekRate finds the highest rate that something holds at, to a factor: it tries rates from a first one on, of which the
// last that holds is the highest.
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

// ErrLimits is limits that no rate holds.
var ErrLimits = errors.New("the limits hold at no rate")
