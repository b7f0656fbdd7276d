package cost

import (
	"fmt"
	"math"
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
	"throughline/op"
	"throughline/plan"
)

// builtIn are the pricers of all built-in systems in a phase.
func builtIn(t *testing.T, phase op.Phase, visit func(name string, s *hardware.System, p *Pricer)) {
	t.Helper()
	for _, name := range hardware.Catalogue.Names() {
		s := builtin.System(t, name)
		prec := plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: s.MatrixTypes()[0], AttentionType: s.MatrixTypes()[0], VectorType: s.VectorTypes()[0]}
		p, err := NewPricer(s, &prec, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		visit(name, s, p)
	}
}

// TestLatencyOfLargerGroups: an all-reduce in groups that nobody measured takes longer for every
// doubling by what the last measured one added to a small message: over 32 GB200 7 to 8 µs, where
// NVIDIA prints 6.3 (developer.nvidia.com/blog, NCCL 2.27), and not what 4 take.
func TestLatencyOfLargerGroups(t *testing.T) {
	p, err := NewPricer(builtin.System(t, "GB200_NVL72"), &bf16, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	took := map[int]float64{}
	for group := 2; group <= 64; group *= 2 {
		took[group] = p.Communicate(collectiveOp(hardware.AllReduce, group, 1, 64, 1024)).Time
	}
	added := took[4] - took[2]
	for group := 8; group <= 64; group *= 2 {
		if got := took[group] - took[group/2]; math.Abs(got/added-1) > 0.1 {
			t.Errorf("%d take %v s longer than %d, the last measured doubling %v", group, got, group/2, added)
		}
	}
	if got := took[32]; got < 6.3e-6 || got > 8e-6 {
		t.Errorf("32 take %v s", got)
	}
}

var patternSlots = map[hardware.Collective]kernel.Slot{
	hardware.AllReduce: kernel.AllReduce, hardware.AllGather: kernel.AllGather, hardware.ReduceScatter: kernel.ReduceScatter,
	hardware.AllToAll: kernel.AllToAll,
}

// collectiveOp is a collective of so many processors, stride apart, of a world.
func collectiveOp(c hardware.Collective, group, stride, world int, bytes float64) *op.Op {
	o := &op.Op{Class: op.Comm, Collective: c, Span: int32(group * stride), World: int32(world)}
	o.Group, o.Moved = int32(group), bytes
	if slot, ok := patternSlots[c]; ok {
		o.Kernels[0].Slot = slot
	}
	return o
}

// TestAcrossIsNeverCheaper: over several nodes a collective takes at least as long as in one of
// them, with as many members in each, on every built-in system; and with more nodes, or with more
// bytes, no less.
func TestAcrossIsNeverCheaper(t *testing.T) {
	builtIn(t, op.Decode, func(name string, s *hardware.System, p *Pricer) {
		if len(s.Networks) < 2 {
			return
		}
		size := s.Networks[0].Size
		for c := range hardware.CollectiveCount {
			for inside := 1; inside <= min(64, size); inside *= 2 {
				if c == hardware.PointToPoint || size%inside != 0 {
					continue
				}
				last := map[int]float64{}
				for bytes := 1e3; bytes <= 1e9; bytes *= math.Sqrt(10) {
					within := p.Communicate(collectiveOp(c, max(2, inside), 1, max(2, inside), bytes)).Time
					if inside == 1 {
						within = 0
					}
					for nodes := 2; nodes*inside <= 64; nodes *= 2 {
						stride := size / inside
						across := p.Communicate(collectiveOp(c, nodes*inside, stride, nodes*size, bytes)).Time
						what := fmt.Sprintf("%s: %s of %.0f bytes over %d nodes of %d", name, c.Key(), bytes, nodes, inside)
						if across < within*(1-1e-9) {
							t.Errorf("%s takes %.2f µs, inside %.2f", what, across*1e6, within*1e6)
						}
						// Larger groups than were measured inside are scaled by a formula that
						// grows in another way.
						if inside <= 8 && across < last[nodes]*(1-1e-9) {
							t.Errorf("%s takes %.2f µs, fewer bytes %.2f", what, across*1e6, last[nodes]*1e6)
						}
						if c != hardware.AllToAll && nodes > 2 && across < last[nodes/2]*(1-1e-9) {
							t.Errorf("%s takes %.2f µs, half the nodes %.2f", what, across*1e6, last[nodes/2]*1e6)
						}
						last[nodes] = across
					}
				}
			}
		}
	})
}

// TestSmallAcrossNodes: small all-reduces over 2 to 16 nodes take 25 to 50 µs on NVIDIA's systems
// (see collective/libraries/nccl.json).
func TestSmallAcrossNodes(t *testing.T) {
	for _, name := range []string{"H100_SXM", "H200", "H800", "H20_96G", "B200", "A100_SXM"} {
		s := builtin.System(t, name)
		p, err := NewPricer(s, &bf16, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		for nodes := 2; nodes <= 8; nodes *= 2 {
			if us := 1e6 * p.Communicate(collectiveOp(hardware.AllReduce, 8*nodes, 1, 8*nodes, 8192)).Time; us < 25 || us > 50 {
				t.Errorf("%s: 8 kB over %d nodes take %.1f µs", name, nodes, us)
			}
			if _, level := p.ErrorOf(collectiveOp(hardware.AllReduce, 8*nodes, 1, 8*nodes, 8192)); level != Estimated {
				t.Errorf("%s: over %d nodes that is %v", name, nodes, level)
			}
		}
	}
	// What was measured elsewhere: 16 nodes of 4 H100 (Kestrel) 48 to 61 µs, 1 GB over 4 nodes of 8
	// H100 331 GB/s of bus bandwidth (Voltage Park): 2 · 31/32 GB at that.
	p, err := NewPricer(builtin.System(t, "H100_SXM"), &bf16, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	if us := 1e6 * p.Communicate(collectiveOp(hardware.AllReduce, 64, 2, 128, 512)).Time; us < 45 || us > 61 {
		t.Errorf("over 16 nodes of 4: %.1f µs", us)
	}
	if got, want := p.Communicate(collectiveOp(hardware.AllReduce, 32, 1, 32, 1e9)).Time, 2*31./32/331; math.Abs(got/want-1) > 0.1 {
		t.Errorf("1 GB over 4 nodes: %.2f ms, not %.2f", got*1e3, want*1e3)
	}
}

// TestStraddling: groups of 6 on nodes of 8 cross their borders, unless there is one group only.
func TestStraddling(t *testing.T) {
	p, err := NewPricer(builtin.System(t, "H100_SXM"), &bf16, &assume.Physical)
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 1e8
	time := func(group, world int) float64 {
		return p.Communicate(collectiveOp(hardware.AllToAll, group, 1, world, bytes)).Time
	}
	alone, many, aligned := time(6, 6), time(6, 24), time(4, 24)
	if alone != time(6, 8) || aligned != time(4, 4) {
		t.Error("groups that lie within nodes are priced as if they did not")
	}
	// The second group has 2 of its members on one node: they send 4/6 of 100 MB over their own
	// links of 50 GB/s at 0.8, 1.67 ms.
	if least := bytes * 4 / 6 / 40e9; many < least || many > 1.05*least {
		t.Errorf("%.3f ms, not %.3f; alone %.3f", many*1e3, least*1e3, alone*1e3)
	}
	// Of an all-reduce of 3 on nodes of 8 the third has one member apart, whose link carries it
	// all: 2 · 2/3 of the bytes.
	three := p.Communicate(collectiveOp(hardware.AllReduce, 3, 1, 24, bytes)).Time
	if least := 2 * 2. / 3 * bytes / 40e9; three < least || three > 1.1*least {
		t.Errorf("%.3f ms, not %.3f", three*1e3, least*1e3)
	}
}

// TestStraddlingWaits: a group that crosses a border of nodes takes no less than one of its size
// inside, which another group of the same kind is; on every built-in system.
func TestStraddlingWaits(t *testing.T) {
	builtIn(t, op.Decode, func(name string, s *hardware.System, p *Pricer) {
		size := s.Networks[0].Size
		if len(s.Networks) < 2 || size > 64 {
			return
		}
		for c := range hardware.CollectiveCount {
			if c == hardware.PointToPoint {
				continue
			}
			for group := 3; group < size; group++ {
				for bytes := 1e4; bytes <= 1e8; bytes *= 100 {
					alone, many := p.Communicate(collectiveOp(c, group, 1, group, bytes)).Time, p.Communicate(collectiveOp(c, group, 1, 3*group, bytes)).Time
					if many < alone*(1-1e-9) {
						t.Errorf("%s: %s of %.0f bytes in groups of %d takes %.2f µs, one by itself %.2f", name, c.Key(), bytes, group, many*1e6, alone*1e6)
					}
				}
			}
		}
	})
}

// exchangeOp is a dispatch or combine of a model like DeepSeek-V3, with so many groups of experts.
func exchangeOp(slot kernel.Slot, tokens float64, ep, groups, limit int) *op.Op {
	o := collectiveOp(hardware.AllToAll, ep, 1, ep, tokens*8*7168*2)
	o.Kernels[0].Slot, o.Kernels[1].Slot = slot, kernel.AllToAll
	o.M, o.N, o.K, o.Experts, o.Groups, o.Limit = tokens, 8, 7168, 256, int16(groups), int16(limit)
	return o
}

// TestPublishedExchanges: what DeepEP's authors print for an H800 with a NIC of 400 Gb/s
// (docs/legacy.md): µs for low latency, GB/s for throughput, of which a byte that stays on the node
// counts as well. Their benchmark picks 4 of as many groups as there are nodes. UCCL's authors have
// the same kernels on one node of an H200 (ep/README.md), SGLang's in a unit test with 16384 tokens
// over 4 nodes of H100 (lmsys.org/blog/2025-05-05-large-scale-ep).
func TestPublishedExchanges(t *testing.T) {
	for _, c := range []struct {
		system string
		slot   kernel.Slot
		ep     int
		us     float64
		gbps   float64
	}{
		{"H800", kernel.DispatchNormal, 8, 0, 153}, {"H800", kernel.CombineNormal, 8, 0, 158},
		{"H800", kernel.DispatchNormal, 16, 0, 43}, {"H800", kernel.CombineNormal, 16, 0, 43},
		{"H800", kernel.DispatchNormal, 32, 0, 58}, {"H800", kernel.CombineNormal, 32, 0, 57},
		{"H800", kernel.DispatchNormal, 64, 0, 51}, {"H800", kernel.CombineNormal, 64, 0, 50},
		{"H800", kernel.DispatchLowLatency, 16, 118, 0}, {"H800", kernel.CombineLowLatency, 16, 195, 0},
		{"H800", kernel.DispatchLowLatency, 32, 155, 0}, {"H800", kernel.CombineLowLatency, 32, 273, 0},
		{"H800", kernel.DispatchLowLatency, 64, 173, 0}, {"H800", kernel.CombineLowLatency, 64, 314, 0},
		{"H800", kernel.DispatchLowLatency, 128, 192, 0}, {"H800", kernel.CombineLowLatency, 128, 369, 0},
		{"H800", kernel.DispatchLowLatency, 256, 194, 0}, {"H800", kernel.CombineLowLatency, 256, 360, 0},
		{"H100_SXM", kernel.DispatchNormal, 32, 7300, 1}, {"H100_SXM", kernel.CombineNormal, 32, 14300, 1},
		{"H200", kernel.DispatchNormal, 8, 500, 320}, {"H200", kernel.CombineNormal, 8, 973, 319},
	} {
		tokens := 4096.0
		if c.gbps == 0 {
			tokens = 128
		}
		if c.system == "H100_SXM" {
			tokens = 16384
		}
		p, err := NewPricer(builtin.System(t, c.system), &bf16, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		nodes := max(1, c.ep/8)
		o := exchangeOp(c.slot, tokens, c.ep, nodes, min(nodes, 4))
		element := 7168 + 56*4.
		if c.slot == kernel.CombineNormal {
			element = 2 * 7168
		}
		if c.us == 0 {
			places := float64(nodes)
			if nodes == 1 {
				places = 8
			}
			c.us = 1e6 * tokens * places * kernel.Visit(&o.Shape, places) * element / (c.gbps * 1e9)
		}
		got := 1e6 * p.Communicate(o).Time
		t.Logf("%s %s EP%d: %.0f µs, published %.0f, %+.0f%%", c.system, c.slot, c.ep, got, c.us, 100*(got/c.us-1))
		if math.Abs(got/c.us-1) > 0.15 {
			t.Errorf("%s %s EP%d: %.0f µs, published %.0f", c.system, c.slot, c.ep, got, c.us)
		}
	}
}

// TestExchangesHaveNoCliffs: more tokens, more nodes or wider elements never take less; and one
// node more never takes twice as long, beyond the step from one node to two.
func TestExchangesHaveNoCliffs(t *testing.T) {
	phases := map[kernel.Slot]op.Phase{
		kernel.DispatchNormal: op.Prefill, kernel.CombineNormal: op.Prefill, kernel.DispatchLowLatency: op.Decode, kernel.CombineLowLatency: op.Decode,
	}
	for slot, phase := range phases {
		builtIn(t, phase, func(name string, s *hardware.System, p *Pricer) {
			size := s.Networks[0].Size
			if len(s.Networks) < 2 || size > 256 || s.Networks[1].Topology == "2dfm" {
				return // nodes that do not fill a square are joined in another way
			}
			for _, groups := range []int{0, 8} {
				fewer := map[int]float64{}
				for tokens := 1.0; tokens <= 16384; tokens *= 2 {
					last := 0.0
					for nodes := 1; nodes <= 24; nodes++ {
						o := exchangeOp(slot, tokens, nodes*size, groups, groups/2)
						o.Experts = 1536 // whole numbers of them on most numbers of nodes
						if groups > 0 && groups%nodes != 0 && nodes%groups != 0 {
							continue // the limit has no meaning there
						}
						us := 1e6 * p.Communicate(o).Time
						what := fmt.Sprintf("%s: %s of %.0f tokens over %d nodes, groups %d", name, slot, tokens, nodes, groups)
						if us < fewer[nodes]*(1-1e-9) {
							t.Errorf("%s takes %.1f µs, half the tokens %.1f", what, us, fewer[nodes])
						}
						if us < last*(1-1e-9) {
							t.Errorf("%s takes %.1f µs, fewer nodes %.1f", what, us, last)
						}
						if nodes > 2 && groups == 0 && us > 2*last {
							t.Errorf("%s takes %.1f µs, one node fewer %.1f", what, us, last)
						}
						fewer[nodes], last = us, us
					}
				}
			}
		})
	}
}

// TestPeerToPeer: of the two L40S hosts the one without peer-to-peer takes ten times as long for a
// large all-reduce over 8: 1.5 GB/s of bus bandwidth as measured, 20 where cards reach each other
// (docs/systems.md). Only the first was measured.
func TestPeerToPeer(t *testing.T) {
	for _, c := range []struct {
		system   string
		low, top float64 // GB/s of bus bandwidth, 16.8 MB over 8
		small    float64 // µs of 8 kB at least
		level    Level
	}{{"L40S", 1.3, 1.8, 10, Measured}, {"L40S_P2P", 15, 21, 20, Estimated}, {"RTX_PRO_6000", 30, 41, 20, Estimated}} {
		p, err := NewPricer(builtin.System(t, c.system), &bf16, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		o := collectiveOp(hardware.AllReduce, 8, 1, 8, 1<<24)
		bus := 2 * 7. / 8 * (1 << 24) / p.Communicate(o).Time / 1e9
		small := 1e6 * p.Communicate(collectiveOp(hardware.AllReduce, 8, 1, 8, 8192)).Time
		if _, level := p.ErrorOf(o); bus < c.low || bus > c.top || level != c.level || small < c.small || small > 40 {
			t.Errorf("%s: %.1f GB/s, %.1f µs, %v", c.system, bus, small, level)
		}
	}
}

// TestSlowExchange: an exchange that is half as fast again as those of the tables takes as long as
// one of them with half as many tokens more, on every built-in system, is trusted as much and sends
// its own bytes.
func TestSlowExchange(t *testing.T) {
	builtIn(t, op.Decode, func(name string, s *hardware.System, p *Pricer) {
		exchange := func(tokens, as float64) *op.Op {
			o := collectiveOp(hardware.AllToAll, 16, 1, 16, tokens*8*7168)
			o.Kind, o.Kernels[0].Slot = op.Dispatch, kernel.DispatchLowLatency
			o.M, o.N, o.K, o.Experts, o.Rows = tokens, 8, 7168, 256, as
			return o
		}
		slow, usual, more := exchange(32, 48), exchange(32, 0), exchange(48, 0)
		if got, want := p.Price(slow), p.Price(more); got.Busy != want.Busy || got.Time <= p.Price(usual).Time {
			t.Errorf("%s: %+v, one of more tokens %+v", name, got.Busy, want.Busy)
		}
		if got, want := p.Price(slow).Sent, p.Price(usual).Sent; math.Abs(got-want) > 1e-12*want {
			t.Errorf("%s: sends %g bytes, want %g", name, got, want)
		}
		share, level := p.ErrorOf(slow)
		if wantShare, wantLevel := p.ErrorOf(more); share != wantShare || level != wantLevel {
			t.Errorf("%s: off by %g, %v; one of more tokens by %g, %v", name, share, level, wantShare, wantLevel)
		}
	})
}
