package collective

import (
	"math"
	"slices"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
)

// TestLibrariesOfSystems: every library that a system file can name is there.
func TestLibrariesOfSystems(t *testing.T) {
	for _, name := range choices(t, "library") {
		if l, ok := FindLibrary(name); !ok || name != Plain && len(l.Collectives) != int(hardware.CollectiveCount) {
			t.Errorf("library %q: %v", name, l)
		}
	}
	for _, name := range LibraryNames() {
		l, _ := FindLibrary(name)
		if l.Title == "" || len(l.Modes) == 0 || len(l.Sources) == 0 || l.Mode(1e9) == nil {
			t.Errorf("%s lacks a title, sources, or a mode for any number of tokens", name)
		}
		for pattern, all := range l.Collectives {
			if len(all) > maxChoices {
				t.Errorf("%s: %d protocols of %s", name, len(all), pattern)
			}
			for _, p := range all {
				if !slices.Contains([]string{"tree", "ring", "direct"}, p.Algorithm) || !(p.Share > 0 && p.Share <= 1) {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
	}
}

// TestProtocols: NCCL over two nodes of 8 joined by a wire of 10 µs and 1 GB/s a processor, at full
// efficiency. A tree climbs 7 steps of 0.6 µs and a wire of 1 · 10 µs, twice: 6.8 + 2·(4.2 + 10) =
// 35.2 µs. Of 1 GB a ring sends 2 · 15/16 GB at the 8 GB/s of a node: 0.234 s.
func TestProtocols(t *testing.T) {
	outer := level("switch", 64)
	outer.Efficiency, outer.Latency, outer.Library = 1, 10e-6, "nccl"
	inner := level("switch", 8)
	inner.Bandwidth, inner.Latency = 1e9, 0
	levels := []hardware.Network{inner, outer}
	near(t, "a small all-reduce", seconds(t, levels, hardware.AllReduce, 16, 16, 1e-3), 35.2e-6+2*1e-3/(0.242*8e9))
	large := seconds(t, levels, hardware.AllReduce, 16, 16, 1e9)
	if want := 2. * 15 / 16 / 8; math.Abs(large/want-1) > 0.001 {
		t.Errorf("a large all-reduce takes %v s, not %v", large, want)
	}
	// An all-gather by a ring: 6.6 + 14 · 1 + 0.54 · 10 µs.
	near(t, "a small all-gather", seconds(t, levels, hardware.AllGather, 16, 16, 1e-3), 26e-6+1e-3*15./16/(0.5*8e9))
	// 8.4 + 8 posted messages + 2.8 · 10 µs; half of 1 GB leaves each processor at 1 GB/s.
	near(t, "an all-to-all", seconds(t, levels, hardware.AllToAll, 16, 16, 1e9), 44.4e-6+0.5)
	// Inside one node nothing of that counts.
	near(t, "inside", seconds(t, levels, hardware.AllReduce, 8, 8, 1e9), 2*7./8/(0.5*1e9))
}

// TestSpread: groups of 6 on nodes of 8, one after another: 6; 2 + 4; 4 + 2; 6. Of 3: the third has
// 2 + 1. Groups of 12 have 8 + 4. Every second of 16: 4 + 4.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ group, stride, size, world, inside, groups int }{
		{6, 1, 8, 6, 6, 1}, {6, 1, 8, 24, 2, 2}, {3, 1, 8, 24, 1, 2}, {3, 1, 8, 6, 3, 1}, {4, 1, 8, 64, 4, 1},
		{12, 1, 8, 24, 4, 2}, {16, 1, 8, 32, 8, 2}, {8, 2, 8, 16, 4, 2}, {4, 8, 8, 32, 1, 4}, {6, 1, 8, 0, 6, 1}, {12, 1, 8, 0, 8, 2},
		{5, 1, 8, 40, 1, 2}, {18, 1, 8, 36, 2, 3},
	} {
		if inside, groups := spread(c.group, c.stride, c.size, c.world); inside != c.inside || groups != c.groups {
			t.Errorf("%+v: %d in each of %d", c, inside, groups)
		}
	}
}

// figure is one that a library's authors print: microseconds, or GB/s of all copies, those for the
// same node included.
type figure struct {
	near float64 // GB/s of a processor inside its node; 50 outside
	ep   int
	us   [2]float64 // dispatch, combine
	gbps [2]float64
}

var figures = map[string][]figure{
	// DeepEP, docs/legacy.md: H800, ConnectX-7.
	"deepep low_latency": {
		{near: 200, ep: 8, us: [2]float64{77, 114}}, {near: 200, ep: 16, us: [2]float64{118, 195}}, {near: 200, ep: 32, us: [2]float64{155, 273}},
		{near: 200, ep: 64, us: [2]float64{173, 314}}, {near: 200, ep: 128, us: [2]float64{192, 369}}, {near: 200, ep: 256, us: [2]float64{194, 360}},
	},
	"deepep normal": {
		{near: 200, ep: 8, gbps: [2]float64{153, 158}}, {near: 200, ep: 16, gbps: [2]float64{43, 43}},
		{near: 200, ep: 32, gbps: [2]float64{58, 57}}, {near: 200, ep: 64, gbps: [2]float64{51, 50}},
	},
	// UCCL, ep/README.md: MI300X with ConnectX-7, MI355X with Pollara; B200 and H200 on EFA.
	"uccl normal": {
		{near: 448, ep: 8, gbps: [2]float64{260, 304}}, {near: 448, ep: 16, gbps: [2]float64{74, 78}},
		{near: 448, ep: 32, gbps: [2]float64{60, 60}}, {near: 448, ep: 64, gbps: [2]float64{52, 51}},
	},
	"uccl normal, kept back": {
		{near: 537.6, ep: 8, gbps: [2]float64{299, 333}}, {near: 537.6, ep: 16, gbps: [2]float64{82, 82}},
		{near: 537.6, ep: 32, gbps: [2]float64{59, 59}}, {near: 537.6, ep: 64, gbps: [2]float64{50, 49}},
	},
	"uccl low_latency":  {{near: 448, ep: 8, us: [2]float64{65, 92}}, {near: 448, ep: 16, us: [2]float64{136, 207}}, {near: 448, ep: 32, us: [2]float64{224, 341}}},
	"uccl normal, efa":  {{near: 900, ep: 16, us: [2]float64{1141, 1965}}, {near: 900, ep: 24, us: [2]float64{1637, 2887}}, {near: 900, ep: 32, us: [2]float64{2072, 3724}}},
	"uccl normal, p5en": {{near: 450, ep: 8, us: [2]float64{500, 973}}, {near: 450, ep: 16, us: [2]float64{1196, 0}}, {near: 450, ep: 24, us: [2]float64{1633, 0}}, {near: 450, ep: 32, us: [2]float64{2022, 0}}},
}

// TestLibraries: the terms of the libraries against the figures that their authors print, on
// average and at worst in percent. Their benchmarks send 4096 or 128 tokens of 7168 elements to 8
// of 256 experts, in 4 of as many groups as there are nodes.
func TestLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		library, mode, fabric string
		mean, worst           float64
	}{
		"deepep low_latency":     {"deepep", "low_latency", "", 3, 9},
		"deepep normal":          {"deepep", "normal", "", 7.5, 15},
		"uccl normal":            {"uccl", "normal", "", 3, 11},
		"uccl normal, kept back": {"uccl", "normal", "", 6.5, 13},
		"uccl low_latency":       {"uccl", "low_latency", "", 9, 12},
		"uccl normal, efa":       {"uccl", "normal", "efa", 7.5, 13.5},
		"uccl normal, p5en":      {"uccl", "normal", "efa", 7.5, 10},
	} {
		l, _ := FindLibrary(c.library)
		i := slices.IndexFunc(l.Modes, func(m Mode) bool { return m.Name == c.mode })
		m := &l.Modes[i]
		var sum, worst, n float64
		for _, f := range figures[name] {
			nodes := max(1, f.ep/8)
			s := &kernel.Shape{M: 4096, N: 8, K: 7168, Experts: 256, Group: int32(f.ep), Nodes: int16(nodes), Groups: int16(nodes), Limit: int16(min(4, nodes))}
			if m.Direct {
				s.M = 128
			}
			sys := &hardware.System{Networks: []hardware.Network{{Bandwidth: f.near}, {Bandwidth: 50}}}
			for i, format := range []Format{m.Dispatch, m.Combine} {
				want := f.us[i]
				if f.gbps[i] > 0 {
					places := float64(nodes)
					if nodes == 1 {
						places = 8
					}
					want = 1e-3 * s.M * places * kernel.Visit(s, places) * format.Element * s.K / f.gbps[i]
				}
				if want == 0 {
					continue
				}
				e := 100 * math.Abs(1e6*m.Seconds(sys, c.fabric, s, format)/want-1)
				sum, worst, n = sum+e, max(worst, e), n+1
			}
		}
		t.Logf("%s: %.1f%% on average, %.1f%% at worst, of %.0f", name, sum/n, worst, n)
		if sum/n > c.mean || worst > c.worst {
			t.Errorf("%s: %.1f%% on average, %.1f%% at worst", name, sum/n, worst)
		}
	}
}

// TestChooses: a network without a library, or with the plain formula by name, has no protocols to
// choose from; NCCL's has.
func TestChooses(t *testing.T) {
	for library, want := range map[string]bool{"": false, Plain: false, "nccl": true} {
		outer := level("switch", 64)
		outer.Library = library
		n := NewNet(&hardware.System{Networks: []hardware.Network{level("switch", 8), outer}}, 1e9)
		if got := n.Chooses(); got != want {
			t.Errorf("library %q chooses: %v", library, got)
		}
	}
}
