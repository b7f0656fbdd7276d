package kernel

import (
	"fmt"
	"math"
)

// Base is what every kernel with two sides has.
type Base struct {
	// Latency in seconds of a kernel with nothing to do.
	Latency float64 `json:"latency"`
	// Norm is p, the overlap of compute and memory: 1 adds them, 4 is close to the longer one.
	Norm int `json:"norm"`
	// Compute is the slowdown of operations, Memory that of bytes. Their axes depend on the kernel.
	Compute Surface `json:"compute"`
	Memory  Surface `json:"memory"`
	// Includes is what it was measured with besides: quantise, routing, gates, rotary.
	Includes []string `json:"includes,omitempty"`
}

// Numbers is how many of them were fitted.
func (b *Base) Numbers() int { return len(b.Compute.Slowdown) + len(b.Memory.Slowdown) + 1 }

// sides is a prepared kernel: the operations and bytes at peak that its work is worth.
type sides struct {
	latency         float64
	norm            int
	compute, memory grid
	beside          bool // both grids have the same cells along Y and Z
}

func (b *Base) sides(flops, bytes Work) (s sides, err error) {
	if !(b.Latency >= 0) || math.IsInf(b.Latency, 1) {
		return s, fmt.Errorf("a latency of %g s", b.Latency)
	}
	if b.Norm != 1 && b.Norm != 2 && b.Norm != 4 {
		return s, fmt.Errorf("a norm of %d, not 1, 2 or 4", b.Norm)
	}
	if err := checkIncludes(b.Includes); err != nil {
		return s, err
	}
	s.latency, s.norm = b.Latency, b.Norm
	if s.compute, err = newGrid(&b.Compute, flops); err != nil {
		return s, fmt.Errorf("compute: %w", err)
	}
	if s.memory, err = newGrid(&b.Memory, bytes); err != nil {
		return s, fmt.Errorf("memory: %w", err)
	}
	s.beside = s.compute.axes[1].alike(&s.memory.axes[1]) && s.compute.axes[2].alike(&s.memory.axes[2])
	return s, nil
}

// moving is a kernel with a memory side only.
func moving(latency float64, memory Surface, bytes Work) (sides, error) {
	b := Base{Latency: latency, Norm: 1, Compute: Flat(1), Memory: memory}
	return b.sides(Work{}, bytes)
}

// joined is the time of both sides without the latency; extra is bytes at peak besides the grid's.
func (k *sides) joined(p *Pace, c, m Point, extra float64) float64 {
	return Join(k.norm, p.Flop*k.compute.at(c), p.Byte*(k.memory.at(m)+extra))
}

// product is the same for points that differ in X only, so that Y and Z are located once.
func (k *sides) product(p *Pace, c Point, memory, extra float64) float64 {
	a, b := &k.compute, &k.memory
	y, z := &a.axes[1], &a.axes[2]
	if m := memory; k.beside && a.axes[0].holds(c.X) && b.axes[0].holds(m) && y.holds(c.Y) && z.holds(c.Z) {
		row := y.find(c.Y) + z.find(c.Z)
		flops := a.cells[row+a.axes[0].find(c.X)].At(c.X, c.Y, c.Z)
		bytes := b.cells[row+b.axes[0].find(m)].At(m, c.Y, c.Z)
		return Join(k.norm, p.Flop*flops, p.Byte*(bytes+extra))
	}
	return k.joined(p, c, Point{memory, c.Y, c.Z}, extra)
}

// beyond reports whether a point of either side lies outside what was measured.
func (k *sides) beyond(c, m Point) bool { return !k.compute.holds(c) || !k.memory.holds(m) }

// Join is the time of the two sides together.
func Join(norm int, compute, memory float64) float64 {
	switch norm {
	case 1:
		return compute + memory
	case 2:
		return math.Sqrt(compute*compute + memory*memory)
	}
	c, m := compute*compute, memory*memory
	return math.Sqrt(math.Sqrt(c*c + m*m))
}

func sizes(list ...float64) error {
	for _, v := range list {
		if !(v >= 0) {
			return fmt.Errorf("a size of %g", v)
		}
	}
	return nil
}
