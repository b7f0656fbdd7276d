// Package workload describes a load: how long requests are and how fast answers must come.
package workload

import (
	"math"
	"slices"
)

// Lengths are the tokens of one request.
type Lengths struct {
	Input  int
	Output int
	Cached int // leading tokens of the input whose keys and values are cached already

	// Squares is the mean square of the inputs over that of their mean: 1 (or 0) if all are equal.
	Squares float64
	// Shape is the distribution of lengths that Squares alone does not tell; empty: none.
	Shape string

	// LongestInput and Longest are the tokens of the longest prompt, and of the longest request
	// with its output; 0: as the others. Estimates ignore them; launches leave room for them.
	LongestInput, Longest int
}

// MaxInput is the tokens of the longest prompt.
func (l Lengths) MaxInput() int { return max(l.Input, l.LongestInput) }

// MaxFinal is the context at the end of the longest request.
func (l Lengths) MaxFinal() int { return max(l.Final(), l.Longest) }

// AttentionScale is how much more attention prompts of unequal length take.
func (l Lengths) AttentionScale() float64 { return max(1, l.Squares) }

// Uncached is the tokens that the prefill has to compute.
func (l Lengths) Uncached() int { return l.Input - l.Cached }

// DecodeContext is the context of a representative decode step, halfway through the output.
func (l Lengths) DecodeContext() int { return l.Input + l.Output/2 + 1 }

// Final is the context at the end of the request, for which the cache must have room.
func (l Lengths) Final() int { return l.Input + l.Output }

// Load is a closed loop: every client sends a request, waits for its end and sends the next.
type Load struct {
	Lengths Lengths
	Clients int
	// Requests of each client, all of whom start at once: the first meet those of all others, the
	// next are spread by their lengths. 0: a steady state, with arrivals evenly spread over time.
	Requests float64
	// Repeated is the share of first requests whose prompts are cached, from a run before.
	Repeated float64
}

// Traffic is requests of the load's clients, with lengths as far apart as they are: uniform ones as
// far as these reach, and log-normal beyond.
func (l *Load) Traffic() Traffic {
	t := Traffic{Requests: l.Clients, Rate: math.Inf(1), Clients: l.Clients, Turns: 1, Cached: l.Lengths.Cached, Repeated: l.Repeated, Seed: 1}
	half := math.Sqrt(3) * l.Deviation()
	of := func(mean int) Length {
		switch {
		case half == 0:
			return Fixed(mean)
		case l.Lengths.Shape != "":
			return Length{Mean: mean, Kind: l.Lengths.Shape}
		case half <= 1+1e-9:
			return Length{Mean: int(math.Round((1 + half) * float64(mean))), Kind: "uniform", By: (1 - half) / (1 + half)}
		}
		return Length{Mean: mean, Kind: "lognormal", By: math.Sqrt(math.Log(l.Lengths.Squares))}
	}
	t.Input, t.Output = of(l.Lengths.Input), of(l.Lengths.Output)
	return t
}

// Sent is a number of requests of mean lengths by the load's clients, at least one each; nil for 0.
func (l *Load) Sent(requests int) *Traffic {
	if requests == 0 {
		return nil
	}
	return &Traffic{Requests: max(requests, l.Clients), Rate: math.Inf(1), Clients: l.Clients, Turns: 1, Input: Fixed(l.Lengths.Input), Output: Fixed(l.Lengths.Output)}
}

// Deviation is that of the lengths over their mean; at 0, simultaneous requests end together.
func (l *Load) Deviation() float64 { return math.Sqrt(max(0, l.Lengths.Squares-1)) }

// DraftAcceptance is the default share of drafted tokens that are accepted, by position in the
// draft: DeepSeek-V4-Pro with thinking on SPEED-Bench coding, from the mean lengths 1.79, 2.27,
// 2.49 and 2.54 with one to four drafts (SemiAnalysis InferenceX, golden_al_distribution). Each
// rate is the ratio of what two successive drafts add.
var DraftAcceptance = []float64{0.79, 0.48 / 0.79, 0.22 / 0.48, 0.05 / 0.22}

// Acceptance is the share of drafted tokens that are accepted, by position, from the mean tokens of
// a step with 1, 2, … drafts: each rate is the ratio of what two successive drafts add. Positions
// beyond are as in DraftAcceptance.
func Acceptance(lengths []float64) []float64 {
	out := slices.Clone(DraftAcceptance)
	before, added := 1.0, 1.0
	for i, n := range lengths {
		rate := 0.0
		if added > 0 {
			rate = (n - before) / added
		}
		if i == len(out) {
			out = append(out, 0)
		}
		out[i] = rate
		before, added = n, n-before
	}
	return out
}

// Limits are the latency limits in milliseconds; nil means none.
type Limits struct {
	TTFT *float64 // time to first token
	TPOT *float64 // time per output token
}
