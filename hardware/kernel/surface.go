// Package kernel holds models of kernels calibrated from measurements: plain data, and their times.
//
// A kernel takes
//
//	latency + (compute^p + memory^p)^(1/p)
//
// where compute is its operations at the peak rate times a slowdown, and memory its bytes at the
// peak bandwidth times another. The slowdowns are at least 1 and depend on the dimensions of the
// work: each is a Surface. So a kernel is never faster than the roofline at peak, and without work
// takes the latency. A surface interpolates times linearly in the dimensions, not slowdowns:
// operations and bytes are multilinear, so the interpolation is exact where the slowdown is
// constant, and time grows with a dimension if it does from node to node.
package kernel

import (
	"fmt"
	"math"
	"slices"
)

// Surface is a slowdown over the peak on a grid of up to three dimensions. Beyond its last node,
// time grows in proportion to a dimension that the work depends on. Before the first node it falls
// in proportion where the work is a plain product, else it stays.
type Surface struct {
	// Axes are the nodes of the grid along each dimension, rising.
	Axes [][]float64 `json:"axes"`
	// Slowdown at each node, at least 1; the last axis runs fastest.
	Slowdown []float64 `json:"slowdown"`
}

// Flat is a surface with one slowdown.
func Flat(slowdown float64) Surface {
	return Surface{Axes: [][]float64{{1}}, Slowdown: []float64{slowdown}}
}

func (s *Surface) Validate() error {
	if len(s.Axes) < 1 || len(s.Axes) > 3 {
		return fmt.Errorf("a surface has one to three axes, not %d", len(s.Axes))
	}
	n := 1
	for i, a := range s.Axes {
		if len(a) == 0 {
			return fmt.Errorf("axis %d has no nodes", i)
		}
		for j, x := range a {
			if !(x > 0) || math.IsInf(x, 1) || j > 0 && x <= a[j-1] {
				return fmt.Errorf("the nodes of axis %d are not positive and rising at %g", i, x)
			}
		}
		n *= len(a)
	}
	if len(s.Slowdown) != n {
		return fmt.Errorf("%d slowdowns for %d nodes", len(s.Slowdown), n)
	}
	for i, v := range s.Slowdown {
		if !(v >= 1) || math.IsInf(v, 1) {
			return fmt.Errorf("slowdown %d is %g, not at least 1", i, v)
		}
	}
	return nil
}

// Work is a quantity multilinear in x, y, z: the coefficients of 1, x, y, xy, z, xz, yz, xyz.
type Work [8]float64

// At is the quantity at a point.
func (w *Work) At(x, y, z float64) float64 {
	return w.plane(x, y) + z*(w[4]+w[5]*x+y*(w[6]+w[7]*x))
}

// plane is the same at z = 0.
func (w *Work) plane(x, y float64) float64 { return w[0] + w[1]*x + y*(w[2]+w[3]*x) }

// grows reports the axes along which time is in proportion above the last, below the first node.
func (w *Work) grows() (above, below [3]bool) {
	below = [3]bool{true, true, true} // a factor of every term
	for i, v := range w {
		if v != 0 {
			for axis := range above {
				above[axis] = above[axis] || i>>axis&1 == 1
				below[axis] = below[axis] && i>>axis&1 == 1
			}
		}
	}
	for axis := range below {
		below[axis] = below[axis] && above[axis]
	}
	return above, below
}

// axis finds the cell of a coordinate. The fields of every search come first, to lie together.
type axis struct {
	lo, hi float64        // range of the cells
	low    uint64         // the octave of lo
	stride int            // between neighbouring cells
	first  [octaves]uint8 // by octave above low: the cell to start from
	exact  bool           // cells meet at powers of two, so that first is the cell

	nodes []float64  // inner ones, where cells meet
	span  [2]float64 // the first and the last node
	// Time is in proportion beyond the last node, and before the first.
	above, below bool
}

const octaves = 64

