package cost

import (
	"throughline/collective"
	"throughline/hardware"
)

// network prices collectives and remembers their routes: a search meets the same few groups over and over.
type network struct {
	collective.Net
	flat   bool
	routes [256]knownRoute
}

type knownRoute struct {
	c           hardware.Collective
	group, span int // 0 in an empty place
	route       collective.Route
}

func newNetwork(s *hardware.System, bytesPerGB float64) network {
	n := network{Net: collective.NewNet(s, bytesPerGB)}
	n.flat = n.Flat()
	return n
}

// Time is Net.Time with the route remembered where it does not depend on the message.
func (n *network) Time(c hardware.Collective, group, span int, message float64) collective.Duration {
	if !n.flat {
		return n.Net.Time(c, group, span, message)
	}
	k := &n.routes[(group*5+span*3+int(c)*61)%len(n.routes)]
	if k.group != group || k.span != span || k.c != c {
		*k = knownRoute{c, group, span, n.Route(c, group, span, message)}
	}
	return k.route.Time(message)
}
