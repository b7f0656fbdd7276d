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
func (e *ExchangeModel) Point(tokens, topk, experts, hidden, ranks, nodes float64) (spread, copies, width float64) {
	c := e.Copies(topk, experts, ranks, nodes)
	spread = c
	if e.Direct {
		spread = experts
	}
	return spread, tokens * c, e.Width(hidden)
}

// At prepares the exchange for the bandwidths of a processor in one direction: inside its node, and to other nodes.
func (e *ExchangeModel) At(inside, outside float64) (*ExchangeTimer, error) {
	if !(e.Element > 0) || !(e.Header >= 0) {
		return nil, fmt.Errorf("exchange: %g bytes of an element, %g of a header", e.Element, e.Header)
	}
	if len(e.Levels) == 0 {
		return nil, errors.New("exchange: no levels")
	}
	t := &ExchangeTimer{e: *e}
	last := 0.0
	for i := range e.Levels {
		l := &e.Levels[i]
		if !(l.Nodes > last) || math.IsInf(l.Nodes, 1) {
			return nil, fmt.Errorf("exchange: %g nodes after %g", l.Nodes, last)
		}
		last = l.Nodes
		bandwidth := inside
		if l.Nodes > 1 {
			bandwidth = outside
		}
		b := Base{Latency: l.Latency, Norm: 1, Compute: Flat(1), Memory: l.Memory}
		s, err := b.sides(1, bandwidth, Work{}, l.Work())
		if err != nil {
			return nil, fmt.Errorf("exchange over %g nodes: %w", l.Nodes, err)
		}
		t.levels = append(t.levels, CurveTimer{latency: s.latency, memory: s.memory})
	}
	return t, nil
}

// ExchangeTimer gives the time of an exchange.
type ExchangeTimer struct {
	e      ExchangeModel
	levels []CurveTimer
}

// MostNodes is how many nodes were measured at most.
func (t *ExchangeTimer) MostNodes() float64 { return t.e.Levels[len(t.e.Levels)-1].Nodes }

// Seconds for so many tokens of each processor. Between measured numbers of nodes time is interpolated; beyond them it
// grows with the copies only.
func (t *ExchangeTimer) Seconds(tokens, topk, experts, hidden, ranks, nodes float64) float64 {
	x, y, z := t.e.Point(tokens, topk, experts, hidden, ranks, nodes)
	at := func(i int) float64 {
		l := &t.levels[i]
		if y == 0 {
			return l.latency
		}
		return l.latency + l.memory.seconds(x, y, z)
	}
	levels := t.e.Levels
	i := 0
	for i < len(levels)-1 && levels[i].Nodes < nodes {
		i++
	}
	if i == 0 || levels[i].Nodes <= nodes {
		return at(i)
	}
	f := (nodes - levels[i-1].Nodes) / (levels[i].Nodes - levels[i-1].Nodes)
	return (1-f)*at(i-1) + f*at(i)
}
