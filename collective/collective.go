// Package collective says how long a communication between processors takes on the networks of a system.
//
// A group that lies within one level of the network communicates there. A group that spans several does so in steps: a
// reduction or gathering first makes the data small inside, an all-to-all uses both networks side by side. Where a level is
// driven by a library whose protocols are known (library.go), those give the time of groups that span it.
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

// NewNet prepares the networks of a system.
func NewNet(s *hardware.System, bytesPerGB float64) Net { return Net{s.Networks, bytesPerGB} }

// Flat reports whether no efficiency depends on the size of a message, so that a route serves messages of every size.
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
		if i > 0 && libraries[n.levels[i].Library] != nil {
			return true
		}
	}
	return false
}

// Duration is the time of a communication, and how much of it computes at the expense of other work.
type Duration struct {
	Seconds   float64
	Displaced float64 // seconds of computation that are lost if the communication runs beside it
}

// Time is the duration of a collective between the members of a group. Message is the bytes that a processor contributes:
// the whole tensor of an all-reduce, reduce-scatter or all-gather; what one processor sends in all in an all-to-all; what it
// sends in a point-to-point transfer.
func (n *Net) Time(c hardware.Collective, m hardware.Members, message float64) Duration {
	r := n.Route(c, m, message)
	return r.Time(message)
}

// Route is the way a collective takes, as straight lines in the size of the message.
type Route struct {
	// Scale is how many times over the message is sent, by the op_scalar of the outermost level.
	Scale float64

	// Lines run side by side: the longest decides when it is done. Of the choices, the ways in which a library can do it, the
	// quickest is taken, and runs beside the lines.
	n, offers int // of each; first, as most routes are short
	lines     [maxLines]line
	choices   [maxChoices]line
}

// maxLines is the network levels that an all-to-all can use side by side; deeper ones join the last line. maxChoices is the
// protocols of a library for one pattern.
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

// Time of a message on the route. Every network takes its share of the computation for as long as it is busy.
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

// Displaces reports whether messages on the route compute at the expense of other work.
func (r *Route) Displaces() bool {
	displaces := func(l line) bool { return l.displaced != 0 || l.displacedPerByte != 0 }
	return slices.ContainsFunc(r.lines[:r.n], displaces) || slices.ContainsFunc(r.choices[:r.offers], displaces)
}

// Route finds the way of a collective for messages of about the given size; on flat networks, of any.
func (n *Net) Route(c hardware.Collective, m hardware.Members, message float64) Route {
	return n.route(c, m, message, 0)
}

// Outside is the part of the way beyond the innermost network, where the part within is known from elsewhere.
func (n *Net) Outside(c hardware.Collective, m hardware.Members, message float64) Route {
	return n.route(c, m, message, 1)
}

func (n *Net) route(c hardware.Collective, m hardware.Members, message float64, from int) Route {
	var r Route
	for g := range n.legs(c, m) {
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

	// Of a collective that a library drives across a level: its protocols, the processors of the whole group, and those of
	// them in each group of the level below.
	protocols     []protocol
	whole, inside int
}

// legs cuts a collective into its parts, level by level.
func (n *Net) legs(c hardware.Collective, m hardware.Members) func(yield func(leg) bool) {
	return func(yield func(leg) bool) {
		if m.Group < 2 {
			return
		}
		group, stride, share, below := m.Group, m.Span/m.Group, 1.0, 1
		for i := range n.levels {
			l := &n.levels[i]
			inside, groups := spread(group, stride, l.Size, m.World)
			if groups == 1 || i == len(n.levels)-1 {
				g := leg{level: i, c: c, group: group, share: share, beside: c == hardware.AllToAll}
				if i > 0 {
					g.protocols = protocolsOf(l.Library, c)
					g.whole, g.inside = m.Group, below
				}
				yield(g)
				return
			}
			if groups == group || c == hardware.PointToPoint {
				continue // nothing happens inside
			}
			even := inside*groups >= group // no part of the group is smaller than this one
			switch c {
			case hardware.AllToAll:
				// What stays inside and what leaves run side by side, each on its own network.
				stays := 1 / float64(groups)
				if !even {
					stays = float64(inside) / float64(group)
				}
				within := share * stays
				if protocolsOf(n.levels[i+1].Library, c) != nil {
					within = share // a library takes no less than on one node
				}
				if !yield(leg{level: i, c: c, group: inside, share: within, beside: true}) {
					return
				}
				// Of the rest an even share goes to each of the other groups.
				share *= (1 - stays) / (1 - 1/float64(groups))
			case hardware.AllReduce:
				if !yield(leg{level: i, c: hardware.ReduceScatter, group: inside, share: share}) ||
					!yield(leg{level: i, c: hardware.AllGather, group: inside, share: share}) {
					return
				}
				share /= float64(inside)
			default:
				if !yield(leg{level: i, c: c, group: inside, share: share}) {
					return
				}
				share /= float64(inside)
			}
			below *= inside
			group, stride = groups, l.Size
		}
	}
}

// spread says how a group of processors that lie stride apart falls into groups of a level of the given size: the members
// of the smallest part, and the number of parts. Groups follow one another through world processors; where they do not
// divide the level, some cross its borders, and the one with the smallest part is the slowest. With no world, groups are
// taken to begin where those of the level begin.
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
	// Parts of the members of the k-th group, of which the borders are inside apart.
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

// line is the time of a leg: its hops, and its volume over what the bandwidth of the level is worth for this pattern,
// group and message.
func (n *Net) line(g leg, message float64) line {
	l := &n.levels[g.level]
	rate := &l.Ops[g.c]
	t := topologies[l.Topology]
	bandwidth := l.Bandwidth * n.bytesPerGB * l.Efficiency * rate.EfficiencyAt(g.group) * l.MessageSize.At(message*g.share/1e6)
	seconds := t.hops(g.c, g.group) * l.Latency
	perByte := g.share * rate.Volume(1, g.group) * t.load(g.c, g.group, l.Size) / bandwidth
	return line{seconds, perByte, seconds * l.ProcessorUsage, perByte * l.ProcessorUsage}
}

// Shares passes on, for every part of a collective, the efficiency table that prices it and the share of the message
// that the table sees.
func (n *Net) Shares(c hardware.Collective, m hardware.Members, visit func(t hardware.SizeTable, share float64)) {
	for g := range n.legs(c, m) {
		visit(n.levels[g.level].MessageSize, g.share)
	}
}

// Levels are those of the network that a collective uses, from the inside out.
func (n *Net) Levels(c hardware.Collective, m hardware.Members) (out []int) {
	for g := range n.legs(c, m) {
		if len(out) == 0 || out[len(out)-1] != g.level {
			out = append(out, g.level)
		}
	}
	return out
}

// Nodes is how many groups of the innermost network a group spans, and the members in the smallest part of it.
func (n *Net) Nodes(m hardware.Members) (nodes, inside int) {
	inside, nodes = spread(m.Group, max(1, m.Span/max(1, m.Group)), n.levels[0].Size, m.World)
	return nodes, inside
}

// Crosses reports whether a group of processors that the innermost network has room for crosses its borders, since groups of its
// kind follow one another.
func (n *Net) Crosses(m hardware.Members) bool {
	size := n.levels[0].Size
	return m.Span <= size && !m.Within(size)
}
