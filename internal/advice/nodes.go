package advice

import "throughline/engine"

// room is how many instances of a size find room on nodes beside others of another size, which are placed first: an instance lies
// within a node or fills whole ones. -1: there is no room for the others. The processors of the last node may be fewer.
func room(gpus, perNode, count, others, size int) int {
	nodes, rest := gpus/perNode, gpus%perNode
	most := func(nodes, free int) int { // of the size, on so many nodes with so many free processors each
		if size > perNode {
			return 0
		}
		return nodes * (free / size)
	}
	whole := func(nodes int) int { // on nodes that nobody is on
		if size > perNode {
			return nodes / (size / perNode)
		}
		return most(nodes, perNode)
	}
	switch {
	case count == 0:
		return whole(nodes) + most(1, rest)
	case others >= perNode:
		if nodes -= count * (others / perNode); nodes < 0 {
			return -1
		}
		return whole(nodes) + most(1, rest)
	}
	each := perNode / others
	full := min(count/each, nodes)
	more := count - full*each
	switch {
	case full == nodes && more > rest/others:
		return -1
	case full == nodes: // the rest of them lie on the last
		return most(full, perNode-each*others) + most(1, rest-more*others)
	case more == 0:
		return most(full, perNode-each*others) + whole(nodes-full) + most(1, rest)
	}
	return most(full, perNode-each*others) + most(1, perNode-more*others) + whole(nodes-full-1) + most(1, rest)
}

// fitting is how many instances of a size, which do both phases, there is room for.
func (f *field) fitting(o *option, size int) int {
	if f.o.Engines[o.engine] == engine.Generic {
		return f.gpus / size
	}
	return room(f.gpus, f.o.GPUsPerNode, 0, 1, size)
}

// roomBeside is how many prefill instances of a size there is room for beside decode instances.
func (f *field) roomBeside(d *option, count, size int) int {
	if f.o.Engines[d.engine] == engine.Generic {
		return (f.gpus - count*d.curve.Procs) / size // which knows no nodes
	}
	if f.space.prefill.System != f.space.decode.System { // nodes of their own
		return (f.gpus - count*d.curve.Procs) / size
	}
	return room(f.gpus, f.o.GPUsPerNode, count, d.curve.Procs, size)
}
