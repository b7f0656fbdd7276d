package calibrate

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"throughline/hardware/kernel"
)

// sample is one measurement as the fit sees it: where it lies on the two surfaces, and how long it took.
type sample struct {
	part
	second  *part   // of a kernel with two products, one after the other
	between float64 // seconds that it takes beside them
	seconds float64
	size    float64 // orders the samples: those held out as largest
	group   string  // shapes that are held out together
	series  string  // rows that differ in one dimension only
	place   string
}

// part is one pass over both surfaces.
type part struct {
	c, m  kernel.Point // on the compute and the memory surface
	extra float64      // seconds at peak that the memory side takes beyond its surface
}

// parts of the sample.
func (d *sample) parts() []part {
	if d.second == nil {
		return []part{d.part}
	}
	return []part{d.part, *d.second}
}

// side is one surface and its work in seconds at peak.
type side struct {
	axes [][]float64
	work kernel.Work
	free int // bit i: time may fall along axis i
}

// form is a kernel to be fitted.
type form struct {
	compute, memory side
	setting
}

// setting is how the sides of a class overlap and how stiff its surfaces are.
type setting struct {
	norm   int
	smooth float64 // weight of the slope of the slowdown against the data
	bend   float64 // weight of its curvature
}

// solution is the fitted numbers.
type solution struct {
	latency         float64
	compute, memory kernel.Surface
	norm            int
}

// rounds of the iteration. The best of them counts: the projection can make a step worse than the one before.
const rounds = 100

// fit finds the slowdowns and the latency that minimise the absolute error of the logarithm of the times, by reweighted
// Gauss-Newton steps, each followed by the projection onto slowdowns of at least 1 and times that do not fall.
func (f *form) fit(data []sample) solution {
	s := solution{
		norm: f.norm, compute: surface(f.compute.axes), memory: surface(f.memory.axes),
	}
	nc, nm := len(s.compute.Slowdown), len(s.memory.Slowdown)
	size := nc + nm + 1

	// Nodes around each sample.
	near := make([][]spread, len(data))
	times := make([]float64, 0, len(data))
	for i := range data {
		for _, p := range data[i].parts() {
			near[i] = append(near[i], f.spread(&s, &p))
		}
		times = append(times, data[i].seconds)
	}
	theta := make([]float64, size) // logarithms of slowdowns, compute then memory, and of the latency
	for i := range nc + nm {
		theta[i] = math.Log(1.5)
	}
	// The latency is no longer than the quickest rows, but for a few that may be wrong.
	quick := 1e-6
	if len(times) > 0 {
		slices.Sort(times)
		quick = times[len(times)/20]
	}
	theta[size-1] = math.Log(quick * 0.7)
	ceiling := math.Log(quick * 0.98)

	links := slices.Concat(f.links(f.compute.axes, 0), f.links(f.memory.axes, nc))
	low := slices.Concat(logWork(&f.compute), logWork(&f.memory))
	matrix := make([]float64, size*size)
	right := make([]float64, size)
	exp := make([]float64, size)
	scale := float64(len(data)) / float64(size)
	best, least := slices.Clone(theta), math.Inf(1)
	step := 1.5
	last, still := math.Inf(1), 0
	for round := range rounds {
		clear(matrix)
		clear(right)
		for i, t := range theta {
			exp[i] = math.Exp(t)
		}
		var at [33]int
		var slope [33]float64
		miss := 0.0
		for i := range data {
			d := &data[i]
			total, n := exp[size-1]+d.between, 0
			for j := range near[i] {
				sp := &near[i][j]
				c, m := 0.0, sp.extra
				for k := range sp.c {
					c += sp.cw[k] * exp[sp.cn[k]]
				}
				for k := range sp.m {
					m += sp.mw[k] * exp[nc+sp.mn[k]]
				}
				joined := kernel.Join(f.norm, c, m)
				total += joined
				// The share of each side in the sum.
				dc, dm := 0.0, 0.0
				if joined > 0 {
					p := float64(f.norm - 1)
					dc, dm = math.Pow(c/joined, p), math.Pow(m/joined, p)
				}
				for k := range sp.c {
					at[n], slope[n] = sp.cn[k], dc*sp.cw[k]*exp[sp.cn[k]]
					n++
				}
				for k := range sp.m {
					at[n], slope[n] = nc+sp.mn[k], dm*sp.mw[k]*exp[nc+sp.mn[k]]
					n++
				}
			}
			r := math.Log(total / d.seconds)
			for a := range n {
				slope[a] /= total
			}
			at[n], slope[n] = size-1, exp[size-1]/total
			n++
			miss += math.Abs(r)
			w := 0.05 / max(math.Abs(r), 0.05)
			if round < 3 {
				w = 1
			}
			for a := range n {
				row := matrix[at[a]*size:]
				v := w * slope[a]
				for b := range n {
					row[at[b]] += v * slope[b]
				}
				right[at[a]] -= v * r
			}
		}
		if miss < least {
			least = miss
			copy(best, theta)
		}
		if round > 3 && miss > last {
			step = max(step/2, 0.02)
		}
		if math.Abs(miss-last) < 1e-4*last {
			if still++; still == 3 {
				break
			}
		} else {
			still = 0
		}
		last = miss
		for _, l := range links {
			l.add(matrix, right, theta, size, scale*f.smooth, scale*f.bend)
		}
		for i := range size {
			matrix[i*size+i] += 1e-3 * scale
		}
		// Nodes that no sample is near end up where their neighbours are; a weak pull keeps the rest finite.
		for i := range nc + nm {
			const pull = 1e-4
			matrix[i*size+i] += pull * scale
			right[i] -= pull * scale * (theta[i] - math.Log(1.3))
		}
		if !solve(matrix, right, size) {
			break
		}
		for i := range theta {
			theta[i] += min(max(right[i], -step), step)
		}
		theta[size-1] = min(max(theta[size-1], math.Log(1e-9)), ceiling)
		project(f.compute, theta[:nc], low[:nc])
		project(f.memory, theta[nc:nc+nm], low[nc:])
	}
	theta = best
	for i := range nc {
		s.compute.Slowdown[i] = math.Exp(theta[i])
	}
	for i := range nm {
		s.memory.Slowdown[i] = math.Exp(theta[nc+i])
	}
	s.latency = math.Exp(theta[size-1])
	s.round(f)
	return s
}

