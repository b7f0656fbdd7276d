package kernel

import "fmt"

// Curve is a kernel that only moves bytes: element-wise operators, norms, copies. Its axis is bytes
// read and written, or rows and bytes per row.
type Curve struct {
	Latency float64 `json:"latency"`
	Memory  Surface `json:"memory"`
}

func (c *Curve) byRow() bool { return len(c.Memory.Axes) == 2 }

// Work is the bytes.
func (c *Curve) Work() Work {
	if c.byRow() {
		return Work{3: 1}
	}
	return Work{1: 1}
}

// Point is bytes, or rows and bytes of one.
func (c *Curve) Point(s *Shape) Point {
	if c.byRow() {
		return Point{s.Rows, s.Moved / s.Rows, 1}
	}
	return Point{s.Moved, 1, 1}
}

// Numbers is how many of them were fitted.
func (c *Curve) Numbers() int { return len(c.Memory.Slowdown) + 1 }

func (c *Curve) Check() error {
	_, err := c.prepare()
	return err
}

func (c *Curve) prepare() (*curveTiming, error) {
	if len(c.Memory.Axes) > 2 {
		return nil, fmt.Errorf("bytes: %d axes, not one or two", len(c.Memory.Axes))
	}
	s, err := moving(c.Latency, c.Memory, c.Work())
	if err != nil {
		return nil, fmt.Errorf("bytes: %w", err)
	}
	return &curveTiming{s.latency, s.memory, *c}, nil
}

type curveTiming struct {
	latency float64
	memory  grid
	c       Curve
}

func (t *curveTiming) Seconds(p *Pace, s *Shape) float64 {
	return t.latency + p.Byte*t.memory.at(t.c.Point(s))
}

func (t *curveTiming) Beyond(s *Shape) bool { return !t.memory.holds(t.c.Point(s)) }

// fusedTiming is what an operator adds to a kernel it is fused with: its bytes without latency. A
// kernel that works on rows takes the calibrated number of rows.
type fusedTiming struct{ *curveTiming }

func (t fusedTiming) point(s *Shape) Point {
	if t.c.byRow() {
		rows := t.memory.axes[0].span[1]
		return Point{rows, s.Moved / rows, 1}
	}
	return Point{s.Moved, 1, 1}
}

func (t fusedTiming) Seconds(p *Pace, s *Shape) float64 { return p.Byte * t.memory.at(t.point(s)) }
func (t fusedTiming) Beyond(s *Shape) bool              { return !t.memory.holds(t.point(s)) }

// aloneTiming is a separate kernel that moves bytes: at least the grid's smallest work and latency.
type aloneTiming struct {
	fusedTiming
	least float64
}

func (t *curveTiming) alone() *aloneTiming {
	a := &t.memory.axes
	return &aloneTiming{fusedTiming{t}, t.memory.at(Point{a[0].span[0], a[1].span[0], 1})}
}

func (t *aloneTiming) Seconds(p *Pace, s *Shape) float64 {
	return t.latency + p.Byte*max(t.least, t.memory.at(t.point(s)))
}
