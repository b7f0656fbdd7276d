package kernel

import (
	"errors"
	"fmt"
)

// DecodeAttention is attention of one new token per sequence. Axes of memory are context, sequences
// · KV heads, and cached bytes per token and KV head; those of compute are context, sequences · KV
// heads, and operations per context token and KV head. Latent attention has one KV head.
type DecodeAttention struct {
	Base
	// Query is the bytes of an element of queries and results.
	Query float64 `json:"query_bytes"`
	// Tile is the shortest context that the kernel works on; shorter ones take as long.
	Tile float64 `json:"tile"`
}

var (
	decodes       = sectionOf("decode", func(s *Set) *map[string]*DecodeAttention { return &s.Decode })
	latentDecodes = sectionOf("latent_decode", func(s *Set) *map[string]*DecodeAttention { return &s.LatentDecode })
)

const decodeAxes = "context, sequences · KV heads, operations and bytes of one token in a KV head"

var decodeSlot = slot{
	section: &decodes, name: "decode attention", row: "attn_decode", peak: AttentionPeak,
	axes: decodeAxes, of: "attention in decode",
	pick: func(s *Set, t *Types) []string {
		keys := typed(&decodes, s, t.Cache)
		if t.ReadsNarrow && t.Cache != t.Wide {
			keys = append(keys, typed(&decodes, s, t.Wide)...) // with fewer bytes
		}
		return keys
	},
	backends: func(t *Types) Backends { return t.DecodeBy },
	prepare:  func(s *Set, key string, _ *Types) (Timing, error) { return s.Decode[key].prepare() },
}

var latentDecodeSlot = slot{
	section: &latentDecodes, name: "latent decode", row: "mla_decode", peak: AttentionPeak,
	axes: decodeAxes, of: "latent attention in decode, on the latent cache itself",
	pick:     func(s *Set, t *Types) []string { return typed(&latentDecodes, s, t.Cache) },
	backends: func(t *Types) Backends { return t.DecodeBy },
	others:   &decodeSlot, alike: alike, stretches: true,
	prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.LatentDecode[key].prepare() },
}

// Heads is the shape of attention: query heads, KV heads, and the widths of keys and of values.
type Heads struct{ Query, KV, Key, Value float64 }

// TokenFlops is what the query heads of one KV head compute per context token.
func (h Heads) TokenFlops() float64 { return 2 * h.Query / h.KV * (h.Key + h.Value) }

// Work is the operations and the bytes of the cache.
func (d *DecodeAttention) Work() (flops, bytes Work) { return Work{7: 1}, Work{7: 1} }

// Points returns the points on both surfaces, and the bytes of queries and results, moved at peak.
// New tokens of a sequence share a pass over its cache, as more query heads would.
func (d *DecodeAttention) Points(s *Shape) (compute, memory Point, queries float64) {
	h := Heads{Query: s.M / s.Count * float64(s.Heads), KV: float64(s.KVHeads), Key: s.K, Value: float64(s.Value)}
	y := s.Count * h.KV
	context := max(s.N, d.Tile)
	return Point{context, y, h.TokenFlops()}, Point{context, y, s.Moved / (y * s.N)}, d.Query * s.Count * h.Query * (h.Key + h.Value)
}

func (d *DecodeAttention) Check() error {
	_, err := d.prepare()
	return errors.Join(err, sizes(d.Query, d.Tile))
}

func (d *DecodeAttention) prepare() (*decodeTiming, error) {
	s, err := d.sides(d.Work())
	if err != nil {
		return nil, fmt.Errorf("decode attention: %w", err)
	}
	return &decodeTiming{s, *d}, nil
}

type decodeTiming struct {
	sides
	d DecodeAttention
}

func (t *decodeTiming) Seconds(p *Pace, s *Shape) float64 {
	c, m, queries := t.d.Points(s)
	return t.latency + t.joined(p, c, m, queries)
}

func (t *decodeTiming) Beyond(s *Shape) bool {
	c, m, _ := t.d.Points(s)
	return t.beyond(c, m)
}