// spread is the nodes around a part, and their weights.
type spread struct {
	cn, mn [8]int
	cw, mw [8]float64
	c, m   int
	extra  float64
}

func (f *form) spread(s *solution, p *part) (sp spread) {
	var nodes [8]int
	var weights [8]float64
	n, w := s.compute.Spread(&f.compute.work, p.c.X, p.c.Y, p.c.Z, nodes[:0], weights[:0])
	sp.c = copy(sp.cn[:], n)
	copy(sp.cw[:], w)
	n, w = s.memory.Spread(&f.memory.work, p.m.X, p.m.Y, p.m.Z, nodes[:0], weights[:0])
	sp.m = copy(sp.mn[:], n)
	copy(sp.mw[:], w)
	sp.extra = p.extra
	return sp
}

// surface is one with room for slowdowns.
func surface(axes [][]float64) kernel.Surface {
	n := 1
	for _, a := range axes {
		n *= len(a)
	}
	s := kernel.Surface{Axes: axes, Slowdown: make([]float64, n)}
	for i := range s.Slowdown {
		s.Slowdown[i] = 1
	}
	return s
}

// link is three nodes in a row, or two at the end (third < 0).
type link struct {
	a, b, c int
	h1, h2  float64 // distances in octaves
}

func (f *form) links(axes [][]float64, offset int) []link {
	var out []link
	each(axes, func(axis, at, stride, place, n int) {
		a := axes[axis]
		if place+1 >= n {
			return
		}
		l := link{a: offset + at, b: offset + at + stride, c: -1, h1: math.Log2(a[place+1] / a[place])}
		if place+2 < n {
			l.c, l.h2 = offset+at+2*stride, math.Log2(a[place+2]/a[place+1])
		}
		out = append(out, l)
	})
	return out
}

// add puts the penalties of the link into the normal equations.
func (l *link) add(matrix, right, theta []float64, size int, smooth, bend float64) {
	put := func(w float64, at []int, k []float64) {
		v := 0.0
		for i, a := range at {
			v += k[i] * theta[a]
		}
		for i, a := range at {
			for j, b := range at {
				matrix[a*size+b] += w * k[i] * k[j]
			}
			right[a] -= w * k[i] * v
		}
	}
	put(smooth/l.h1, []int{l.a, l.b}, []float64{-1, 1})
	if l.c >= 0 {
		put(bend/(l.h1+l.h2)*2, []int{l.a, l.b, l.c}, []float64{1 / l.h1, -1/l.h1 - 1/l.h2, 1 / l.h2})
	}
}