func newAxis(nodes []float64, stride int) axis {
	a := axis{lo: nodes[0], hi: nodes[len(nodes)-1], low: octave(nodes[0]), stride: stride, exact: true}
	a.span = [2]float64{a.lo, a.hi}
	if len(nodes) > 2 {
		a.nodes = nodes[1 : len(nodes)-1]
	}
	for _, x := range a.nodes {
		a.exact = a.exact && x == powerOfTwo(octave(x))
	}
	for e := range a.first {
		for int(a.first[e]) < len(a.nodes) && a.nodes[a.first[e]] <= powerOfTwo(a.low+uint64(e)) {
			a.first[e]++
		}
	}
	return a
}

// octave is the exponent in the bits of a number that is not negative; powerOfTwo is its start.
func octave(x float64) uint64 { return math.Float64bits(x) >> 52 }

func powerOfTwo(octave uint64) float64 { return math.Ldexp(1, int(octave)-1023) }

// find is the index of the cell that holds a coordinate.
func (a *axis) find(x float64) int {
	c := int(a.first[(octave(x)-a.low)%octaves])
	for !a.exact && c < len(a.nodes) && x >= a.nodes[c] {
		c++
	}
	return c * a.stride
}

func (a *axis) holds(x float64) bool { return x >= a.lo && x <= a.hi }

// alike: another axis has the same cells.
func (a *axis) alike(o *axis) bool {
	return a.lo == o.lo && a.hi == o.hi && a.stride == o.stride && slices.Equal(a.nodes, o.nodes)
}

func (a *axis) single() bool { return a.span[0] == a.span[1] }

// proportional: time is in proportion on both sides of a single node.
func (a *axis) proportional() bool { return a.single() && a.above && a.below }

// idle: time is the same anywhere on the axis.
func (a *axis) idle() bool { return a.single() && !a.above }

// clamp returns the nearest coordinate on the axis, and how much longer the work takes beyond it.
func (a *axis) clamp(x float64) (at, factor float64) {
	at, factor = x, 1
	if x > a.hi {
		at = a.hi
		if a.above {
			factor = x / at
		}
	} else if !(x >= a.lo) {
		at = a.lo
		if a.below {
			factor = x / at
		}
	}
	return at, factor
}

type Point struct{ X, Y, Z float64 }

// grid is a prepared surface: in each cell the work times the slowdown, a multilinear function.
type grid struct {
	axes  [3]axis
	cells []Work
	// line: time depends on the first coordinate alone; plane: on the first two.
	line, plane bool
}

func newGrid(s *Surface, work Work) (grid, error) {
	if err := s.Validate(); err != nil {
		return grid{}, err
	}
	nodes := [3][]float64{{1}, {1}, {1}}
	copy(nodes[:], s.Axes)
	var g grid
	count, err := g.setAxes(&nodes, work)
	if err != nil {
		return grid{}, err
	}
	t := make([]float64, 0, len(s.Slowdown))
	for _, x := range nodes[0] {
		for _, y := range nodes[1] {
			for _, z := range nodes[2] {
				t = append(t, work.At(x, y, z)*s.Slowdown[len(t)])
			}
		}
	}
	g.cells = make([]Work, 0, count)
	for i := range max(len(nodes[0])-1, 1) {
		for j := range max(len(nodes[1])-1, 1) {
			for k := range max(len(nodes[2])-1, 1) {
				g.cells = append(g.cells, g.cell(&nodes, t, [3]int{i, j, k}))
			}
		}
	}
	return g, nil
}

// setAxes prepares the axes for their nodes, and returns the number of cells.
func (g *grid) setAxes(nodes *[3][]float64, work Work) (cells int, err error) {
	above, below := work.grows()
	stride := 1
	for i := 2; i >= 0; i-- {
		n := len(nodes[i])
		if n > 1<<8 {
			return 0, fmt.Errorf("an axis of %d nodes", n)
		}
		if octave(nodes[i][n-1])-octave(nodes[i][0]) >= octaves {
			return 0, fmt.Errorf("axis %d spans more than %d octaves", i, octaves)
		}
		g.axes[i] = newAxis(nodes[i], stride)
		g.axes[i].above, g.axes[i].below = above[i], below[i]
		if g.axes[i].proportional() {
			g.axes[i].lo, g.axes[i].hi = 0, math.Inf(1)
		}
		stride *= max(n-1, 1)
	}
	g.plane = g.axes[2].idle()
	g.line = g.plane && g.axes[1].idle()
	return stride, nil
}

