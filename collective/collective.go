// Package collective says how long a communication between processors takes on the networks of a system.
//
// A group that lies within one level of the network communicates there. A group that spans several does so in steps: a
// reduction or gathering first makes the data small inside, an all-to-all uses both networks side by side.
package collective

import "throughline/hardware"

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

// Duration is the time of a communication, and how much of it computes at the expense of other work.
type Duration struct {
	Seconds   float64
	Displaced float64 // seconds of computation that are lost if the communication runs beside it
}

// Time is the duration of a collective between group processors that lie evenly within span consecutive ones. Message
// is the bytes that a processor contributes: the whole tensor of an all-reduce, reduce-scatter or all-gather; what one
// processor sends in all in an all-to-all; what it sends in a point-to-point transfer.
func (n *Net) Time(c hardware.Collective, group, span int, message float64) Duration {
	r := n.Route(c, group, span, message)
	return r.Time(message)
}

// Route is the way a collective takes, as straight lines in the size of the message. They run side by side: the longest
// decides when it is done.
type Route struct {
	// Scale is how many times over the message is sent, by the op_scalar of the outermost level.
	Scale float64

	lines [maxLines]line
	n     int
}

// maxLines is the network levels that an all-to-all can use side by side; deeper ones join the last line.
const maxLines = 4

type line struct{ seconds, perByte, displaced, displacedPerByte float64 }

func (l line) plus(o line) line {
	return line{l.seconds + o.seconds, l.perByte + o.perByte, l.displaced + o.displaced, l.displacedPerByte + o.displacedPerByte}
}

// Time of a message on the route. Every network takes its share of the computation for as long as it is busy.
func (r *Route) Time(message float64) Duration {
	var d Duration
	for i := range r.lines[:r.n] {
		l := &r.lines[i]
		d.Seconds = max(d.Seconds, l.seconds+l.perByte*message)
		d.Displaced += l.displaced + l.displacedPerByte*message
	}
	return d
}

// Route finds the way of a collective for messages of about the given size; on flat networks, of any.
func (n *Net) Route(c hardware.Collective, group, span int, message float64) Route {
	var r Route
	for g := range n.legs(c, group, span) {
		l := n.line(g, message)
		r.Scale = g.level.Ops[c].Scale
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
	level  *hardware.Network
	c      hardware.Collective
	group  int
	share  float64 // of the message
	beside bool    // runs beside the legs before it, not after them
}

// legs cuts a collective into its parts, level by level.
func (n *Net) legs(c hardware.Collective, group, span int) func(yield func(leg) bool) {
	return func(yield func(leg) bool) {
		if group < 2 {
			return
		}
		stride, share := span/group, 1.0
		for i := range n.levels {
			l := &n.levels[i]
			if group*stride <= l.Size || i == len(n.levels)-1 {
				yield(leg{l, c, group, share, c == hardware.AllToAll})
				return
			}
			inside := l.Size / stride // members in one group of this level
			if inside < 2 || c == hardware.PointToPoint {
				continue
			}
			groups := (group + inside - 1) / inside
			switch c {
			case hardware.AllToAll:
				// What stays inside and what leaves run side by side, each on its own network.
				if !yield(leg{l, c, inside, share / float64(groups), true}) {
					return
				}
			case hardware.AllReduce:
				if !yield(leg{l, hardware.ReduceScatter, inside, share, false}) || !yield(leg{l, hardware.AllGather, inside, share, false}) {
					return
				}
				share /= float64(inside)
			default:
				if !yield(leg{l, c, inside, share, false}) {
					return
				}
				share /= float64(inside)
			}
			group, stride = groups, l.Size
		}
	}
}

// line is the time of a leg: its hops, and its volume over what the bandwidth of the level is worth for this pattern,
// group and message.
func (n *Net) line(g leg, message float64) line {
	l := g.level
	rate := &l.Ops[g.c]
	t := topologies[l.Topology]
	bandwidth := l.Bandwidth * n.bytesPerGB * l.Efficiency * rate.EfficiencyAt(g.group) * l.MessageSize.At(message*g.share/1e6)
	seconds := t.hops(g.c, g.group) * l.Latency
	perByte := g.share * rate.Volume(1, g.group) * t.load(g.c, g.group, l.Size) / bandwidth
	return line{seconds, perByte, seconds * l.ProcessorUsage, perByte * l.ProcessorUsage}
}

// Shares passes on, for every part of a collective, the efficiency table that prices it and the share of the message
// that the table sees.
func (n *Net) Shares(c hardware.Collective, group, span int, visit func(t hardware.SizeTable, share float64)) {
	for g := range n.legs(c, group, span) {
		visit(g.level.MessageSize, g.share)
	}
}
