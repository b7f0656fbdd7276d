package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is what a share of the requests must keep.
type Limit struct {
	Share   float64 // 0: the mean
	Seconds float64 // 0: no limit
}

// ParseLimit reads a limit like p99:2s, mean:50ms or 2000 (milliseconds, of p99).
func ParseLimit(words string) (Limit, error) {
	if words == "" {
		return Limit{}, nil
	}
	l := Limit{Share: 0.99}
	which, value, named := strings.Cut(words, ":")
	if !named {
		value = words
	}
	switch {
	case named && which == "mean":
		l.Share = 0
	case named && which == "median":
		l.Share = 0.5
	case named:
		p, err := strconv.ParseFloat(strings.TrimPrefix(which, "p"), 64)
		if err != nil || !strings.HasPrefix(which, "p") || !(p > 0 && p < 100) {
			return l, fmt.Errorf("%q is no limit: give a share of the requests and a time, like p99:2s, median:40ms or mean:50ms", words)
		}
		l.Share = p / 100
	}
	d, err := time.ParseDuration(value)
	if ms, bare := strconv.ParseFloat(value, 64); bare == nil {
		d, err = time.Duration(ms*1e6), nil
	}
	if err != nil || d <= 0 {
		return l, fmt.Errorf("%q is no limit: %q must be a time above 0, like 2s, 50ms or 2000 for milliseconds", words, value)
	}
	l.Seconds = d.Seconds()
	return l, nil
}

// of is the figure of a distribution that the limit is about.
func (l *Limit) of(d *Distribution) float64 {
	if l.Share == 0 {
		return d.Mean()
	}
	return d.Quantile(l.Share)
}

func (l *Limit) holds(d *Distribution) bool {
	return l.Seconds == 0 || d.Weight == 0 || l.of(d) <= l.Seconds
}
