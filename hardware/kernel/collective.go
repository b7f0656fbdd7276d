package kernel

import (
	"fmt"
	"slices"
)

// CollectiveModel is one communication pattern in groups of one network. Axes are the group's size
// and bytes: the reduced buffer, the gathered result, what is scattered, or what a processor sends
// to all. Peak is a message at one direction of a processor's bandwidth; a pattern that sends only
// part of its bytes is faster, by at most Share.
type CollectiveModel struct {
	Latency float64 `json:"latency"`
	// Share of the bytes that must cross the link of a processor, in the smallest group.
	Share  float64 `json:"share"`
	Memory Surface `json:"bytes"`
}

var collectives = sectionOf("collective", func(s *Set) *map[string]*CollectiveModel { return &s.Collective })

// Custom marks a pattern for which an engine has its own kernel, for small messages.
const Custom = "_custom"

func collectiveSlot(key, name, row string) slot {
	return slot{
		section: &collectives, key: key, name: name, row: row, peak: LinkPeak,
		axes: "group, bytes", of: "all-reduce, all-gather, reduce-scatter, all-to-all within the innermost network; of several kernels the fastest",
		pick:    func(s *Set, _ *Types) []string { return present(&collectives, s, key, key+Custom) },
		prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Collective[key].prepare() },
	}
}

// Numbers is how many of them were fitted.
func (c *CollectiveModel) Numbers() int { return len(c.Memory.Slowdown) + 1 }

// Work is the bytes that must cross the link.
func (c *CollectiveModel) Work() Work { return Work{2: c.Share} }

// Point of a message on the surface.
func (c *CollectiveModel) Point(s *Shape) Point { return Point{float64(s.Group), s.Moved, 1} }

func (c *CollectiveModel) Check() error {
	_, err := c.prepare()
	return err
}

func (c *CollectiveModel) prepare() (*collectiveTiming, error) {
	if !(c.Share > 0) {
		return nil, fmt.Errorf("collective: a share of %g", c.Share)
	}
	s, err := moving(c.Latency, c.Memory, c.Work())
	if err != nil {
		return nil, fmt.Errorf("collective: %w", err)
	}
	return &collectiveTiming{s.latency, s.memory, *c}, nil
}

type collectiveTiming struct {
	latency float64
	bytes   grid
	c       CollectiveModel
}

func (t *collectiveTiming) reach() (nodes, ranks float64) { return 1, t.bytes.axes[0].span[1] }

func (t *collectiveTiming) Seconds(p *Pace, s *Shape) float64 {
	return t.latency + p.Byte*t.bytes.at(t.c.Point(s))
}

func (t *collectiveTiming) Beyond(s *Shape) bool { return !t.bytes.holds(t.c.Point(s)) }

// fastest is several kernels for the same pattern, of which engines take the fastest.
type fastest []Timing

func (f fastest) reach() (nodes, ranks float64) {
	for _, t := range f {
		if c, ok := t.(reaching); ok {
			n, r := c.reach()
			nodes, ranks = max(nodes, n), max(ranks, r)
		}
	}
	return nodes, ranks
}

func (f fastest) Seconds(p *Pace, s *Shape) float64 {
	least := f[0].Seconds(p, s)
	for _, t := range f[1:] {
		least = min(least, t.Seconds(p, s))
	}
	return least
}

func (f fastest) Beyond(s *Shape) bool {
	return slices.ContainsFunc(f, func(t Timing) bool { return t.Beyond(s) })
}
