package collective

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/bits"
	"path"
	"slices"
	"strings"

	"throughline/hardware"
)

// Library is a communication library as data: how it sends messages between nodes, exchanges tokens
// between experts, and where each number comes from.
type Library struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Collectives are its protocols by pattern, as the networks of a system file name them.
	Collectives map[string][]protocol `json:"collectives"`
	// Modes are its ways to exchange tokens between experts.
	Modes   []Mode            `json:"modes"`
	Sources map[string]string `json:"sources"`
}

// protocol is one way in which a library runs a collective over several nodes. The time of a
// message of M bytes in a group of n nodes of p processors is
//
//	base + inside · (steps within nodes) + between · wire · (steps between nodes)
//	     + M · volume / (share · p · bandwidth)
//
// where the wire is the latency of the network from end to end and its bandwidth that of one
// processor at the efficiency of the level. A tree climbs p - 1 steps inside and log2(n) between,
// up and down, and sends every byte twice. A ring has n·p - 1 steps in all, n - 1 of them between
// nodes, an all-reduce twice as many; it sends as much as the pattern must. An all-to-all or a
// transfer posts one message to every member on another node.
type protocol struct {
	Name      string  `json:"name"`
	Algorithm string  `json:"algorithm"`
	Base      float64 `json:"base_us"`
	Inside    float64 `json:"inside_us"`
	Between   float64 `json:"between_wires"`
	Share     float64 `json:"bandwidth_share"`
	Most      float64 `json:"most_GBps"` // of a node; 0: no bound
}

//go:embed libraries
var libraryFiles embed.FS

func Data() fs.FS { return libraryFiles }

var libraries = func() map[string]*Library {
	entries, err := libraryFiles.ReadDir("libraries")
	if err != nil {
		panic(err) // embedded
	}
	out := map[string]*Library{}
	for _, e := range entries {
		src, err := libraryFiles.ReadFile(path.Join("libraries", e.Name()))
		if err != nil {
			panic(err)
		}
		l := &Library{}
		d := json.NewDecoder(strings.NewReader(string(src)))
		d.DisallowUnknownFields()
		if err := d.Decode(l); err != nil {
			panic(fmt.Sprintf("the built-in library %s: %v", e.Name(), err)) // a test reads them all
		}
		out[l.Name] = l
	}
	return out
}()

func LibraryNames() []string { return slices.Sorted(maps.Keys(libraries)) }

func FindLibrary(name string) (*Library, bool) {
	l, ok := libraries[strings.ToLower(name)]
	return l, ok
}

// protocolsOf are a library's protocols across nodes; without any the network formula applies.
func protocolsOf(library string, c hardware.Collective) []protocol {
	if l := libraries[library]; l != nil {
		return l.Collectives[c.Key()]
	}
	return nil
}

// choose fills in the protocols for a leg between nodes.
func (n *Net) choose(out *[maxChoices]line, g leg, message float64) int {
	l := &n.levels[g.level]
	wire := topologies[l.Topology].hops(hardware.PointToPoint, g.group) * l.Latency
	bandwidth := l.Bandwidth * n.bytesPerGB * l.Efficiency * l.Ops[g.c].EfficiencyAt(g.group) * l.MessageSize.At(message*g.share/1e6) *
		float64(g.inside)
	for i := range g.protocols {
		p := &g.protocols[i]
		inside, between, volume := p.steps(g)
		rate := p.Share * bandwidth
		if p.Most > 0 {
			rate = min(rate, p.Most*1e9)
		}
		seconds := p.Base*1e-6 + p.Inside*1e-6*inside + p.Between*wire*between
		perByte := volume / rate
		out[i] = line{seconds, perByte, seconds * l.ProcessorUsage, perByte * l.ProcessorUsage}
	}
	return len(g.protocols)
}

// steps of a protocol within and between nodes, and how often a node sends a processor's message.
func (p *protocol) steps(g leg) (inside, between, volume float64) {
	members, perNode, nodes := float64(g.members), float64(g.inside), float64(g.group)
	turns := phases(g.c)
	switch p.Algorithm {
	case "tree":
		return turns * (perNode - 1), turns * float64(bits.Len(uint(g.group-1))), turns
	case "ring":
		between = turns * (nodes - 1)
		return turns*(members-1) - between, between, turns * (members - 1) / members
	}
	if g.c == hardware.PointToPoint {
		return 1, 1, perNode
	}
	return members - perNode, 1, perNode * g.share * (nodes - 1) / nodes
}
