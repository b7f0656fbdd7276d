package kernel

import (
	"errors"
	"fmt"
	"math"
)

// ExchangeModel is how long it takes to send tokens to the processors of their experts (dispatch), or to bring back what the
// experts made of them (combine). There are two kinds. Kernels for throughput send a token once to every processor that
// has one of its experts, and across nodes once to every node, which passes it on inside. Kernels for low latency send
// it to each of its experts. Copies counts either.
//
// Dispatch sends elements of float8 with a float32 scale for every 128 of them: 1 + 4/128 bytes each. Those for low
// latency add 16 bytes to a token. Combine sends bfloat16.
type ExchangeModel struct {
	Element float64 `json:"element_bytes"`          // bytes of an element with its share of a scale
	Header  float64 `json:"header_bytes,omitempty"` // bytes added to a token
	// Direct: each of its experts gets a copy of a token.
	Direct bool `json:"direct,omitempty"`
	// Levels are the nodes that were measured, rising.
	Levels []ExchangeLevel `json:"levels"`
}

var exchanges = sectionOf("exchange", func(s *Set) *map[string]*ExchangeModel { return &s.Exchange })

// exchangeSlot is one direction of exchanges. Tokens are sent in the precision of communication; results come back in
// 16 bits in any case.
func exchangeSlot(key, name, row string, results bool) slot {
	return slot{
		section: &exchanges, key: key, name: name, row: row, peak: LinkPeak,
		axes: "experts or copies of a token, copies that a processor sends, bytes of a copy", of: "expert dispatch and combine, over as many nodes as were measured: for low latency in decode, for throughput in prefill",
		pick: func(s *Set, _ *Types) []string { return present(&exchanges, s, key) },
		prepare: func(s *Set, key string, t *Types) (Timing, error) {
			e := *s.Exchange[key]
			if !results {
				e.Element = max(e.Element, t.Comm) // wider than it was measured, if so
			}
			return e.prepare()
		},
	}
}

// ExchangeLevel is an exchange over so many nodes. The axes are spread, the copies that one processor sends, and the bytes
// of a copy. Spread is the number of experts where every expert gets a copy, as so many thread blocks share the work;
// else the copies of one token, as the work on a token is shared by them. Peak is the bytes at the bandwidth of
// a processor in one direction: to its node on one node, to other nodes on several.
type ExchangeLevel struct {
	Nodes   float64 `json:"nodes"`
	Latency float64 `json:"latency"`
	Memory  Surface `json:"bytes"`
}

// Work is copies times bytes of a copy.
func (l *ExchangeLevel) Work() Work { return Work{6: 1} }

// Width is the bytes of one copy of a token.
func (e *ExchangeModel) Width(hidden float64) float64 { return e.Element*hidden + e.Header }

// Copies is how many copies of one token leave its processor or, over several nodes, its node. With experts chosen evenly
// and g processors (or nodes), a share of 1 - 1/g of the experts is elsewhere; and each of the g - 1 others has
// none of the k experts with probability
//
//	∏ (E - E/g - i) / (E - i),  i = 0 .. k-1
//
// where E is the number of experts. Combine sends as many back.
func (e *ExchangeModel) Copies(topk, experts, ranks, nodes float64) float64 {
	g := ranks
	if nodes > 1 {
		g = min(nodes, ranks)
	}
	if !(g > 1) {
		return 0
	}
	if e.Direct {
		return topk * (1 - 1/g)
	}
	none := 1.0
	for i := 0.0; i < topk && none > 0; i++ {
		none *= max(experts-experts/g-i, 0) / (experts - i)
	}
	return (g - 1) * (1 - none)
}

// Bytes is what one processor sends to others, or over several nodes to other nodes, for so many tokens of its own.
func (e *ExchangeModel) Bytes(tokens, topk, experts, hidden, ranks, nodes float64) float64 {
	return tokens * e.Copies(topk, experts, ranks, nodes) * e.Width(hidden)
}

// Point is where an exchange lies on the surface of its level.
func (e *ExchangeModel) Point(s *Shape) Point {
	c := e.Copies(s.N, float64(s.Experts), float64(s.Group), float64(s.Nodes))
	spread := c
	if e.Direct {
		spread = float64(s.Experts)
	}
	return Point{spread, s.M * c, e.Width(s.K)}
}

// Numbers is how many of them were fitted.
func (e *ExchangeModel) Numbers() (n int) {
	for i := range e.Levels {
		n += len(e.Levels[i].Memory.Slowdown) + 1
	}
	return n
}

// Check says what is wrong with the model.
func (e *ExchangeModel) Check() error {
	_, err := e.prepare()
	return err
}

func (e *ExchangeModel) prepare() (*exchangeTiming, error) {
	if !(e.Element > 0) || !(e.Header >= 0) {
		return nil, fmt.Errorf("exchange: %g bytes of an element, %g of a header", e.Element, e.Header)
	}
	if len(e.Levels) == 0 {
		return nil, errors.New("exchange: no levels")
	}
	t := &exchangeTiming{e: *e}
	last := 0.0
	for i := range e.Levels {
		l := &e.Levels[i]
		if !(l.Nodes > last) || math.IsInf(l.Nodes, 1) {
			return nil, fmt.Errorf("exchange: %g nodes after %g", l.Nodes, last)
		}
		last = l.Nodes
		s, err := moving(l.Latency, l.Memory, l.Work())
		if err != nil {
			return nil, fmt.Errorf("exchange over %g nodes: %w", l.Nodes, err)
		}
		t.levels = append(t.levels, exchangeGrid{l.Nodes, s.latency, s.memory})
	}
	return t, nil
}

type exchangeTiming struct {
	e      ExchangeModel
	levels []exchangeGrid
}

type exchangeGrid struct {
	nodes, latency float64
	memory         grid
}

func (t *exchangeTiming) reach() (nodes, ranks float64) { return t.levels[len(t.levels)-1].nodes, 0 }

// between are the levels around a number of nodes, and how far from the first to the second. Between measured numbers of
// nodes time is interpolated; beyond them it grows with the copies only.
func (t *exchangeTiming) between(nodes float64) (first, second *exchangeGrid, share float64) {
	i := 0
	for i < len(t.levels)-1 && t.levels[i].nodes < nodes {
		i++
	}
	l := &t.levels[i]
	if i == 0 || l.nodes <= nodes {
		return l, l, 0
	}
	before := &t.levels[i-1]
	return before, l, (nodes - before.nodes) / (l.nodes - before.nodes)
}

func (l *exchangeGrid) seconds(p *Pace, at Point) float64 {
	if at.Y == 0 {
		return l.latency
	}
	pace := p.Byte
	if l.nodes > 1 {
		pace = p.Far
	}
	return l.latency + pace*l.memory.at(at)
}

func (t *exchangeTiming) Seconds(p *Pace, s *Shape) float64 {
	at := t.e.Point(s)
	first, second, share := t.between(float64(s.Nodes))
	if share == 0 {
		return first.seconds(p, at)
	}
	return (1-share)*first.seconds(p, at) + share*second.seconds(p, at)
}

func (t *exchangeTiming) Beyond(s *Shape) bool {
	at := t.e.Point(s)
	first, second, _ := t.between(float64(s.Nodes))
	return at.Y != 0 && (!first.memory.holds(at) || !second.memory.holds(at))
}