// each visits every node once per axis.
func each(axes [][]float64, visit func(axis, at, stride, place, n int)) {
	total := 1
	for _, a := range axes {
		total *= len(a)
	}
	stride := total
	for i, a := range axes {
		stride /= len(a)
		for at := range total {
			visit(i, at, stride, at/stride%len(a), len(a))
		}
	}
}

// logWork is the logarithm of the work of each node.
func logWork(s *side) []float64 {
	nodes := [3][]float64{{1}, {1}, {1}}
	copy(nodes[:], s.axes)
	var out []float64
	for _, x := range nodes[0] {
		for _, y := range nodes[1] {
			for _, z := range nodes[2] {
				out = append(out, math.Log(max(s.work.At(x, y, z), 1e-300)))
			}
		}
	}
	return out
}

// project moves logarithms of slowdowns to values of at least 0 whose times do not fall along the axes: violating
// neighbours meet in the middle a few times, and what is left is raised.
func project(s side, theta, low []float64) {
	for pass := range 24 {
		moved := false
		each(s.axes, func(axis, at, stride, place, n int) {
			if place+1 >= n || s.free>>axis&1 == 1 {
				return
			}
			a, b := at, at+stride
			if d := theta[a] + low[a] - theta[b] - low[b]; d > 1e-12 {
				moved = true
				if pass < 20 {
					theta[a] -= d / 2
					theta[b] += d / 2
				} else {
					theta[b] += d
				}
			}
		})
		for i := range theta {
			theta[i] = max(theta[i], 0)
		}
		if !moved && pass < 20 {
			return
		}
	}
}

// round leaves four digits of each number, times still not falling.
func (s *solution) round(f *form) {
	s.latency = digits(s.latency)
	for _, p := range []struct {
		side *side
		s    *kernel.Surface
	}{{&f.compute, &s.compute}, {&f.memory, &s.memory}} {
		for i, v := range p.s.Slowdown {
			p.s.Slowdown[i] = max(digits(v), 1)
		}
		low := logWork(p.side)
		for range 8 {
			each(p.side.axes, func(axis, at, stride, place, n int) {
				if place+1 >= n || p.side.free>>axis&1 == 1 {
					return
				}
				a, b := at, at+stride
				if need := p.s.Slowdown[a] * math.Exp(low[a]-low[b]); p.s.Slowdown[b] < need {
					p.s.Slowdown[b] = digits(need * 1.0006)
				}
			})
		}
	}
}

// digits rounds to four of them.
func digits(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(v)))
	return math.Round(v*p) / p
}

// predict is the time that the solution gives.
func (f *form) predict(s *solution, d *sample) float64 {
	sum := func(sf *kernel.Surface, w *kernel.Work, at *kernel.Point) float64 {
		var nodes [8]int
		var weights [8]float64
		n, k := sf.Spread(w, at.X, at.Y, at.Z, nodes[:0], weights[:0])
		t := 0.0
		for i := range n {
			t += k[i] * sf.Slowdown[n[i]]
		}
		return t
	}
	t := s.latency + d.between
	for _, p := range d.parts() {
		c := sum(&s.compute, &f.compute.work, &p.c)
		m := sum(&s.memory, &f.memory.work, &p.m) + p.extra
		t += kernel.Join(s.norm, c, m)
	}
	return t
}

// computing is the time of the operations at peak.
func (f *form) computing(d *sample) float64 {
	t := 0.0
	for _, p := range d.parts() {
		t += f.compute.work.At(p.c.X, p.c.Y, p.c.Z)
	}
	return t
}

// roofline is the time at a share of both peaks.
func (f *form) roofline(d *sample, share float64) float64 {
	t := 0.0
	for _, p := range d.parts() {
		c := f.compute.work.At(p.c.X, p.c.Y, p.c.Z)
		m := f.memory.work.At(p.m.X, p.m.Y, p.m.Z) + p.extra
		t += max(c, m)
	}
	return t / share
}

// solve solves a symmetric positive definite system, of which the upper triangle counts; the result is in b.
func solve(a, b []float64, n int) bool {
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(n, a)) {
		return false
	}
	x := mat.NewVecDense(n, b)
	// A system that is nearly singular has an answer, too: the fit keeps the best of its rounds.
	err := c.SolveVecTo(x, x)
	var near mat.Condition
	return err == nil || errors.As(err, &near)
}
