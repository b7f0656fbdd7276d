package calibrate

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"throughline/hardware/kernel"
)

// sample is one measurement as the fit sees it: its place on the two surfaces, and its time.
type sample struct {
	part
	second  *part   // of a kernel with two products, one after the other
	between float64 // seconds that it takes beside them
	seconds float64
	size    float64 // orders the samples: those held out as largest
	group   string  // shapes that are held out together
	series  string  // rows that differ in one dimension only
}

// part is one pass over both surfaces.
type part struct {
	c, m  kernel.Point // on the compute and the memory surface
	extra float64      // seconds at peak that the memory side takes beyond its surface
}

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

type solution struct {
	latency         float64
	compute, memory kernel.Surface
	norm            int
}

// rounds of the iteration; the best one counts, because projection can make a step worse.
const rounds = 100

// fit minimises the absolute error of log times by reweighted Gauss-Newton steps, each projected
// onto slowdowns of at least 1 and times that do not fall.
func (f *form) fit(data []sample) solution {
	d := f.descent(data)
	best, least := slices.Clone(d.theta), math.Inf(1)
	step := 1.5
	last, still := math.Inf(1), 0
	for round := range rounds {
		miss := d.linearised(data, round < 3)
		if miss < least {
			least = miss
			copy(best, d.theta)
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
		if !d.move(step) {
			break
		}
	}
	return d.found(best)
}

// descent is a fit under way: least squares in the logs of the slowdowns, compute then memory, and
// of the latency, linearised and solved each round.
type descent struct {
	form   *form
	out    solution
	nc, nm int // nodes of the two surfaces
	size   int // unknowns

	near    [][]spread // nodes around each sample
	theta   []float64
	exp     []float64 // of theta
	matrix  []float64 // of the linear problem
	right   []float64
	links   []link
	low     []float64
	ceiling float64 // of the latency
	scale   float64 // samples for each unknown
}

func (f *form) descent(data []sample) *descent {
	d := &descent{form: f, out: solution{
		norm: f.norm, compute: surface(f.compute.axes), memory: surface(f.memory.axes),
	}}
	d.nc, d.nm = len(d.out.compute.Slowdown), len(d.out.memory.Slowdown)
	d.size = d.nc + d.nm + 1
	d.near = make([][]spread, len(data))
	times := make([]float64, 0, len(data))
	for i := range data {
		for _, p := range data[i].parts() {
			d.near[i] = append(d.near[i], f.spread(&d.out, &p))
		}
		times = append(times, data[i].seconds)
	}
	d.theta = make([]float64, d.size)
	for i := range d.nc + d.nm {
		d.theta[i] = math.Log(1.5)
	}
	// The latency is no longer than the quickest rows, but for a few that may be wrong.
	quick := 1e-6
	if len(times) > 0 {
		slices.Sort(times)
		quick = times[len(times)/20]
	}
	d.theta[d.size-1] = math.Log(quick * 0.7)
	d.ceiling = math.Log(quick * 0.98)
	d.links = slices.Concat(f.links(f.compute.axes, 0), f.links(f.memory.axes, d.nc))
	d.low = slices.Concat(logWork(&f.compute), logWork(&f.memory))
	d.matrix = make([]float64, d.size*d.size)
	d.right = make([]float64, d.size)
	d.exp = make([]float64, d.size)
	d.scale = float64(len(data)) / float64(d.size)
	return d
}

// gradient is the derivative of a sample's log time by the unknowns that it depends on.
type gradient struct {
	at    [33]int
	slope [33]float64
	n     int
}

// linearised sets up the linear problem around the current unknowns and returns their error;
// samples far off weigh less unless alike.
func (d *descent) linearised(data []sample, alike bool) (miss float64) {
	clear(d.matrix)
	clear(d.right)
	for i, t := range d.theta {
		d.exp[i] = math.Exp(t)
	}
	var g gradient
	for i := range data {
		total := d.sloped(&g, &data[i], d.near[i])
		r := math.Log(total / data[i].seconds)
		miss += math.Abs(r)
		w := 0.05 / max(math.Abs(r), 0.05)
		if alike {
			w = 1
		}
		for a := range g.n {
			row := d.matrix[g.at[a]*d.size:]
			v := w * g.slope[a]
			for b := range g.n {
				row[g.at[b]] += v * g.slope[b]
			}
			d.right[g.at[a]] -= v * r
		}
	}
	return miss
}

// sloped is the time of a sample at the present unknowns, with its gradient.
func (d *descent) sloped(g *gradient, s *sample, near []spread) float64 {
	norm, last := d.form.norm, d.size-1
	total, n := d.exp[last]+s.between, 0
	for j := range near {
		sp := &near[j]
		c, m := 0.0, sp.extra
		for k := range sp.c {
			c += sp.cw[k] * d.exp[sp.cn[k]]
		}
		for k := range sp.m {
			m += sp.mw[k] * d.exp[d.nc+sp.mn[k]]
		}
		joined := kernel.Join(norm, c, m)
		total += joined
		// The share of each side in the sum.
		dc, dm := 0.0, 0.0
		if joined > 0 {
			p := float64(norm - 1)
			dc, dm = math.Pow(c/joined, p), math.Pow(m/joined, p)
		}
		for k := range sp.c {
			g.at[n], g.slope[n] = sp.cn[k], dc*sp.cw[k]*d.exp[sp.cn[k]]
			n++
		}
		for k := range sp.m {
			g.at[n], g.slope[n] = d.nc+sp.mn[k], dm*sp.mw[k]*d.exp[d.nc+sp.mn[k]]
			n++
		}
	}
	for a := range n {
		g.slope[a] /= total
	}
	g.at[n], g.slope[n] = last, d.exp[last]/total
	g.n = n + 1
	return total
}

// move solves the linear problem and moves each unknown by at most step; false without a solution.
func (d *descent) move(step float64) bool {
	f := d.form
	for _, l := range d.links {
		l.add(d.matrix, d.right, d.theta, d.size, d.scale*f.smooth, d.scale*f.bend)
	}
	for i := range d.size {
		d.matrix[i*d.size+i] += 1e-3 * d.scale
	}
	// Nodes without nearby samples follow their neighbours; a weak pull keeps the rest finite.
	for i := range d.nc + d.nm {
		const pull = 1e-4
		d.matrix[i*d.size+i] += pull * d.scale
		d.right[i] -= pull * d.scale * (d.theta[i] - math.Log(1.3))
	}
	if !solve(d.matrix, d.right, d.size) {
		return false
	}
	for i := range d.theta {
		d.theta[i] += min(max(d.right[i], -step), step)
	}
	last := d.size - 1
	d.theta[last] = min(max(d.theta[last], math.Log(1e-9)), d.ceiling)
	project(f.compute, d.theta[:d.nc], d.low[:d.nc])
	project(f.memory, d.theta[d.nc:d.nc+d.nm], d.low[d.nc:])
	return true
}

// found is the solution at some unknowns.
func (d *descent) found(theta []float64) solution {
	s := d.out
	for i := range d.nc {
		s.compute.Slowdown[i] = math.Exp(theta[i])
	}
	for i := range d.nm {
		s.memory.Slowdown[i] = math.Exp(theta[d.nc+i])
	}
	s.latency = math.Exp(theta[d.size-1])
	s.round(d.form)
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

// project moves log slowdowns to at least 0 with times that do not fall along the axes: violating
// neighbours meet in the middle a few times, and the rest are raised.
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
	s.latency = Digits(s.latency)
	for _, p := range []struct {
		side *side
		s    *kernel.Surface
	}{{&f.compute, &s.compute}, {&f.memory, &s.memory}} {
		for i, v := range p.s.Slowdown {
			p.s.Slowdown[i] = max(Digits(v), 1)
		}
		low := logWork(p.side)
		for range 8 {
			each(p.side.axes, func(axis, at, stride, place, n int) {
				if place+1 >= n || p.side.free>>axis&1 == 1 {
					return
				}
				a, b := at, at+stride
				if need := p.s.Slowdown[a] * math.Exp(low[a]-low[b]); p.s.Slowdown[b] < need {
					p.s.Slowdown[b] = Digits(need * 1.0006)
				}
			})
		}
	}
}

// Digits rounds to four of them.
func Digits(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(v)))
	return math.Round(v*p) / p
}

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

// solve solves a symmetric positive definite system in b, using the upper triangle of a.
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
