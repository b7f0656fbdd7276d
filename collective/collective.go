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

// Duration is the time of a communication, and how much of it computes at the expense of other work.
type Duration struct {
	Seconds   float64
	Displaced float64 // seconds of computation that are lost if the communication runs beside it
}

func (d Duration) plus(o Duration) Duration {
	return Duration{d.Seconds + o.Seconds, d.Displaced + o.Displaced}
}

// Time is the duration of a collective between group processors that lie evenly within span consecutive ones. Message
// is the bytes that a processor contributes: the whole tensor of an all-reduce, reduce-scatter or all-gather; what one
// processor sends in all in an all-to-all; what it sends in a point-to-point transfer.
func (n *Net) Time(c hardware.Collective, group, span int, message float64) Duration {
	if group < 2 {
		return Duration{}
	}
	return n.from(0, c, group, span/group, message)
}

// from prices a collective on the given level and those outside it. The members are stride processors apart.
func (n *Net) from(level int, c hardware.Collective, group, stride int, message float64) Duration {
	l := &n.levels[level]
	if group*stride <= l.Size || level == len(n.levels)-1 {
		return n.within(l, c, group, message)
	}
	inside := l.Size / stride // members in one group of this level
	if inside < 2 || c == hardware.PointToPoint {
		return n.from(level+1, c, group, stride, message)
	}
	groups := (group + inside - 1) / inside
	outside := func(message float64) Duration { return n.from(level+1, c, groups, l.Size, message) }
	share := message / float64(inside)
	switch c {
	case hardware.AllReduce:
		return n.within(l, hardware.ReduceScatter, inside, message).plus(outside(share)).plus(n.within(l, hardware.AllGather, inside, message))
	case hardware.ReduceScatter, hardware.AllGather:
		return n.within(l, c, inside, message).plus(outside(share))
	default:
		// All-to-all: what stays inside and what leaves run side by side, each on its own network.
		in, out := n.within(l, c, inside, message/float64(groups)), outside(message)
		if in.Seconds > out.Seconds {
			return in
		}
		return out
	}
}

// within prices a collective on one level.
func (n *Net) within(l *hardware.Network, c hardware.Collective, group int, message float64) Duration {
	rate := &l.Ops[c]
	bandwidth := l.Bandwidth * n.bytesPerGB * l.Efficiency * rate.EfficiencyAt(group) * l.MessageSize.At(message/1e6)
	t := topologies[l.Topology]
	seconds := t.hops(c, group)*l.Latency + rate.Volume(message, group)*t.load(c, group, l.Size)/bandwidth
	return Duration{seconds, seconds * l.ProcessorUsage}
}

// MessageSizes passes on the messages of a collective as the efficiency tables of the levels see them.
func (n *Net) MessageSizes(c hardware.Collective, group, span int, message float64, visit func(t hardware.SizeTable, bytes float64)) {
	if group < 2 {
		return
	}
	stride := span / group
	for i := range n.levels {
		l := &n.levels[i]
		if group*stride <= l.Size || i == len(n.levels)-1 {
			visit(l.MessageSize, message)
			return
		}
		inside := l.Size / stride
		if inside < 2 || c == hardware.PointToPoint {
			continue
		}
		groups := (group + inside - 1) / inside
		if c == hardware.AllToAll {
			visit(l.MessageSize, message/float64(groups))
		} else {
			visit(l.MessageSize, message)
			message /= float64(inside)
		}
		group, stride = groups, l.Size
	}
}
