package workload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"throughline/internal/document"
)

// Arrival is how requests are spread over time.
type Arrival struct {
	Kind string  // poisson, gamma, constant or bursts
	By   float64 // gamma: coefficient of variation of the gaps; bursts: requests at once
}

var arrivalKinds = []string{"poisson", "gamma:CV", "constant", "bursts:N"}

// ParseArrival reads poisson, gamma:CV, constant or bursts:N.
func ParseArrival(words string) (Arrival, error) {
	kind, value, given := strings.Cut(words, ":")
	a := Arrival{Kind: kind}
	switch kind {
	case "":
		a.Kind = "poisson"
		return a, nil
	case "poisson", "constant":
		if !given {
			return a, nil
		}
	case "gamma":
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0.001 && v <= 100) {
			return a, fmt.Errorf("gamma:CV needs a coefficient of variation from 0.001 to 100, not %q", value)
		}
		a.By = v
		return a, nil
	case "bursts":
		v, err := strconv.Atoi(value)
		if err != nil || v < 1 {
			return a, fmt.Errorf("bursts:N needs a number of requests of at least 1, not %q", value)
		}
		a.By = float64(v)
		return a, nil
	}
	return a, errors.New(document.NotOneOf(words, arrivalKinds))
}

// Limit is a latency limit for a share of the requests.
type Limit struct {
	Share   float64 // 0: the mean
	Seconds float64 // 0: no limit
}

// Statistic is what is limited: mean, or a percentile such as p99.
func (l *Limit) Statistic() string {
	if l.Share == 0 {
		return "mean"
	}
	return fmt.Sprintf("p%.4g", 100*l.Share)
}

// mostLimit of a latency, in ms: eleven days.
const mostLimit = 1e9

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
	var err error
	if l.Seconds, err = ParseTime(value, "ms"); err != nil || !(l.Seconds > 0 && l.Seconds <= mostLimit) {
		return l, fmt.Errorf("%q is no limit: %q must be a time above 0 and at most %.0f ms, like 2s, 50ms or 2000 for milliseconds", words, value, mostLimit)
	}
	l.Seconds /= 1e3
	return l, nil
}
