// Package workload says what is asked of a deployment: how long requests are and how fast answers must come.
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

	// Squares is the mean square of the inputs over the square of their mean: 1 where all are equal, which 0 stands for.
	Squares float64

	// LongestInput and Longest are the tokens of the longest prompt, and of the longest request with its output; 0: those of
	// the others. What is estimated does not depend on them; what is launched has room for them.
	LongestInput, Longest int
}

// MaxInput is the tokens of the longest prompt.
func (l Lengths) MaxInput() int { return max(l.Input, l.LongestInput) }

// MaxFinal is the context at the end of the longest request.
func (l Lengths) MaxFinal() int { return max(l.Final(), l.Longest) }

// AttentionScale is how much more attention prompts take for not being equally long.
func (l Lengths) AttentionScale() float64 { return max(1, l.Squares) }

// Uncached is the tokens that the prefill has to compute.
func (l Lengths) Uncached() int { return l.Input - l.Cached }

// DecodeContext is the context of a representative decode step: half of the output has been written, and the new token
// attends to itself.
func (l Lengths) DecodeContext() int { return l.Input + l.Output/2 + 1 }

// Final is the context at the end of the request, for which the cache must have room.
func (l Lengths) Final() int { return l.Input + l.Output }

// Load is what clients ask of a deployment: a closed loop, in which every client sends a request, waits for its end and
// sends the next.
type Load struct {
	Lengths Lengths
	Clients int
	// Requests of each client, all of whom start at once: the first of them meet those of all others, and the next are
	// spread by their lengths. 0: the clients have been at it for long, and come evenly spread over time.
	Requests float64
	// Repeated is the share of the first requests whose prompts the servers have in their caches, from a run before.
	Repeated float64
}

// Sent is so many requests of the mean lengths, by the clients of the load; at least one of each, and nil for none.
func (l *Load) Sent(requests int) *Traffic {
	if requests == 0 {
		return nil
	}
	return &Traffic{Requests: max(requests, l.Clients), Rate: math.Inf(1), Clients: l.Clients, Turns: 1, Input: Fixed(l.Lengths.Input), Output: Fixed(l.Lengths.Output)}
}

// Deviation is the standard deviation of the lengths in units of their mean. Where it is 0, requests which start together
// end together.
func (l *Load) Deviation() float64 { return math.Sqrt(max(0, l.Lengths.Squares-1)) }

// DraftAcceptance is the share of tokens drafted by multi-token prediction that are accepted, by position in the draft,
// for want of a measurement of one's own: DeepSeek-V4-Pro with thinking on SPEED-Bench coding, from the mean lengths
// 1.79, 2.27, 2.49 and 2.54 with one to four drafts (SemiAnalysis InferenceX, golden_al_distribution). Each rate is the
// ratio of what two successive drafts add.
var DraftAcceptance = []float64{0.79, 0.48 / 0.79, 0.22 / 0.48, 0.05 / 0.22}

// Acceptance is the share of drafted tokens that are accepted, by position in the draft, from the mean tokens of a step with
// 1, 2, … drafts: each rate is the ratio of what two successive drafts add. Positions beyond are as in DraftAcceptance.
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
