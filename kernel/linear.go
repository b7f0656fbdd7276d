package kernel

import "fmt"

// LinearAttention keeps one state per sequence and head, which new tokens read and change. The axes of the compute side
// are the new tokens of a sequence, sequences · heads, and operations per token and head: within a sequence one chunk of
// tokens waits for the one before, whatever the number of heads. The axis of the memory side is bytes.
type LinearAttention struct {
	Base
	// Element is the bytes of an element of queries, keys, values and results, State that of the state.
	Element float64 `json:"element_bytes"`
	State   float64 `json:"state_bytes"`
	// Tile is the fewest new tokens that the kernel computes; fewer take as long.
	Tile float64 `json:"tile"`
}

// chunk is the tokens that linear attention treats together in a prefill, as its published kernels do.
const chunk = 64

// StateFlops is the operations of linear attention per token and head, by the gated delta rule or the plain one.
func StateFlops(gatedDelta, prefill bool, key, value float64) float64 {
	perState := 4.0            // per element of the state: two for the update, two for the reading
	inChunk := 2*key + 2*value // per pair of tokens of a chunk: their score, and its part of the result
	if gatedDelta {
		perState += 2              // to take out what the state holds
		inChunk += 4*key + 2*value // keys against keys, and what that takes out of keys and of values
	}
	if prefill {
		// Within a chunk tokens attend to each other as in ordinary attention; the state is read and changed once per chunk,
		// which takes as many operations as token by token.
		return perState*key*value + chunk*inChunk
	}
	return perState * key * value
}

// Work is the operations and the bytes.
func (l *LinearAttention) Work() (flops, bytes Work) { return Work{7: 1}, Work{1: 1} }

// Bytes is what is read and written: queries and keys of the KV heads, values and results of the others, and the state.
func (l *LinearAttention) Bytes(batch, tokens float64, h Heads) float64 {
	return l.Element*batch*tokens*2*(h.KV*h.Key+h.Query*h.Value) + l.State*batch*2*h.Query*h.Key*h.Value
}

// At prepares the kernel for a peak rate and bandwidth.
func (l *LinearAttention) At(rate, bandwidth float64) (*LinearTimer, error) {
	f, b := l.Work()
	s, err := l.sides(rate, bandwidth, f, b)
	if err != nil {
		return nil, fmt.Errorf("linear attention: %w", err)
	}
	return &LinearTimer{s, *l}, nil
}

// LinearTimer gives the time of linear attention.
type LinearTimer struct {
	s sides
	l LinearAttention
}

// Seconds for a batch of sequences with so many new tokens each, flops being the operations per token and head.
func (t *LinearTimer) Seconds(batch, tokens float64, h Heads, flops float64) float64 {
	compute := t.s.compute.seconds(max(tokens, t.l.Tile), batch*h.Query, flops)
	return t.s.latency + Join(t.s.norm, compute, t.s.memory.seconds(t.l.Bytes(batch, tokens, h), 1, 1))
}
