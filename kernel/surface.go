// Package kernel holds models of kernels that are calibrated from measurements: plain data, and the seconds they give.
//
// A kernel takes
//
//	latency + (compute^p + memory^p)^(1/p)
//
// where compute is its operations at the peak rate times a slowdown, and memory its bytes at the peak bandwidth times
// another. The slowdowns are at least 1 and depend on the dimensions of the work: each is a Surface. So a kernel is
// never faster than the roofline at peak, and no work takes the latency. A surface interpolates times, not slowdowns,
// and linearly in the dimensions: operations and bytes are multilinear in them, which makes the interpolation exact
// where the slowdown is constant, and time grows with each dimension when it does from each node to the next.
package kernel

import (
	"fmt"
	"math"
)

// Surface is a slowdown over the peak on a grid of up to three dimensions. Beyond the last node of a dimension that the
// work depends on, time grows in proportion to it. Before the first node it falls in proportion where the work is a
// plain product, else it stays.
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

// Validate says what is wrong with the surface.
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
	return w[0] + w[1]*x + y*(w[2]+w[3]*x) + z*(w[4]+w[5]*x+y*(w[6]+w[7]*x))
}

// outside is the factor on the time at the border for a point x beyond it at c, along one axis.
func (w *Work) outside(axis int, x, c float64) float64 {
	if x == c {
		return 1
	}
	terms, with := 0, 0
	for i, v := range w {
		if v != 0 {
			terms++
			with += i >> axis & 1
		}
	}
	if with == 0 || x < c && terms > 1 {
		return 1
	}
	return x / c
}

// scale multiplies the quantity.
func (w Work) scale(f float64) Work {
	for i := range w {
		w[i] *= f
	}
	return w
}

// axis finds the cell of a coordinate.
type axis struct {
	nodes  []float64
	width  []float64 // 1 over the width of each cell
	lo, hi float64
	first  [octaves]uint8 // by exponent: the cell to start looking in
	low    int            // the exponent of the first entry
	stride int            // between neighbours in the grid; 0 when there is one node
}

const octaves = 64

func newAxis(nodes []float64, stride int) axis {
	a := axis{nodes: nodes, lo: nodes[0], hi: nodes[len(nodes)-1], stride: stride}
	if len(nodes) == 1 {
		a.stride = 0
	}
	for i := 1; i < len(nodes); i++ {
		a.width = append(a.width, 1/(nodes[i]-nodes[i-1]))
	}
	a.low = exponent(a.lo)
	for e := range a.first {
		c := 0
		for c+2 < len(nodes) && nodes[c+1] <= math.Ldexp(1, a.low+e) {
			c++
		}
		a.first[e] = uint8(c)
	}
	return a
}

func exponent(x float64) int { return int(math.Float64bits(x)>>52&0x7ff) - 1023 }

// find is the place of the cell in the grid, and how far into it the coordinate lies. The coordinate is on the axis.
func (a *axis) find(x float64) (offset int, into float64) {
	if a.stride == 0 {
		return 0, 0
	}
	c := int(a.first[uint(exponent(x)-a.low)%octaves])
	for c+2 < len(a.nodes) && x >= a.nodes[c+1] {
		c++
	}
	return c * a.stride, (x - a.nodes[c]) * a.width[c]
}

// grid is a surface at given rates: the seconds of each node.
type grid struct {
	axes [3]axis
	t    []float64
	work Work // in seconds at peak
}

// newGrid prepares a surface whose work is given in seconds at peak.
func newGrid(s *Surface, work Work) (grid, error) {
	if err := s.Validate(); err != nil {
		return grid{}, err
	}
	nodes := [3][]float64{{1}, {1}, {1}}
	copy(nodes[:], s.Axes)
	g := grid{work: work, t: make([]float64, len(s.Slowdown))}
	stride := 1
	for i := 2; i >= 0; i-- {
		if len(nodes[i]) > 1<<8 {
			return grid{}, fmt.Errorf("an axis of %d nodes", len(nodes[i]))
		}
		if exponent(nodes[i][len(nodes[i])-1])-exponent(nodes[i][0]) >= octaves {
			return grid{}, fmt.Errorf("axis %d spans more than %d octaves", i, octaves)
		}
		g.axes[i] = newAxis(nodes[i], stride)
		stride *= len(nodes[i])
	}
	at := 0
	for _, x := range nodes[0] {
		for _, y := range nodes[1] {
			for _, z := range nodes[2] {
				g.t[at] = work.At(x, y, z) * s.Slowdown[at]
				at++
			}
		}
	}
	return g, nil
}

// seconds at a point.
func (g *grid) seconds(x, y, z float64) float64 {
	cx := min(max(x, g.axes[0].lo), g.axes[0].hi)
	cy := min(max(y, g.axes[1].lo), g.axes[1].hi)
	cz := min(max(z, g.axes[2].lo), g.axes[2].hi)
	ox, fx := g.axes[0].find(cx)
	oy, fy := g.axes[1].find(cy)
	oz, fz := g.axes[2].find(cz)
	sx, sy, sz := g.axes[0].stride, g.axes[1].stride, g.axes[2].stride
	t := g.t[ox+oy+oz:]
	a := lerp(lerp(t[0], t[sz], fz), lerp(t[sy], t[sy+sz], fz), fy)
	if sx > 0 {
		t = t[sx:]
		b := lerp(lerp(t[0], t[sz], fz), lerp(t[sy], t[sy+sz], fz), fy)
		a = lerp(a, b, fx)
	}
	if cx != x || cy != y || cz != z {
		a *= g.work.outside(0, x, cx) * g.work.outside(1, y, cy) * g.work.outside(2, z, cz)
	}
	return a
}

func lerp(a, b, f float64) float64 { return a + (b-a)*f }

// Spread lists the nodes around a point and their weights in slowdown: with s the slowdowns, the time is the sum of
// weight times s, in units of the work at peak. It is what fitting needs; at most 8 entries are added.
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
	for i := range at {
		ratio *= w.outside(i, at[i], clamped[i])
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
