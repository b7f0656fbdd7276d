package collective

import (
	"encoding/json"
	"math"
	"testing"

	"throughline/hardware"
)

// level is a network of 1 GB/s (of 1e9 bytes in these tests) at efficiency 0.5 and a latency of 1 s
// per hop, so that half a GB takes a second and so does a hop. Volumes are those of the usual
// algorithms.
func level(topology string, size int) hardware.Network {
	n := hardware.Network{
		Bandwidth: 1, Efficiency: 0.5, Topology: topology, Size: size, Latency: 1,
		MessageSize: hardware.SizeTable{{AtLeast: 0, Efficiency: 1}},
	}
	scalars := [hardware.CollectiveCount][2]float64{
		hardware.PointToPoint: {1, 0}, hardware.ReduceScatter: {1, -1}, hardware.AllGather: {1, -1},
		hardware.AllReduce: {2, -1}, hardware.AllToAll: {1, -1},
	}
	for c, s := range scalars {
		n.Ops[c] = hardware.CollectiveRate{Scale: s[0], Offset: s[1], Lowest: 1}
	}
	return n
}

func seconds(t *testing.T, levels []hardware.Network, c hardware.Collective, group, span int, message float64) float64 {
	t.Helper()
	n := NewNet(&hardware.System{Networks: levels}, 1e9)
	return n.Time(c, hardware.Members{Group: group, Span: span}, message).Seconds
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s takes %v s, want %v", what, got, want)
	}
}

// TestTopologies: 12 processors of a level of 16 exchange 6 GB each. On every topology the times of
// the all-to-all and of the all-reduce differ from those on the others.
func TestTopologies(t *testing.T) {
	const group, size, message = 12, 16, 6e9
	// Volumes: all-to-all 6·11/12 = 5.5 GB, 11 s at 0.5 GB/s; all-reduce 2·6·11/12 = 11 GB, 22 s;
	// reduce-scatter and all-gather 5.5 GB, 11 s; point to point 6 GB, 12 s.
	for _, c := range []struct {
		topology                                     string
		allToAll, allReduce, reduceScatter, transfer float64
	}{
		// One hop; an all-reduce has two phases.
		{"switch", 1 + 11, 2 + 22, 1 + 11, 1 + 12},
		// Three switches on the way.
		{"fattree", 3 + 11, 6 + 22, 3 + 11, 3 + 12},
		// 11 of a processor's 15 links lead to members: 15/11 of the time.
		{"fullmesh", 1 + 15, 2 + 30, 1 + 15, 1 + 12},
		// Farthest 6 hops; distances 1..6..1 add up to 36, 36/11 on average: 36 s. Reductions walk
		// 11 steps.
		{"ring", 6 + 36, 22 + 22, 11 + 11, 1 + 12},
		// 3 × 4: farthest 1 + 2 hops. Distances in a ring of 3: 2, of 4: 4; 4·2 + 3·4 = 20 in all,
		// 20/11: 20 s. 2 + 3 steps.
		{"torus", 3 + 20, 10 + 22, 5 + 11, 1 + 12},
		// 3 × 4: 5 neighbours at one hop, 6 at two: 17/11 on average, 17 s.
		{"2dfm", 2 + 17, 4 + 22, 2 + 11, 1 + 12},
	} {
		levels := []hardware.Network{level(c.topology, size)}
		near(t, c.topology+" all-to-all", seconds(t, levels, hardware.AllToAll, group, group, message), c.allToAll)
		near(t, c.topology+" all-reduce", seconds(t, levels, hardware.AllReduce, group, group, message), c.allReduce)
		near(t, c.topology+" reduce-scatter", seconds(t, levels, hardware.ReduceScatter, group, group, message), c.reduceScatter)
		near(t, c.topology+" all-gather", seconds(t, levels, hardware.AllGather, group, group, message), c.reduceScatter)
		near(t, c.topology+" transfer", seconds(t, levels, hardware.PointToPoint, group, group, message), c.transfer)
	}
}

func TestEveryTopologyOfTheFormatIsKnown(t *testing.T) {
	names := choices(t, "topology")
	for _, name := range names {
		if _, ok := topologies[name]; !ok {
			t.Errorf("topology %q has no formula", name)
		}
	}
	if len(topologies) != len(names) {
		t.Errorf("%d formulas for %d topologies", len(topologies), len(names))
	}
}

