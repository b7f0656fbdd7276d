// Package exchange predicts how long communication libraries take to send tokens to the processors
// of their experts and to bring back the results.
package exchange

import (
	"throughline/assume"
	"throughline/collective"
	"throughline/cost"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

type Question struct {
	Libraries []*collective.Library
	Ranks     []int // of an expert group
	Tokens    []int // of one of them
	System    *hardware.System
	Model     *model.Model
	Fabric    string   // network between nodes; empty: the default
	Dispatch  float64  // bytes of an element on the way to the experts; 0: what the library sends
	Combine   float64  // and back
	Place     []string // on the axes, where several are asked
}

// Row is one answer, in seconds.
type Row struct {
	Library       string
	Mode          string
	Ranks, Tokens int
	Dispatch      Direction
	Combine       Direction
	Basis         cost.Level // what the times rest on
	Place         []string   // that of the question
}

// Direction is the time one way: of the mean rank and the slowest, each with its standard deviation
// between rounds.
type Direction struct {
	Mean, MeanDeviation       float64
	Slowest, SlowestDeviation float64
}

// Total returns the time of the slowest ranks both ways.
func (r *Row) Total() float64 { return r.Dispatch.Slowest + r.Combine.Slowest }

// Rows answers a question, library by library.
func Rows(q *Question) ([]Row, error) {
	var out []Row
	for _, l := range q.Libraries {
		for _, ranks := range q.Ranks {
			for _, tokens := range q.Tokens {
				r, err := q.row(l, ranks, tokens)
				if err != nil {
					return nil, err
				}
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func (q *Question) row(l *collective.Library, ranks, tokens int) (Row, error) {
	m := l.Mode(float64(tokens))
	r := Row{Library: l.Name, Mode: m.Name, Ranks: ranks, Tokens: tokens, Basis: cost.Measured, Place: q.Place}
	a, b := m.SpreadAt(float64(tokens))
	for i, way := range []struct {
		format *collective.Format
		asked  float64
		out    *Direction
		v      collective.Variation
	}{{&m.Dispatch, q.Dispatch, &r.Dispatch, a}, {&m.Combine, q.Combine, &r.Combine, b}} {
		f := *way.format
		if way.asked > 0 {
			f.Element = way.asked
		}
		t, level, err := q.seconds(l, m, i, f, ranks, tokens)
		if err != nil {
			return r, err
		}
		r.Basis = min(r.Basis, level)
		slowest := t * way.v.Slowest
		*way.out = Direction{t, t * way.v.Mean, slowest, slowest * way.v.OfSlowest}
	}
	return r, nil
}

// seconds returns the time of one direction on the mean rank, and its basis: kernels measured on
// the system if the mode has some, the network for a collective, else the terms of the mode.
func (q *Question) seconds(l *collective.Library, m *collective.Mode, direction int, f collective.Format, ranks, tokens int) (float64, cost.Level, error) {
	e := &q.Model.Experts
	hidden := float64(q.Model.Hidden)
	if e.Hidden > 0 {
		hidden = float64(e.Hidden)
	}
	o := op.Op{Class: op.Comm, Collective: hardware.AllToAll, Span: int32(ranks), World: int32(ranks)}
	message := float64(tokens) * float64(e.TopK) * (hidden*f.Element + f.Header)
	o.Shape = kernel.Shape{M: float64(tokens), N: float64(e.TopK), K: hidden, Moved: message, Group: int32(ranks),
		Experts: int32(e.Routed), Groups: int16(e.Groups), Limit: int16(e.TopGroups)}

	system, measured := *q.System, false
	if m.Collective {
		system = q.driven(l.Name)
		o.Kernels[0].Slot, measured = kernel.AllToAll, l.Name != collective.Plain
	} else if len(m.Slots) > direction && q.Fabric == "" {
		if slot, ok := slotOf(m.Slots[direction]); ok && system.Kernels != nil && system.Kernels.Model(slot, m.Slots[direction]) != nil {
			o.Kernels[0].Slot, measured = slot, true
		}
	}
	if !measured && !m.Collective {
		net := collective.NewNet(q.System, bytesPerGB)
		nodes, _ := net.Nodes(o.Members())
		o.Nodes = int16(nodes)
		level := cost.Estimated
		if m.Holds(&o.Shape) {
			level = cost.Fitted
		}
		return m.Seconds(q.System, q.Fabric, &o.Shape, f), level, nil
	}
	if !measured {
		system.Kernels = nil
	}
	prec := plan.Precision{Comm: f.Element, Dispatch: f.Element, Combine: f.Element,
		MatrixType: system.MatrixTypes()[0], AttentionType: system.MatrixTypes()[0], VectorType: system.VectorTypes()[0]}
	p, err := cost.NewPricer(&system, &prec, &assume.Physical)
	if err != nil {
		return 0, cost.Estimated, err
	}
	_, level := p.ErrorOf(&o)
	return p.Communicate(&o).Time, level, nil
}

// bytesPerGB as in the data of libraries.
const bytesPerGB = 1e9

// driven returns the system with a library driving its networks between nodes.
func (q *Question) driven(library string) hardware.System {
	s := *q.System
	s.Networks = append([]hardware.Network(nil), s.Networks...)
	for i := 1; i < len(s.Networks); i++ {
		s.Networks[i].Library = library
	}
	return s
}

// slotOf finds the slot of an exchange by the key of its models.
func slotOf(key string) (kernel.Slot, bool) {
	for _, s := range kernel.Slots() {
		if s.Section() == "exchange" && s.Key() == key {
			return s, true
		}
	}
	return kernel.None, false
}
