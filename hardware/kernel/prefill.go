package kernel

import (
	"cmp"
	"errors"
	"fmt"
)

// PrefillAttention is attention of new tokens to themselves and the past. Axes of compute are pairs
// (of a new token and one it attends to, in one head), sequences · heads, and the mean width of
// keys and values. Memory has one axis, bytes, or two: of queries and results, and of keys and
// values, which kernels read once per tile of queries.
type PrefillAttention struct {
	Base
	// Element is the bytes of an element of queries, keys, values and results.
	Element float64 `json:"element_bytes"`
	// Tile is the fewest new tokens that the kernel computes; fewer take as long.
	Tile float64 `json:"tile"`
}

var (
	prefills       = sectionOf("prefill", func(s *Set) *map[string]*PrefillAttention { return &s.Prefill })
	latentPrefills = sectionOf("latent_prefill", func(s *Set) *map[string]*PrefillAttention { return &s.LatentPrefill })
)

const prefillAxes = "pairs of tokens, sequences · heads, mean width of keys and values; bytes, or those of queries and of keys apart"

var prefillSlot = slot{
	section: &prefills, name: "prefill attention", row: "attn_prefill", peak: AttentionPeak,
	axes: prefillAxes, of: "attention in prefill",
	pick:     func(s *Set, t *Types) []string { return typed(&prefills, s, t.Attention) },
	backends: func(t *Types) Backends { return t.PrefillBy },
	prepare:  func(s *Set, key string, _ *Types) (Timing, error) { return s.Prefill[key].prepare() },
}

var latentPrefillSlot = slot{
	section: &latentPrefills, name: "latent prefill", row: "mla_prefill", peak: AttentionPeak,
	axes: prefillAxes, of: "latent attention in prefill, its keys and values expanded; `prefill` where it is missing",
	pick:     func(s *Set, t *Types) []string { return typed(&latentPrefills, s, t.Attention) },
	backends: func(t *Types) Backends { return t.PrefillBy },
	others:   &prefillSlot, alike: alikeInPrefill,
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.LatentPrefill[key].prepare() },
}

// apart: the memory side separates queries and results from keys and values.
func (p *PrefillAttention) apart() bool { return len(p.Memory.Axes) == 2 }

func (p *PrefillAttention) Work() (flops, bytes Work) {
	if p.apart() {
		return Work{7: 4}, Work{1: 1, 2: 1}
	}
	return Work{7: 4}, Work{1: 1}
}

// Bytes is those of queries and results, and those of keys and values.
func (p *PrefillAttention) Bytes(batch, tokens, past float64, h Heads) (queries, keys float64) {
	each := p.Element * batch * (h.Key + h.Value)
	return each * h.Query * tokens, each * h.KV * (tokens + past)
}

// Pairs is how many tokens the new ones attend to: each to the past and half of the new ones.
func Pairs(tokens, past float64) float64 { return tokens * (past + tokens/2) }

func (p *PrefillAttention) Points(s *Shape) (compute, memory Point) {
	h := Heads{Query: float64(s.Heads), KV: float64(s.KVHeads), Key: s.K, Value: float64(s.Value)}
	batch, tokens := s.Count, s.M/s.Count
	past := s.N - (tokens+1)/2 // a token sees the past and half of the new tokens
	if past < 0 {
		// With a window, as much as several shorter prompts.
		batch, tokens, past = batch*tokens/(2*s.N), 2*s.N, 0
	}
	x, y := p.Bytes(batch, tokens, past, h)
	if !p.apart() {
		x, y = x+y, 1
	}
	return Point{Pairs(max(tokens, cmp.Or(s.Rows, p.Tile)), past), batch * h.Query, (h.Key + h.Value) / 2}, Point{x, y, 1}
}

func (p *PrefillAttention) Check() error {
	_, err := p.prepare()
	return errors.Join(err, sizes(p.Element, p.Tile))
}

func (p *PrefillAttention) prepare() (*prefillTiming, error) {
	s, err := p.sides(p.Work())
	if err != nil {
		return nil, fmt.Errorf("prefill attention: %w", err)
	}
	if len(p.Memory.Axes) > 2 {
		return nil, fmt.Errorf("prefill attention: memory has %d axes, not one or two", len(p.Memory.Axes))
	}
	return &prefillTiming{s, *p}, nil
}

type prefillTiming struct {
	sides
	p PrefillAttention
}

func (t *prefillTiming) Seconds(p *Pace, s *Shape) float64 {
	c, m := t.p.Points(s)
	return t.latency + t.joined(p, c, m, 0)
}

func (t *prefillTiming) Beyond(s *Shape) bool { return t.beyond(t.p.Points(s)) }
