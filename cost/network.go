package cost

import (
	"throughline/collective"
	"throughline/hardware"
)

// network prices collectives and remembers their routes: a search meets the same few groups over and over.
type network struct {
	collective.Net
	flat    bool
	chooses bool
	state   uint32             // of the networks: counts their changes, each of which makes what is known obsolete
	routes  [256][2]knownRoute // two places for each hash
}

// knownRoute is what is mostly asked of a route, close together, and all the rest.
type knownRoute struct {
	way       way
	displaces bool // computation, while it communicates
	// Of the group: whether it crosses a border that it need not, the nodes that it spans, and the members in the smallest part of it.
	crosses       bool
	nodes, inside int32
	scale         float64
	route         *collective.Route
}

// way is a collective in a group, in a state of the networks; the zero value is none.
type way struct {
	group, span, world int32
	state              uint32
	c                  hardware.Collective
	outside            bool // of the innermost network
}

// on takes the networks of a system.
func (n *network) on(s *hardware.System, bytesPerGB float64) {
	n.Net = collective.NewNet(s, bytesPerGB)
	n.flat, n.chooses = n.Flat(), n.Chooses()
	if n.state++; n.state == 0 { // all states have been in use
		n.routes = [256][2]knownRoute{}
		n.state = 1
	}
}

// place spreads collectives over the routes. Groups are mostly powers of two, which plain sums would pile up.
func (w *way) place() uint8 {
	h := uint32(w.group)*0x9e3779b1 ^ uint32(w.span)*0x85ebca77 ^ uint32(w.world)*0x27d4eb2f ^ uint32(w.c)*0xc2b2ae3d
	if w.outside {
		h += 0x01000000
	}
	return uint8(h >> 24)
}

// route is Net.Route, remembered where it does not depend on the message.
func (n *network) route(c hardware.Collective, m hardware.Members, message float64) *knownRoute {
	return n.find(way{group: int32(m.Group), span: int32(m.Span), world: int32(m.World), c: c}, message)
}

// outside is Net.Outside, remembered likewise.
func (n *network) outside(c hardware.Collective, m hardware.Members, message float64) *knownRoute {
	return n.find(way{group: int32(m.Group), span: int32(m.Span), world: int32(m.World), c: c, outside: true}, message)
}

func (n *network) find(w way, message float64) *knownRoute {
	w.state = n.state
	known := &n.routes[w.place()]
	switch {
	case !n.flat:
	case known[0].way == w:
		return &known[0]
	case known[1].way == w:
		return &known[1]
	}
	route := known[1].route // its memory is free
	if route == nil {
		route = &collective.Route{}
	}
	known[1] = known[0]
	m := hardware.Members{Group: int(w.group), Span: int(w.span), World: int(w.world)}
	if w.outside {
		*route = n.Outside(w.c, m, message)
	} else {
		*route = n.Route(w.c, m, message)
	}
	nodes, inside := n.Nodes(m)
	known[0] = knownRoute{w, route.Displaces(), n.Crosses(m), int32(nodes), int32(inside), route.Scale, route}
	return &known[0]
}

// time is how long a message takes on the route.
func (r *knownRoute) time(message float64) float64 { return r.route.Time(message).Seconds }
