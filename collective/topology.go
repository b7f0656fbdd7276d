package collective

import (
	"math"

	"throughline/hardware"
)

// topology is how the wiring of a level shapes a collective: the hops of latency in sequence, and
// how many times over the volume loads the links of a processor.
type topology struct {
	hops func(c hardware.Collective, group int) float64
	load func(c hardware.Collective, group, size int) float64
}

// topologies by their names in a system file.
//
// A processor's bandwidth is the sum of its links. Reductions and gatherings keep all links busy
// with neighbours only, so they load them once on every topology; an all-to-all over several hops
// loads them once per hop. In a full mesh a group of a larger level has only the links to its own
// members. Point-to-point transfers go to a neighbour; its share of the links is data
// (bandwidth_eff).
var topologies = map[string]topology{
	"switch":   {direct(1), once},
	"fattree":  {direct(3), once}, // leaf, spine, leaf
	"fullmesh": {direct(1), ownLinks},
	"ring": {
		func(c hardware.Collective, n int) float64 {
			return walk(c, float64(n-1), float64(n/2))
		},
		func(c hardware.Collective, n, _ int) float64 {
			return perHop(c, ringDistances(n)/float64(n-1))
		},
	},
	"torus": {
		func(c hardware.Collective, n int) float64 {
			rows, columns := grid(n)
			return walk(c, float64(rows-1+columns-1), float64(rows/2+columns/2))
		},
		func(c hardware.Collective, n, _ int) float64 {
			rows, columns := grid(n)
			total := float64(columns)*ringDistances(rows) + float64(rows)*ringDistances(columns)
			return perHop(c, total/float64(n-1))
		},
	},
	"2dfm": {
		func(c hardware.Collective, n int) float64 {
			rows, _ := grid(n)
			far := 2.0
			if rows == 1 {
				far = 1 // one line, all joined directly
			}
			return walk(c, far, far)
		},
		func(c hardware.Collective, n, _ int) float64 {
			rows, columns := grid(n)
			near := float64(rows - 1 + columns - 1)
			far := float64((rows - 1) * (columns - 1))
			return perHop(c, (near+2*far)/float64(n-1))
		},
	},
}

// direct is the hops where every processor reaches every other in equally many. An all-reduce is a
// reduce-scatter followed by an all-gather.
func direct(hops float64) func(hardware.Collective, int) float64 {
	return func(c hardware.Collective, _ int) float64 { return phases(c) * hops }
}

// walk is the hops along neighbours: steps per phase of a reduction or gathering, the longest way
// for an all-to-all, one for a transfer.
func walk(c hardware.Collective, steps, longest float64) float64 {
	switch c {
	case hardware.PointToPoint:
		return 1
	case hardware.AllToAll:
		return longest
	}
	return phases(c) * steps
}

func phases(c hardware.Collective) float64 {
	if c == hardware.AllReduce {
		return 2
	}
	return 1
}

func once(hardware.Collective, int, int) float64 { return 1 }

// ownLinks: only the links to the group's own members serve it.
func ownLinks(c hardware.Collective, group, size int) float64 {
	if c == hardware.PointToPoint || group >= size {
		return 1
	}
	return float64(size-1) / float64(group-1)
}

// perHop loads the links once for every hop of an all-to-all.
func perHop(c hardware.Collective, distance float64) float64 {
	if c == hardware.AllToAll {
		return distance
	}
	return 1
}

// ringDistances is the sum of the distances from one member of a ring to all.
func ringDistances(n int) float64 { return float64(n * n / 4) }

// grid is the most square arrangement of n processors.
func grid(n int) (rows, columns int) {
	for r := int(math.Sqrt(float64(n))); r > 1; r-- {
		if n%r == 0 {
			return r, n / r
		}
	}
	return 1, n
}
