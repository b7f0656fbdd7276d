package collective

import (
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/golden"
)

// TestSums: all collectives of groups of many sizes and places, on every topology, inside a node
// and over one or two networks beyond it, with and without libraries; and what libraries take for
// exchanges of tokens.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for _, topology := range choices(t, "topology") {
		for _, library := range choices(t, "library") {
			inner, outer, outermost := level(topology, 8), level(topology, 32), level("fattree", 1024)
			inner.Bandwidth, outer.Library, outer.ProcessorUsage, outermost.Bandwidth, outermost.Library = 9, library, 0.3, 0.25, library
			inner.MessageSize = hardware.SizeTable{{AtLeast: 100, Efficiency: 0.9}, {AtLeast: 10, Efficiency: 0.5}, {AtLeast: 0, Efficiency: 0.2}}
			for _, levels := range [][]hardware.Network{{inner}, {inner, outer}, {inner, outer, outermost}} {
				n := NewNet(&hardware.System{Networks: levels}, 1e9)
				addCollectives(sums, &n, topology+" "+library, levels[len(levels)-1].Size)
			}
		}
	}
	sys := &hardware.System{Networks: []hardware.Network{level("switch", 8), level("fattree", 64)}}
	for _, name := range LibraryNames() {
		l, _ := FindLibrary(name)
		for i := range l.Modes {
			m := &l.Modes[i]
			for _, tokens := range []float64{1, 16, 128, 129, 1000, 4096, 9000} {
				sums.Add(name, "modes", float64(len(l.Mode(tokens).Name)))
				for _, ranks := range []int32{2, 8, 16, 64, 320} {
					s := &kernel.Shape{M: tokens, N: 8, K: 7168, Experts: 256, Group: ranks, Nodes: int16(max(1, ranks/8)), Groups: 8, Limit: 4}
					for _, fabric := range append(l.FabricNames(), "") {
						sums.Add(name, m.Name+" dispatch", m.Seconds(sys, fabric, s, m.Dispatch))
						sums.Add(name, m.Name+" combine", m.Seconds(sys, fabric, s, m.Combine))
					}
					if m.Holds(s) {
						sums.Add(name, m.Name+" holds", tokens*float64(ranks))
					}
				}
				dispatch, combine := m.SpreadAt(tokens)
				sums.Fields(name+" "+m.Name+" dispatch", dispatch)
				sums.Fields(name+" "+m.Name+" combine", combine)
			}
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// addCollectives adds what collectives take of groups within so many processors.
func addCollectives(sums golden.Sums, n *Net, of string, within int) {
	for c := range hardware.CollectiveCount {
		for _, group := range []int{1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 64} {
			for _, stride := range []int{1, 2, 8} {
				for _, world := range []int{0, group * stride, 3 * group * stride} {
					m := hardware.Members{Group: group, Span: group * stride, World: world}
					if m.Span > within {
						continue
					}
					for _, message := range []float64{1e3, 5e6, 2e8} {
						d := n.Time(c, m, message)
						sums.Add(of, c.String()+" seconds", d.Seconds)
						sums.Add(of, c.String()+" displaced", d.Displaced)
						r, outside := n.Route(c, m, message), n.Outside(c, m, message)
						sums.Add(of, "outside", outside.Time(message).Seconds)
						sums.Add(of, "scale", r.Scale)
						if r.Displaces() {
							sums.Add(of, "displaces", float64(group))
						}
					}
					for i, l := range n.Levels(c, m) {
						sums.Add(of, "levels", float64(group*(i+1)*(l+1)))
					}
					n.Shares(c, m, func(t hardware.SizeTable, share float64) { sums.Add(of, "shares", share*float64(len(t))) })
					nodes, inside := n.Nodes(m)
					sums.Add(of, "nodes", float64(nodes*group))
					sums.Add(of, "inside", float64(inside*group))
					if n.Crosses(m) {
						sums.Add(of, "crosses", float64(group))
					}
				}
			}
		}
	}
	if n.Flat() {
		sums.Add(of, "flat", 1)
	}
	if n.Chooses() {
		sums.Add(of, "chooses", 1)
	}
}
