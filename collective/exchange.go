package collective

import (
	"math"
	"slices"

	"throughline/hardware"
	"throughline/hardware/kernel"
)

// Mode is one way of a library to dispatch tokens to their experts and to combine the results. The
// time is
//
//	latency + (inside^join + outside^join)^(1/join) + message · (messages between nodes)
//
// where inside is the bytes that processors of a node forward, at the lesser of a share of their
// link and the kernels' copy rate, and outside the bytes that leave the node at a share of its
// link. The larger join, the better the two overlap.
type Mode struct {
	Name string `json:"name"`
	// MostTokens is the most tokens per processor for which the library takes this mode; 0: any.
	MostTokens float64 `json:"most_tokens"`
	// Collective: one all-to-all of the copies, priced by the system's networks, not the formula.
	Collective bool `json:"collective"`
	// Direct: each expert of a token gets a copy. Otherwise each processor with some of them does
	// and, between nodes, each node, which forwards it.
	Direct   bool   `json:"direct"`
	Dispatch Format `json:"dispatch"`
	Combine  Format `json:"combine"`
	// Terms of the time; those of a fabric with its own replace them.
	Terms
	Fabrics map[string]Terms `json:"fabrics"`
	// Slots of measured kernels that give the time where a system has them: dispatch, combine.
	Slots []string `json:"slots"`
	Range Range    `json:"range"`
	// Spread by tokens per processor, rising.
	Spread []Spread `json:"spread"`
}

// Format is the bytes of a sent element, with its share of a scale, and of a token's header.
type Format struct {
	Element float64 `json:"element_bytes"`
	Header  float64 `json:"header_bytes"`
}

// Terms are the numbers of a mode.
type Terms struct {
	Latency      float64 `json:"latency_us"`
	InsideShare  float64 `json:"inside_share"`
	InsideMost   float64 `json:"inside_most_GBps"`
	OutsideShare float64 `json:"outside_share"`
	Join         float64 `json:"join"`
	Message      float64 `json:"message_us"`
}

// Range is where the numbers of a mode hold: beyond it they are estimates.
type Range struct {
	Ranks  [2]float64 `json:"ranks"`
	Tokens [2]float64 `json:"tokens"`
}

// Spread is how much ranks and rounds vary: the slowest rank over the mean one, and the standard
// deviation between rounds, as a share, of the mean over ranks and of the slowest.
type Spread struct {
	Tokens   float64   `json:"tokens"`
	Dispatch Variation `json:"dispatch"`
	Combine  Variation `json:"combine"`
}

// Variation is the spread of one direction.
type Variation struct {
	Slowest   float64 `json:"slowest"`
	Mean      float64 `json:"mean_deviation"`
	OfSlowest float64 `json:"slowest_deviation"`
}

// Plain is the library of the network formula alone, for hardware that has none.
const Plain = "plain"

// Mode is the library's way for a number of tokens per processor; nil where it has none of its own.
func (l *Library) Mode(tokens float64) *Mode {
	for i := range l.Modes {
		if m := &l.Modes[i]; m.MostTokens == 0 || tokens <= m.MostTokens {
			return m
		}
	}
	return nil
}

// FabricNames are the networks between nodes for which some mode has its own numbers, sorted.
func (l *Library) FabricNames() []string {
	var out []string
	for i := range l.Modes {
		for name := range l.Modes[i].Fabrics {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (m *Mode) Holds(s *kernel.Shape) bool {
	within := func(v float64, r [2]float64) bool { return v >= r[0] && v <= r[1] }
	return within(float64(s.Group), m.Range.Ranks) && within(s.M, m.Range.Tokens)
}

// Seconds is the time of one direction on a system and a fabric ("": the usual one).
func (m *Mode) Seconds(sys *hardware.System, fabric string, s *kernel.Shape, f Format) float64 {
	t := m.Terms
	if own, ok := m.Fabrics[fabric]; ok {
		t = own
	}
	e := kernel.ExchangeModel{Element: f.Element, Header: f.Header, Direct: m.Direct}
	ranks, nodes, width := float64(s.Group), float64(s.Nodes), e.Width(s.K)
	near, far := e.Copies(s, ranks, 1), 0.0
	if nodes > 1 {
		far = e.Copies(s, ranks, nodes)
		if m.Direct {
			near -= far // only what stays on the node
		}
	}
	link := min(t.InsideShare*sys.Networks[0].Bandwidth, t.InsideMost)
	outer := t.OutsideShare * sys.Networks[min(1, len(sys.Networks)-1)].Bandwidth
	inside, outside := s.M*near*width/(link*1e9), s.M*far*width/(outer*1e9)
	return t.Latency*1e-6 + math.Pow(math.Pow(inside, t.Join)+math.Pow(outside, t.Join), 1/t.Join) + t.Message*1e-6*s.M*far
}

// SpreadAt is the spread for a number of tokens, interpolated by logarithm.
func (m *Mode) SpreadAt(tokens float64) (dispatch, combine Variation) {
	if len(m.Spread) == 0 {
		return Variation{Slowest: 1}, Variation{Slowest: 1}
	}
	i := 0
	for i < len(m.Spread)-1 && m.Spread[i+1].Tokens <= tokens {
		i++
	}
	a, b := &m.Spread[i], &m.Spread[min(i+1, len(m.Spread)-1)]
	share := 0.0
	if b.Tokens > a.Tokens {
		share = min(1, max(0, math.Log(tokens/a.Tokens)/math.Log(b.Tokens/a.Tokens)))
	}
	mix := func(a, b Variation) Variation {
		at := func(x, y float64) float64 { return x + share*(y-x) }
		return Variation{at(a.Slowest, b.Slowest), at(a.Mean, b.Mean), at(a.OfSlowest, b.OfSlowest)}
	}
	return mix(a.Dispatch, b.Dispatch), mix(a.Combine, b.Combine)
}
