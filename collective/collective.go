// Package collective prices communication between processors on the networks of a system.
//
// A group within one level of the network communicates there. A group that spans several does so in
// steps: a reduction or gathering first shrinks the data inside, an all-to-all uses both networks
// side by side. Where a library with known protocols (library.go) drives a level, they set the time
// of groups that span it.
package collective

import (
	"slices"

	"throughline/hardware"
)

// Net prices communication on the networks of one system.
type Net struct {
	levels     []hardware.Network // innermost first
	bytesPerGB float64
}

func NewNet(s *hardware.System, bytesPerGB float64) Net { return Net{s.Networks, bytesPerGB} }

// Flat reports whether no efficiency depends on message size, so that a route serves every size.
func (n *Net) Flat() bool {
	for i := range n.levels {
		if len(n.levels[i].MessageSize) > 1 {
			return false
		}
	}
	return true
}

// Chooses reports whether some level is driven by a library that chooses between protocols.
func (n *Net) Chooses() bool {
	for i := range n.levels {
		if l := libraries[n.levels[i].Library]; i > 0 && l != nil && len(l.Collectives) > 0 {
			return true
		}
	}
	return false
}

// Duration is the time of a communication and the computation it displaces.
type Duration struct {
	Seconds   float64
	Displaced float64 // seconds of computation lost if the communication runs beside it
}

// Time is the duration of a collective in a group. Message is the bytes that a processor
// contributes: the whole tensor of an all-reduce, reduce-scatter or all-gather, or what one
// processor sends in an all-to-all or a transfer.
func (n *Net) Time(c hardware.Collective, m hardware.Members, message float64) Duration {
	r := n.Route(c, m, message)
	return r.Time(message)
}

// Route is the way a collective takes, as straight lines in the size of the message.
type Route struct {
	// Scale is how many times over the message is sent, by the op_scalar of the outermost level.
	Scale float64

	// Lines and the quickest of a library's choices run side by side, and the longest decides.
	n, offers int // of each; first, as most routes are short
	lines     [maxLines]line
	choices   [maxChoices]line
}

// maxLines is the network levels an all-to-all uses side by side; deeper ones join the last line.
// maxChoices is a library's protocols for one pattern.
const (
	maxLines   = 4
	maxChoices = 6
)

type line struct{ seconds, perByte, displaced, displacedPerByte float64 }

func (l line) plus(o line) line {
	return line{l.seconds + o.seconds, l.perByte + o.perByte, l.displaced + o.displaced, l.displacedPerByte + o.displacedPerByte}
}

func (l *line) at(message float64) Duration {
	return Duration{l.seconds + l.perByte*message, l.displaced + l.displacedPerByte*message}
}

// Time of a message on the route. Every network takes its share of computation while it is busy.
func (r *Route) Time(message float64) Duration {
	var d Duration
	for i := range r.lines[:r.n] {
		l := r.lines[i].at(message)
		d.Seconds = max(d.Seconds, l.Seconds)
		d.Displaced += l.Displaced
	}
	if r.offers > 0 {
		best := r.choices[0].at(message)
		for i := range r.choices[1:r.offers] {
			if t := r.choices[1+i].at(message); t.Seconds < best.Seconds {
				best = t
			}
		}
		d.Seconds = max(d.Seconds, best.Seconds)
		d.Displaced += best.Displaced
	}
	return d
}

// Displaces reports whether messages on the route displace computation.
func (r *Route) Displaces() bool {
	displaces := func(l line) bool { return l.displaced != 0 || l.displacedPerByte != 0 }
	return slices.ContainsFunc(r.lines[:r.n], displaces) || slices.ContainsFunc(r.choices[:r.offers], displaces)
}

// Route finds the way for messages of about the given size; on flat networks, of any.
func (n *Net) Route(c hardware.Collective, m hardware.Members, message float64) Route {
	return n.route(c, m, message, 0)
}

// Outside is the part of the way beyond the innermost network.
func (n *Net) Outside(c hardware.Collective, m hardware.Members, message float64) Route {
	return n.route(c, m, message, 1)
}

func (n *Net) route(c hardware.Collective, m hardware.Members, message float64, from int) Route {
	var r Route
	var room [usualLegs]leg
	for _, g := range n.appendLegs(room[:0], c, m) {
		r.Scale = n.levels[g.level].Ops[c].Scale
		if g.level < from {
			continue
		}
		if g.protocols != nil {
			r.offers = n.choose(&r.choices, g, message)
			continue
		}
		l := n.line(g, message)
		switch {
		case r.n == 0 || g.beside && r.n < maxLines:
			r.lines[r.n] = l
			r.n++
		default:
			r.lines[r.n-1] = r.lines[r.n-1].plus(l)
		}
	}
	return r
}

// leg is a part of a collective that one network level carries.
type leg struct {
	level  int
	c      hardware.Collective
	group  int
	share  float64 // of the message
	beside bool    // runs beside the legs before it, not after them

	// Of a collective that a library drives across a level: its protocols, the processors of the
	// complete group, and how many of them each group of the level below has.
	protocols       []protocol
	members, inside int
}

