package cost

import (
	"throughline/collective"
	"throughline/hardware"
)

// network prices collectives and remembers their routes: a search meets the same few groups over and over.
type network struct {
	collective.Net
	flat   bool
	state  uint32             // of the networks: counts their changes, each of which makes what is known obsolete
	routes [256][2]knownRoute // two places for each hash
}

type knownRoute struct {
	way   way
	route collective.Route
}

// way is a collective in a group, in a state of the networks; the zero value is none.
type way struct {
	group, span int32
	state       uint32
	c           hardware.Collective
}

// on takes the networks of a system.
func (n *network) on(s *hardware.System, bytesPerGB float64) {
	n.Net = collective.NewNet(s, bytesPerGB)
	n.flat = n.Flat()
	if n.state++; n.state == 0 { // all states have been in use
		n.routes = [256][2]knownRoute{}
		n.state = 1
	}
}

// place spreads collectives over the routes. Groups are mostly powers of two, which plain sums would pile up.
func place(c hardware.Collective, group, span int) uint8 {
	return uint8((uint32(group)*0x9e3779b1 ^ uint32(span)*0x85ebca77 ^ uint32(c)*0xc2b2ae3d) >> 24)
}

// route is Net.Route, remembered where it does not depend on the message.
func (n *network) route(c hardware.Collective, group, span int, message float64) *collective.Route {
	known := &n.routes[place(c, group, span)]
	w := way{int32(group), int32(span), n.state, c}
	switch {
	case !n.flat:
	case known[0].way == w:
		return &known[0].route
	case known[1].way == w:
		return &known[1].route
	}
	known[1] = known[0]
	known[0] = knownRoute{w, n.Route(c, group, span, message)}
	return &known[0].route
}
