// Package collective says how long a communication between processors takes on the networks of a system.
package collective

import "throughline/hardware"

// Time is the duration of one collective in a group of processors on a network level, each contributing message bytes:
// a hop's latency, and the volume over what the level's bandwidth is worth for this pattern, group and message size.
func Time(n *hardware.Network, c hardware.Collective, group int, message, bytesPerGB float64) float64 {
	rate := &n.Ops[c]
	bandwidth := n.Bandwidth * bytesPerGB * n.Efficiency * rate.EfficiencyAt(group) * n.MessageSize.At(message/1e6)
	return n.Latency + rate.Volume(message, group)/bandwidth
}
