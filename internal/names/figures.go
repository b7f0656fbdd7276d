package names

import (
	"cmp"
	"slices"
	"strings"
)

type vocabulary struct {
	Quantities map[string][]string `json:"quantities" required:"true"`
	Statistics map[string][]string `json:"statistics" required:"true"`
	Units      map[string][]string `json:"units" required:"true"`
	Rates      []string            `json:"rates" required:"true"`
	Scopes     map[string][]string `json:"scopes" required:"true"`
	Noise      []string            `json:"noise" required:"true"`
}

// Figure is a measured number: what it is of, and in which unit.
type Figure struct {
	Quantity  string // ttft, tpot, itl, e2e, requests, output_throughput, …
	Statistic string // mean, p50, p90, …
	Unit      string // of a time: ms, s or us; empty: not said
	Scope     string // gpu, user or node; empty: of all
}

// FigureOf reads the name of a figure, such as "P99 TTFT (ms)" or output_tput_per_gpu.
func FigureOf(name string) (Figure, bool) {
	v := &known.Figures
	words := split(strings.ReplaceAll(name, "_", " "))
	take := func(of map[string][]string) (best string) {
		var longest []string
		at := -1
		for key, names := range of {
			for _, n := range names {
				want := strings.Fields(n)
				if i := within(words, want); i >= 0 && (len(want) > len(longest) || len(want) == len(longest) && key < best) {
					best, longest, at = key, want, i
				}
			}
		}
		if best != "" {
			words = slices.Delete(slices.Clone(words), at, at+len(longest))
		}
		return best
	}
	f := Figure{Quantity: take(v.Quantities)}
	if f.Quantity == "" {
		return f, false
	}
	for take(map[string][]string{f.Quantity: v.Quantities[f.Quantity]}) != "" { // once more in other words
	}
	f.Statistic = cmp.Or(take(v.Statistics), "mean")
	f.Scope = take(v.Scopes)
	if f.isTime() {
		f.Unit = take(v.Units)
	} else if take(map[string][]string{"rate": v.Rates}) == "" && f.ambiguous(name) {
		return f, false
	}
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(v.Noise, w) })
	return f, len(words) == 0
}

// isTime reports whether it is a time that clients measure.
func (f *Figure) isTime() bool {
	return f.Quantity == "ttft" || f.Quantity == "tpot" || f.Quantity == "itl" || f.Quantity == "e2e"
}

// ambiguous reports whether the name may be a number of tokens or requests as well as a rate.
func (f *Figure) ambiguous(name string) bool {
	counts := []string{"req", "reqs", "request", "requests", "queries", "tok", "token", "tokens"}
	words := split(strings.ReplaceAll(name, "_", " "))
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(counts, w) }) &&
		!slices.ContainsFunc(words, func(w string) bool { return w == "tput" || w == "throughput" })
}

// Milliseconds are how many of them a unit of the figure has.
func (f *Figure) Milliseconds() float64 {
	switch f.Unit {
	case "s":
		return 1e3
	case "us":
		return 1e-3
	}
	return 1
}

// within is where words stand together in others; -1: nowhere.
func within(words, want []string) int {
	for i := 0; i+len(want) <= len(words); i++ {
		if slices.Equal(words[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}
