package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware"
)

// AnyLimit asks a plan for the power limit with the least energy.
const AnyLimit = "auto"

// parseWatts reads a power limit, with or without its unit.
func parseWatts(text string) (float64, error) {
	number, kilo := strings.CutSuffix(strings.TrimSpace(text), "kW")
	if !kilo {
		number = strings.TrimSuffix(number, "W")
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if kilo {
		v *= 1e3
	}
	if err != nil || !(v >= 1 && v <= mostWatts) {
		return 0, fmt.Errorf("must be from 1 to %d watts, like 500, 500W or 0.5kW, not %q; plan also takes %s", mostWatts, text, AnyLimit)
	}
	return v, nil
}

func checkPowerLimit(word string) error {
	if word == AnyLimit {
		return nil
	}
	_, err := parseWatts(word)
	return err
}

// PowerLimits are those that are asked for, in watts; none: as delivered.
func (q *Question) PowerLimits() (out []float64) {
	for _, word := range Words(q.PowerLimit) {
		if v, err := parseWatts(word); err == nil { // what is wrong is said by its setting
			out = append(out, v)
		}
	}
	return out
}

// underLimit holds a system to the first power limit that is asked for.
func (q *Question) underLimit(s *hardware.System) error {
	if q.PowerLimit == "" {
		return nil
	}
	if s.Power == nil {
		return wrong("power-limit", s.Name+" has no block \"power\", so that it is not known how its clocks follow")
	}
	if limits := q.PowerLimits(); len(limits) > 0 {
		s.PowerLimit = limits[0]
	}
	return nil
}

// SearchedLimits are the power limits that a plan compares, in watts; none: it searches under one.
// For the least energy they are tenths of the limit as delivered, where nobody says which.
func (l *Loaded) SearchedLimits() (out []float64) {
	const tenths, least = 10, 3
	if limits := l.PowerLimits(); len(limits) > 1 {
		return limits
	}
	known := !slices.ContainsFunc(l.kinds(), func(s *hardware.System) bool { return s.Power == nil })
	if !known || l.PowerLimit != AnyLimit && (l.PowerLimit != "" || l.Objective != Energy || l.Watts > 0) {
		return nil
	}
	most := 0.0
	for _, s := range l.kinds() {
		most = max(most, s.Power.Limit)
	}
	for i := tenths; i >= least; i-- {
		out = append(out, most*float64(i)/tenths)
	}
	return out
}

// Under is the same on systems under a power limit in watts.
func (l *Loaded) Under(limit float64) *Loaded {
	out := *l
	limited := map[*hardware.System]*hardware.System{}
	under := func(s *hardware.System) *hardware.System {
		if limited[s] == nil {
			held := *s
			held.PowerLimit = limit
			limited[s] = &held
		}
		return limited[s]
	}
	out.Prefill, out.Decode = under(l.Prefill), under(l.Decode)
	out.Shares = slices.Clone(l.Shares)
	for i := range out.Shares {
		out.Shares[i].System = under(out.Shares[i].System)
	}
	return &out
}
