package kernel

import (
	"errors"
	"fmt"
	"math"
)

// ExchangeModel is the time to send tokens to the processors of their experts (dispatch), or to
// return the results (combine). Kernels for throughput send a token once to every processor with
// one of its experts, across nodes once to every node, which forwards it. Kernels for low latency
// send it to each of its experts. Copies counts either.
//
// By default dispatch sends float8 with a float32 scale per 128 elements: 1 + 4/128 bytes each,
// plus 16 bytes per token for low latency. Combine sends bfloat16.
type ExchangeModel struct {
	Element float64 `json:"element_bytes"`          // bytes of an element with its share of a scale
	Header  float64 `json:"header_bytes,omitempty"` // bytes added to a token
	// Direct: each of its experts gets a copy of a token.
	Direct bool `json:"direct,omitempty"`
	// Levels are the node counts that were measured, rising.
	Levels []ExchangeLevel `json:"levels"`
}

var exchanges = sectionOf("exchange", func(s *Set) *map[string]*ExchangeModel { return &s.Exchange })

// exchangeSlot is one direction of exchanges, in the deployment's format.
func exchangeSlot(key, name, row string, width func(*Types) float64) slot {
	return slot{
		section: &exchanges, key: key, name: name, row: row, peak: LinkPeak,
		axes: "experts or copies of a token, copies that a GPU sends, bytes of a copy", of: "expert dispatch and combine, over as many nodes as were measured: for low latency in decode, for throughput in prefill",
		pick: func(s *Set, _ *Types) []string { return present(&exchanges, s, key) },
		prepare: func(s *Set, key string, t *Types) (Timing, error) {
			e := *s.Exchange[key]
			if element := width(t); element > 0 {
				e.Element = element // not as it was measured
			}
			return e.prepare()
		},
	}
}

func dispatched(t *Types) float64 { return t.Dispatch }
func combined(t *Types) float64   { return t.Combine }

// ExchangeLevel is an exchange over a number of nodes. Axes are spread, copies sent by one
// processor, and bytes of a copy. Spread is what shares the work: experts, if each gets a copy,
// else the copies of one token. Peak is the bytes at a processor's bandwidth in one direction, to
// its node on one node, to other nodes on several.
type ExchangeLevel struct {
	Nodes   float64 `json:"nodes"`
	From    string  `json:"from,omitempty"` // the chip that it was measured on, if another
	Latency float64 `json:"latency"`
	Memory  Surface `json:"bytes"`
	// Filled is the slowdown with full links, where the measured units cannot fill them, else 0.
	Filled float64 `json:"filled,omitempty"`
}

// moreUnits is the multiprocessors of an exchange for throughput without computation beside it, per
// one measured: 96 in place of 20 (SGLang's commands for Blackwell: --deepep-config
// '{"normal_dispatch":{"num_sms":96},…}').
const moreUnits = 96.0 / 20

// Work is copies times bytes of a copy.
func (l *ExchangeLevel) Work() Work { return Work{6: 1} }

// Unfilled reports whether exchanges were measured on too few units to fill the links.
func (s *Set) Unfilled() bool {
	for _, e := range s.Exchange {
		for i := range e.Levels {
			if e.Levels[i].Filled > 0 {
				return true
			}
		}
	}
	return false
}

// Width is the bytes of one copy of a token.
func (e *ExchangeModel) Width(hidden float64) float64 { return e.Element*hidden + e.Header }

// Copies is how many copies of a token leave its processor or, over several nodes, its node. With
// experts spread evenly over g processors (or nodes), a share of 1 - 1/g is elsewhere, and each of
// the g - 1 others has some of them with the chance of a visit. Combine returns as many.
func (e *ExchangeModel) Copies(s *Shape, ranks, nodes float64) float64 {
	g := ranks
	if nodes > 1 {
		g = min(nodes, ranks)
	}
	if !(g > 1) {
		return 0
	}
	if e.Direct {
		return s.N * (1 - 1/g)
	}
	return (g - 1) * Visit(s, g)
}