// cell turns the values at the corners of a cell into a multilinear function, axis by axis.
func (g *grid) cell(nodes *[3][]float64, t []float64, at [3]int) (c Work) {
	for corner := range c {
		a := min(at[0]+corner&1, len(nodes[0])-1)
		b := min(at[1]+corner>>1&1, len(nodes[1])-1)
		d := min(at[2]+corner>>2, len(nodes[2])-1)
		c[corner] = t[(a*len(nodes[1])+b)*len(nodes[2])+d]
	}
	for axis, place := range at {
		n := nodes[axis]
		bit := 1 << axis
		for corner := range c {
			switch {
			case corner&bit != 0:
			case len(n) > 1:
				slope := (c[corner|bit] - c[corner]) / (n[place+1] - n[place])
				c[corner] -= slope * n[place]
				c[corner|bit] = slope
			case g.axes[axis].proportional():
				c[corner], c[corner|bit] = 0, c[corner]/n[0]
			default:
				c[corner|bit] = 0
			}
		}
	}
	return c
}

// holds reports whether a point lies within the nodes.
func (g *grid) holds(p Point) bool {
	for i, v := range [3]float64{p.X, p.Y, p.Z} {
		if s := &g.axes[i].span; v < s[0] || v > s[1] {
			return false
		}
	}
	return true
}

// at is the work at a point, slowed down.
func (g *grid) at(p Point) float64 {
	a := &g.axes[0]
	if p.X < a.lo || p.X > a.hi {
		return g.beyond(p)
	}
	cell := a.find(p.X)
	if g.line {
		w := &g.cells[cell]
		return w[0] + w[1]*p.X
	}
	b := &g.axes[1]
	if p.Y < b.lo || p.Y > b.hi {
		return g.beyond(p)
	}
	cell += b.find(p.Y)
	if g.plane {
		return g.cells[cell].plane(p.X, p.Y)
	}
	c := &g.axes[2]
	if p.Z < c.lo || p.Z > c.hi {
		return g.beyond(p)
	}
	return g.cells[cell+c.find(p.Z)].At(p.X, p.Y, p.Z)
}

// beyond is the same outside the grid.
func (g *grid) beyond(p Point) float64 {
	a, b, c := &g.axes[0], &g.axes[1], &g.axes[2]
	x, fx := a.clamp(p.X)
	y, fy := b.clamp(p.Y)
	z, fz := c.clamp(p.Z)
	return fx * fy * fz * g.cells[a.find(x)+b.find(y)+c.find(z)].At(x, y, z)
}

// Spread lists up to 8 nodes around a point and their weights: time is the sum of weight times
// slowdown, in units of the work at peak. Fitting needs it.
func (s *Surface) Spread(w *Work, x, y, z float64, node []int, weight []float64) ([]int, []float64) {
	nodes := [3][]float64{{1}, {1}, {1}}
	copy(nodes[:], s.Axes)
	at := [3]float64{x, y, z}
	var cell [3]int
	var into [3]float64
	clamped := at
	for i, a := range nodes {
		clamped[i] = min(max(at[i], a[0]), a[len(a)-1])
		c := 0
		for c+2 < len(a) && clamped[i] >= a[c+1] {
			c++
		}
		cell[i] = c
		if len(a) > 1 {
			into[i] = (clamped[i] - a[c]) / (a[c+1] - a[c])
		}
	}
	ratio := 1.0
	above, below := w.grows()
	for i := range at {
		if at[i] > clamped[i] && above[i] || at[i] < clamped[i] && below[i] {
			ratio *= at[i] / clamped[i]
		}
	}
	for corner := range 8 {
		f, index := ratio, 0
		var p [3]float64
		for i, a := range nodes {
			c, share := cell[i], 1-into[i]
			if corner>>i&1 == 1 {
				c, share = c+1, into[i]
			}
			if share == 0 {
				f = 0
				break
			}
			f *= share
			index = index*len(a) + c
			p[i] = a[c]
		}
		if f != 0 {
			node = append(node, index)
			weight = append(weight, f*w.At(p[0], p[1], p[2]))
		}
	}
	return node, weight
}