// usualLegs is room for the legs of three levels, so that they need no allocation.
const usualLegs = 6

// appendLegs cuts a collective into its parts, level by level.
func (n *Net) appendLegs(out []leg, c hardware.Collective, m hardware.Members) []leg {
	if m.Group < 2 {
		return out
	}
	group, stride, share, below := m.Group, m.Span/m.Group, 1.0, 1
	for i := range n.levels {
		l := &n.levels[i]
		inside, groups := spread(group, stride, l.Size, m.World)
		if groups == 1 || i == len(n.levels)-1 {
			g := leg{level: i, c: c, group: group, share: share, beside: c == hardware.AllToAll}
			if i > 0 {
				g.protocols = protocolsOf(l.Library, c)
				g.members, g.inside = m.Group, below
			}
			return append(out, g)
		}
		if groups == group || c == hardware.PointToPoint {
			continue // nothing happens inside
		}
		switch c {
		case hardware.AllToAll:
			// What stays inside and what leaves run side by side, each on its own network.
			stays := 1 / float64(groups)
			if inside*groups < group { // parts are uneven, and this one is the smallest
				stays = float64(inside) / float64(group)
			}
			within := share * stays
			if protocolsOf(n.levels[i+1].Library, c) != nil {
				within = share // a library takes no less than on one node
			}
			out = append(out, leg{level: i, c: c, group: inside, share: within, beside: true})
			// Of the rest an even share goes to each of the other groups.
			share *= (1 - stays) / (1 - 1/float64(groups))
		case hardware.AllReduce:
			out = append(out, leg{level: i, c: hardware.ReduceScatter, group: inside, share: share},
				leg{level: i, c: hardware.AllGather, group: inside, share: share})
			share /= float64(inside)
		default:
			out = append(out, leg{level: i, c: c, group: inside, share: share})
			share /= float64(inside)
		}
		below *= inside
		group, stride = groups, l.Size
	}
	return out
}

// spread returns the members of the smallest part, and the number of parts, of a group of
// processors that lie stride apart, on a level of the given size. Groups follow one another through
// world processors; some may cross borders of the level, and the one with the smallest part is the
// slowest. Without a world, groups begin where those of the level begin.
func spread(group, stride, size, world int) (inside, groups int) {
	block := group * stride
	if (hardware.Members{Group: group, Span: block, World: world}).Within(size) {
		return group, 1
	}
	inside = size / stride
	if inside < 2 {
		return 1, group
	}
	groups = (group + inside - 1) / inside
	if world == 0 || block%size == 0 {
		return inside, groups
	}
	// Parts of the k-th group, whose borders are inside apart.
	places, fewest := inside, inside
	for k, first := 0, 0; k < max(1, world/block); k++ {
		last := first + group // behind it
		parts := (last + places - 1) / places
		if parts > 1 {
			groups = max(groups, parts)
			fewest = min(fewest, places-first)
			if rest := last % places; rest > 0 {
				fewest = min(fewest, rest)
			}
		}
		if first = last % places; first == 0 {
			break // from here on it repeats
		}
	}
	return fewest, groups
}

// line is the time of a leg: its hops, and its volume over the bandwidth for its pattern and group.
func (n *Net) line(g leg, message float64) line {
	l := &n.levels[g.level]
	rate := &l.Ops[g.c]
	t := topologies[l.Topology]
	bandwidth := l.Bandwidth * n.bytesPerGB * l.Efficiency * rate.EfficiencyAt(g.group) * l.MessageSize.At(message*g.share/1e6)
	seconds := t.hops(g.c, g.group) * l.Latency
	perByte := g.share * rate.Volume(1, g.group) * t.load(g.c, g.group, l.Size) / bandwidth
	return line{seconds, perByte, seconds * l.ProcessorUsage, perByte * l.ProcessorUsage}
}

// Shares visits the efficiency table and the share of the message of every part of a collective.
func (n *Net) Shares(c hardware.Collective, m hardware.Members, visit func(t hardware.SizeTable, share float64)) {
	var room [usualLegs]leg
	for _, g := range n.appendLegs(room[:0], c, m) {
		visit(n.levels[g.level].MessageSize, g.share)
	}
}

// Levels are the network levels that a collective uses, from the inside out.
func (n *Net) Levels(c hardware.Collective, m hardware.Members) (out []int) {
	var room [usualLegs]leg
	for _, g := range n.appendLegs(room[:0], c, m) {
		if len(out) == 0 || out[len(out)-1] != g.level {
			out = append(out, g.level)
		}
	}
	return out
}

// Nodes is how many groups of the innermost network a group spans, and its members in the smallest.
func (n *Net) Nodes(m hardware.Members) (nodes, inside int) {
	inside, nodes = spread(m.Group, max(1, m.Span/max(1, m.Group)), n.levels[0].Size, m.World)
	return nodes, inside
}

// Crosses reports whether a group that would fit the innermost network crosses its borders, since
// groups of its kind follow one another.
func (n *Net) Crosses(m hardware.Members) bool {
	size := n.levels[0].Size
	return m.Span <= size && !m.Within(size)
}