// Visit is the chance that some of a token's experts lie on one of several equal places. With E
// experts, k of them chosen, a place has none with probability
//
//	∏ (E - E/places - i) / (E - i),  i = 0 .. k-1
//
// With group-limited routing, that holds among the experts of the picked groups, given how many of
// them the place has, if places hold whole groups or groups a whole number of places.
func Visit(s *Shape, places float64) float64 {
	experts, groups, limit := float64(s.Experts), float64(s.Groups), float64(s.Limit)
	if !(limit > 0 && limit < groups) {
		return 1 - missed(experts, experts/places, s.N)
	}
	candidates := experts * limit / groups
	switch held := groups / places; {
	case held == math.Trunc(held):
		// The number of picked groups in the place follows the hypergeometric distribution.
		visit := 0.0
		for picked := max(0, limit-(groups-held)); picked <= min(held, limit); picked++ {
			chance := choose(held, picked) * choose(groups-held, limit-picked) / choose(groups, limit)
			visit += chance * (1 - missed(candidates, picked*experts/groups, s.N))
		}
		return visit
	case 1/held == math.Trunc(1/held):
		return limit / groups * (1 - missed(candidates, experts/places, s.N))
	}
	return 1 - missed(experts, experts/places, s.N)
}

// missed is the chance that none of a token's k experts is among some of all.
func missed(experts, some, k float64) float64 {
	none := 1.0
	for i := 0.0; i < k && none > 0; i++ {
		none *= max(experts-some-i, 0) / (experts - i)
	}
	return none
}

func choose(n, k float64) float64 {
	ways := 1.0
	for i := 0.0; i < k; i++ {
		ways *= (n - i) / (i + 1)
	}
	return ways
}

// Bytes is what a processor sends to others, or over several nodes to other nodes.
func (e *ExchangeModel) Bytes(s *Shape) float64 {
	return s.M * e.Copies(s, float64(s.Group), float64(s.Nodes)) * e.Width(s.K)
}

// Point is where an exchange lies on the surface of its level.
func (e *ExchangeModel) Point(s *Shape) Point { return e.point(s, float64(s.Nodes)) }

// point is where it would lie over a number of nodes.
func (e *ExchangeModel) point(s *Shape, nodes float64) Point {
	c := e.Copies(s, float64(s.Group), nodes)
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
		if l.Filled != 0 && !(l.Filled >= 1) || math.IsInf(l.Filled, 1) {
			return nil, fmt.Errorf("exchange over %g nodes: links that are full at a slowdown of %g", l.Nodes, l.Filled)
		}
		t.levels = append(t.levels, exchangeGrid{l.Nodes, s.latency, s.memory, l.From != "", l.Filled})
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
	carried        bool // from another chip
	filled         float64
}

func (t *exchangeTiming) reach() (nodes, ranks float64) { return t.levels[len(t.levels)-1].nodes, 0 }

// between returns the levels around a number of nodes, twice the same at or beyond a measured one.
func (t *exchangeTiming) between(nodes float64) (first, second *exchangeGrid) {
	i := 0
	for i < len(t.levels)-1 && t.levels[i].nodes < nodes {
		i++
	}
	second = &t.levels[i]
	if i == 0 || second.nodes <= nodes || t.levels[i-1].nodes == 1 {
		return second, second
	}
	return &t.levels[i-1], second
}

func (l *exchangeGrid) seconds(p *Pace, at Point) float64 {
	if at.Y == 0 {
		return l.latency
	}
	pace := p.Byte
	if l.nodes > 1 {
		pace = p.Far
	}
	moved := l.memory.at(at)
	if p.Idle && l.filled > 0 {
		moved = min(moved, max(moved/moreUnits, l.filled*at.Y*at.Z))
	}
	return l.latency + pace*moved
}

// Seconds interpolates by copies between measured numbers of nodes and grows with them beyond. It
// is never less than on fewer nodes: one node stands for what is forwarded inside nodes.
func (t *exchangeTiming) Seconds(p *Pace, s *Shape) float64 {
	nodes := float64(s.Nodes)
	first, second := t.between(nodes)
	fewer := 0.0
	for i := range t.levels {
		l := &t.levels[i]
		if l.nodes >= nodes {
			break
		}
		fewer = max(fewer, l.seconds(p, t.e.point(s, l.nodes)))
	}
	if first == second {
		return max(fewer, second.seconds(p, t.e.point(s, nodes)))
	}
	more := max(fewer, second.seconds(p, t.e.point(s, second.nodes)))
	ranks := float64(s.Group)
	from, to := t.e.Copies(s, ranks, first.nodes), t.e.Copies(s, ranks, second.nodes)
	if !(to > from) {
		return more
	}
	return fewer + (more-fewer)*min(1, (t.e.Copies(s, ranks, nodes)-from)/(to-from))
}

// Beyond: time beyond the measured nodes only grows with copies, and levels may be of another chip.
func (t *exchangeTiming) Beyond(s *Shape) bool {
	at := t.e.Point(s)
	first, second := t.between(float64(s.Nodes))
	if float64(s.Nodes) > second.nodes || first.carried || second.carried {
		return true
	}
	return at.Y != 0 && (!first.memory.holds(at) || !second.memory.holds(at))
}