// choices are what a system file can say of a network.
func choices(t *testing.T, field string) []string {
	t.Helper()
	src, err := hardware.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Networks struct {
				Items struct {
					Properties map[string]struct{ Enum []string }
				}
			}
		}
	}
	if err := json.Unmarshal(src, &schema); err != nil {
		t.Fatal(err)
	}
	found := schema.Properties.Networks.Items.Properties[field].Enum
	if len(found) == 0 {
		t.Fatalf("no choices of %s in the schema of systems", field)
	}
	return found
}

// TestHierarchy: 8 processors over levels of 4, joined by a slower network of a quarter of the
// bandwidth and 10 s a hop.
func TestHierarchy(t *testing.T) {
	outer := level("switch", 64)
	outer.Bandwidth, outer.Latency = 0.25, 10
	levels := []hardware.Network{level("switch", 4), outer}
	const message = 4e9
	// All-reduce: reduce-scatter of 4 GB among 4 inside: 3 GB, 6 s, one hop. All-reduce of the 1 GB
	// shares between the 2 groups: 1 GB, 8 s, two hops of 10 s. All-gather inside as the
	// reduce-scatter.
	near(t, "all-reduce", seconds(t, levels, hardware.AllReduce, 8, 8, message), (1+6)+(20+8)+(1+6))
	near(t, "reduce-scatter", seconds(t, levels, hardware.ReduceScatter, 8, 8, message), (1+6)+(10+4))
	near(t, "all-gather", seconds(t, levels, hardware.AllGather, 8, 8, message), (10+4)+(1+6))
	// All-to-all: half of it, 2 GB, is for the other group: 16 s and 10 s; inside 2 GB, of which
	// 3/4 leave the processor: 4 s.
	near(t, "all-to-all", seconds(t, levels, hardware.AllToAll, 8, 8, message), 10+16)
	// With a fast network outside, the inside decides.
	fast := outer
	fast.Bandwidth, fast.Latency = 100, 0
	near(t, "all-to-all inside", seconds(t, []hardware.Network{levels[0], fast}, hardware.AllToAll, 8, 8, message), 1+3)
	// A transfer to a neighbour that may lie in the next group takes the outer network.
	near(t, "transfer", seconds(t, levels, hardware.PointToPoint, 2, 8, message), 10+32)
	// 4 processors, each in a group of its own (every fourth of 16): nothing happens inside.
	near(t, "strided all-reduce", seconds(t, levels, hardware.AllReduce, 4, 16, message), 20+48)
	// 4 processors, two to a group (every second of 8).
	near(t, "strided reduce-scatter", seconds(t, levels, hardware.ReduceScatter, 4, 8, message), (1+4)+(10+8))
}

func TestNoCommunicationAlone(t *testing.T) {
	levels := []hardware.Network{level("ring", 16)}
	for c := range hardware.CollectiveCount {
		if s := seconds(t, levels, c, 1, 1, 1e9); s != 0 {
			t.Errorf("collective %d of one processor takes %v s", c, s)
		}
	}
}

// TestProcessorUsage: what a communication computes is a share of its time, level by level.
func TestProcessorUsage(t *testing.T) {
	outer := level("switch", 64)
	outer.ProcessorUsage = 0.25
	n := NewNet(&hardware.System{Networks: []hardware.Network{level("switch", 4), outer}}, 1e9)
	d := n.Time(hardware.ReduceScatter, hardware.Members{Group: 8, Span: 8}, 4e9)
	// Inside 7 s at no usage, outside (1 + 1) s at a quarter: 1 GB shares between 2 groups, half of
	// them sent.
	if want := (Duration{7 + 2, 0.5}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	// An all-to-all uses both networks side by side. Half of the 4 GB stays inside, 3/4 of that is
	// sent: 3 s and a hop. The other half goes outside: 4 s and a hop. Both displace computation,
	// whichever is done last.
	inner := level("switch", 4)
	inner.ProcessorUsage = 0.5
	n = NewNet(&hardware.System{Networks: []hardware.Network{inner, outer}}, 1e9)
	d = n.Time(hardware.AllToAll, hardware.Members{Group: 8, Span: 8}, 4e9)
	if want := (Duration{1 + 4, 0.5*(1+3) + 0.25*(1+4)}); d != want {
		t.Errorf("all-to-all: got %+v, want %+v", d, want)
	}
}
