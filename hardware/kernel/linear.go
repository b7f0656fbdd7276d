package kernel

import (
	"errors"
	"fmt"
)

// LinearAttention keeps one state per sequence and head, which new tokens read and change. Axes of
// compute are new tokens of a sequence, sequences · heads, and operations per token and head, as
// chunks of a sequence wait for each other. The axis of memory is bytes.
type LinearAttention struct {
	Base
	// Element is the bytes of an element of queries, keys, values and results.
	Element float64 `json:"element_bytes"`
	State   float64 `json:"state_bytes"`
	// Tile is the fewest new tokens that the kernel computes; fewer take as long.
	Tile float64 `json:"tile"`
}

var (
	linearDecodes  = sectionOf("linear_decode", func(s *Set) *map[string]*LinearAttention { return &s.LinearDecode })
	linearPrefills = sectionOf("linear_prefill", func(s *Set) *map[string]*LinearAttention { return &s.LinearPrefill })
)

const linearAxes = "tokens of a sequence, sequences · heads, operations per token and head; bytes"

// The rules differ in operations only; engines have no kernels narrower than 16 bits.
func pickLinear(in *section) func(*Set, *Types) []string {
	return func(s *Set, t *Types) []string {
		if t.Wide == "" {
			return nil
		}
		return present(in, s, gatedDelta)
	}
}

// gatedDelta is the rule that was measured.
const gatedDelta = "gated_delta"

var linearDecodeSlot = slot{
	section: &linearDecodes, key: gatedDelta, name: "linear decode", row: "linear_decode", peak: WidePeak,
	axes: linearAxes, of: "linear attention in decode",
	pick:    pickLinear(&linearDecodes),
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.LinearDecode[key].prepare(false) },
}

var linearPrefillSlot = slot{
	section: &linearPrefills, key: gatedDelta, name: "linear prefill", row: "linear_prefill", peak: WidePeak,
	axes: linearAxes, of: "linear attention in prefill",
	pick:    pickLinear(&linearPrefills),
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.LinearPrefill[key].prepare(true) },
}

// Chunk is the tokens that published linear attention kernels treat together in prefill.
const Chunk = 64

// StateFlops is the operations per token and head, by the gated delta rule or the plain one.
func StateFlops(gatedDelta, prefill bool, key, value float64) float64 {
	perState := 4.0            // per element of the state: two for the update, two for the reading
	inChunk := 2*key + 2*value // per pair of tokens of a chunk: their score, and its part of the result
	if gatedDelta {
		perState += 2              // to remove what the state holds
		inChunk += 4*key + 2*value // keys against keys, and what that removes from keys and values
	}
	if prefill {
		// Within a chunk tokens attend to each other as usual; the state is updated once per chunk,
		// which takes as many operations as token by token.
		return perState*key*value + Chunk*inChunk
	}
	return perState * key * value
}

func (l *LinearAttention) Work() (flops, bytes Work) { return Work{7: 1}, Work{1: 1} }

// Bytes is queries and keys of KV heads, values and results of the others, and the state.
func (l *LinearAttention) Bytes(batch, tokens float64, h Heads) float64 {
	return l.Element*batch*tokens*2*(h.KV*h.Key+h.Query*h.Value) + l.State*batch*2*h.Query*h.Key*h.Value
}

func (l *LinearAttention) Points(s *Shape, prefill bool) (compute, memory Point) {
	h := Heads{Query: float64(s.Heads), KV: float64(s.KVHeads), Key: s.K, Value: s.N}
	tokens := s.M / s.Count
	flops := StateFlops(s.Gated, prefill, h.Key, h.Value)
	return Point{max(tokens, l.Tile), s.Count * h.Query, flops}, Point{l.Bytes(s.Count, tokens, h), 1, 1}
}

func (l *LinearAttention) Check() error {
	_, err := l.prepare(false)
	return errors.Join(err, sizes(l.Element, l.State, l.Tile))
}

func (l *LinearAttention) prepare(prefill bool) (*linearTiming, error) {
	s, err := l.sides(l.Work())
	if err != nil {
		return nil, fmt.Errorf("linear attention: %w", err)
	}
	return &linearTiming{s, *l, prefill}, nil
}

type linearTiming struct {
	sides
	l       LinearAttention
	prefill bool
}

func (t *linearTiming) Seconds(p *Pace, s *Shape) float64 {
	c, m := t.l.Points(s, t.prefill)
	return t.latency + t.joined(p, c, m, 0)
}

func (t *linearTiming) Beyond(s *Shape) bool { return t.beyond(t.l.Points(s, t.prefill)) }
