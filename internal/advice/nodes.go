package advice

import (
	"throughline/engine"
	"throughline/serving/simulate"
)

// wholeNodes rounds n processors up to whole nodes, or to an even part of one, unless parts of
// nodes are allowed or there are too few processors.
func (a *adviser) wholeNodes(n int) int {
	per := a.o.GPUsPerNode
	if a.o.PartNodes || per == 0 {
		return n
	}
	out := (n + per - 1) / per * per
	if n < per {
		for out = n; per%out != 0; out++ { // at the latest, all of the node
		}
	}
	if out > a.o.GPUs {
		return n
	}
	return out
}

// fill puts instances on the processors that whole nodes have left, and runs what it has then.
func (a *adviser) fill(h *held) error {
	n := h.n
	for h.shape.processors(n+1) <= h.gpus {
		n++
	}
	if n == h.n {
		return nil
	}
	t, err := h.shape.trial(n)
	if err != nil {
		return err
	}
	t.Runs = simulate.Replications
	got, err := t.Decide(a.ctx)
	if err == nil && got.Holds {
		h.n, h.trial, h.capacity = n, t, got
	}
	return err
}

// room returns how many instances of a size fit on nodes beside others, which are placed first; -1
// if those do not fit. An instance lies within a node or fills whole ones; the last node may be
// partial.
func room(gpus, perNode, count, others, size int) int {
	nodes, rest := gpus/perNode, gpus%perNode
	onNodes := func(nodes, free int) int { // of the size, on nodes with the same free processors
		if size > perNode {
			return 0
		}
		return nodes * (free / size)
	}
	onEmptyNodes := func(nodes int) int { // on empty nodes
		if size > perNode {
			return nodes / (size / perNode)
		}
		return onNodes(nodes, perNode)
	}
	switch {
	case count == 0:
		return onEmptyNodes(nodes) + onNodes(1, rest)
	case others >= perNode:
		if nodes -= count * (others / perNode); nodes < 0 {
			return -1
		}
		return onEmptyNodes(nodes) + onNodes(1, rest)
	}
	each := perNode / others
	full := min(count/each, nodes)
	more := count - full*each
	switch {
	case full == nodes && more > rest/others:
		return -1
	case full == nodes: // the rest of them lie on the last node
		return onNodes(full, perNode-each*others) + onNodes(1, rest-more*others)
	case more == 0:
		return onNodes(full, perNode-each*others) + onEmptyNodes(nodes-full) + onNodes(1, rest)
	}
	return onNodes(full, perNode-each*others) + onNodes(1, perNode-more*others) + onEmptyNodes(nodes-full-1) + onNodes(1, rest)
}

// instanceCount returns how many instances for both phases fit.
func (f *field) instanceCount(o *option, size int) int {
	if f.o.Engines[o.engine] == engine.Generic {
		return f.gpus / size
	}
	return room(f.gpus, f.o.GPUsPerNode, 0, 1, size)
}

// roomBeside returns how many prefill instances fit beside decode instances.
func (f *field) roomBeside(d *option, count, size int) int {
	// The generic engine ignores nodes, and systems of different kinds have separate ones.
	if f.o.Engines[d.engine] == engine.Generic || f.space.prefill.System != f.space.decode.System {
		return (f.gpus - count*d.curve.Procs) / size
	}
	return room(f.gpus, f.o.GPUsPerNode, count, d.curve.Procs, size)
}
