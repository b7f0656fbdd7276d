// Package workload says what is asked of a deployment: how long requests are and how fast answers must come.
package workload

// Lengths are the tokens of one request.
type Lengths struct {
	Input  int
	Output int
	Cached int // leading tokens of the input whose keys and values are cached already
}

// Uncached is the tokens that the prefill has to compute.
func (l Lengths) Uncached() int { return l.Input - l.Cached }

// DecodeContext is the context of a representative decode step: half of the output has been written, and the new token
// attends to itself.
func (l Lengths) DecodeContext() int { return l.Input + l.Output/2 + 1 }

// Final is the context at the end of the request, for which the cache must have room.
func (l Lengths) Final() int { return l.Input + l.Output }

// Limits are the latency limits in milliseconds; nil means none.
type Limits struct {
	TTFT *float64 // time to first token
	TPOT *float64 // time per output token
}
