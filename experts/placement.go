package experts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Placer spreads copies of experts over ranks as EPLB does (github.com/deepseek-ai/EPLB): popular
// experts get several copies, which share their tokens, and copies are packed so that ranks get
// equal loads. It reuses its memory.
type Placer struct {
	copies  []int32 // of each expert
	slots   []slot
	blocks  []slot    // groups of experts, packed like copies
	members [][]int32 // experts of each node
	each    []float64 // load of a copy
	loads   []float64 // of ranks; infinite where one is full
	held    []int
}

// slot is a copy of an expert with its share of the visits.
type slot struct {
	load   float64
	expert int32
	rank   int32
}

// Place fills slots on ranks, equally many or one less on each, with copies of experts, given their
// shares of the visits. Over several nodes it spreads groups of experts over these first and keeps
// copies in the node of their group, so that tokens which visit few groups visit few nodes. The
// next call overwrites the result.
func (p *Placer) Place(shares []float64, slots, ranks, groups, nodes int) ([]slot, error) {
	n := len(shares)
	if nodes < 1 || groups < 1 || n%groups != 0 || groups%nodes != 0 || nodes > 1 && (ranks%nodes != 0 || slots%ranks != 0) {
		return nil, fmt.Errorf("%d groups of %d experts with %d copies do not lie evenly on %d nodes of %d ranks", groups, n, slots, nodes, ranks)
	}
	if slots < n {
		return nil, fmt.Errorf("%d slots have no room for %d experts", slots, n)
	}
	p.copies = slices.Grow(p.copies[:0], n)[:n]
	p.each = slices.Grow(p.each[:0], n)[:n]
	p.slots = slices.Grow(p.slots[:0], slots)
	p.byNode(shares, groups, nodes)
	within := ranks / nodes
	for node, members := range p.members[:nodes] {
		first := len(p.slots)
		p.replicate(shares, members, slots/nodes)
		p.pack(p.slots[first:], within)
		for i := first; i < len(p.slots); i++ {
			p.slots[i].rank += int32(node * within)
		}
	}
	return p.slots, nil
}

// byNode gives every node as many groups of experts, of equal loads.
func (p *Placer) byNode(shares []float64, groups, nodes int) {
	size := len(shares) / groups
	p.blocks = p.blocks[:0]
	for g := range groups {
		b := slot{expert: int32(g)}
		for _, s := range shares[g*size : (g+1)*size] {
			b.load += s
		}
		p.blocks = append(p.blocks, b)
	}
	p.pack(p.blocks, nodes)
	for len(p.members) < nodes {
		p.members = append(p.members, nil)
	}
	for node := range nodes {
		p.members[node] = p.members[node][:0]
	}
	for _, b := range p.blocks {
		for e := int(b.expert) * size; e < (int(b.expert)+1)*size; e++ {
			p.members[b.rank] = append(p.members[b.rank], int32(e))
		}
	}
}

// replicate adds copies up to slots, each of the expert whose copies have the most to do.
func (p *Placer) replicate(shares []float64, members []int32, slots int) {
	for _, e := range members {
		p.copies[e], p.each[e] = 1, shares[e]
	}
	for range slots - len(members) {
		most := members[0]
		load := p.each[most]
		for _, e := range members {
			if p.each[e] > load {
				most, load = e, p.each[e]
			}
		}
		p.copies[most]++
		p.each[most] = shares[most] / float64(p.copies[most])
	}
	for _, e := range members {
		for range p.copies[e] {
			p.slots = append(p.slots, slot{load: p.each[e], expert: e})
		}
	}
}

// pack gives ranks equally many slots: the largest first, each to the least loaded rank with room.
func (p *Placer) pack(slots []slot, ranks int) {
	p.loads = slices.Grow(p.loads[:0], ranks)[:ranks]
	p.held = slices.Grow(p.held[:0], ranks)[:ranks]
	clear(p.loads)
	clear(p.held)
	room := (len(slots) + ranks - 1) / ranks
	slices.SortFunc(slots, func(a, b slot) int { return cmp.Or(cmp.Compare(b.load, a.load), cmp.Compare(a.expert, b.expert)) })
	for i := range slots {
		best, least := 0, math.Inf(1)
		for r, l := range p.loads {
			if l < least {
				best, least = r, l
			}
		}
		slots[i].rank = int32(best)
		p.loads[best] += slots[i].load
		if p.held[best]++; p.held[best] == room {
			p.loads[best] = math.Inf(1)
		}
	}
}

// placements caches placements, which depend on neither drift nor the visits of a token.
var placements sync.Map

// placed is the copies of experts of every layer on their ranks, with their visits, cached.
func (p *Popularity) placed(s Sharing) ([][]slot, error) {
	lasting := *p
	lasting.Drift, s.Visited = 0, 0
	return cached(&placements, &lasting, s, (*Popularity).place)
}

// place computes placements: without redundant copies in the order of the experts, else like EPLB.
func (p *Popularity) place(s Sharing) (layers [][]slot, err error) {
	var placer Placer
	shares := make([]float64, s.Experts)
	for layer := range p.layers() {
		p.shares(layer, shares)
		var slots []slot
		if s.Redundant == 0 {
			for e, share := range shares {
				slots = append(slots, slot{load: share, expert: int32(e), rank: int32(e * s.Ranks / s.Experts)})
			}
		} else if slots, err = placer.Place(shares, s.Experts+s.Redundant, s.Ranks, s.Groups, s.Nodes); err != nil {
			return nil, err
		}
		layers = append(layers, slices.Clone(slots))
	}
	return layers, nil
}
