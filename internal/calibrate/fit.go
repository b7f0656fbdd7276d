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

// The iteration. None of these decides what a good fit is: errors on rows that were held out do (docs/calibration.md).
const (
	rounds      = 100  // at most; the best of them counts: the projection can make a step worse than the one before
	plainRounds = 3    // with all rows alike, before those that are far off count less
	settled     = 1e-4 // change of the error, as a share, that is none
	enough      = 3    // rounds without change

	firstSlowdown = 1.5 // of all nodes, to begin with
	usualSlowdown = 1.3 // where nodes are drawn to that no row is near
	pull          = 1e-4
	damping       = 1e-3

	firstStep = 1.5 // most that the logarithm of a slowdown moves in a round, to begin with; halved when a round is worse
	leastStep = 0.02

	outlier = 0.05 // error of a logarithm from which on rows count by its size and no more by its square

	quickRows     = 20   // one row in so many may be quicker than the latency allows: those that may be wrong
	firstLatency  = 0.7  // of the time of the others, to begin with
	mostLatency   = 0.98 // at most
	leastLatency  = 1e-9 // seconds
	withoutRows   = 1e-6 // seconds that the quickest row takes where there are none
	mostNeighbors = 33   // nodes on two surfaces around a row of two parts, and the latency
)

// iteration is a fit under way.
type iteration struct {
	*form
	data    []sample
	near    [][]spread // nodes around the parts of each sample
	nc, nm  int        // nodes of the compute and of the memory surface
	size    int        // of theta
	theta   []float64  // logarithms of slowdowns, compute then memory, and of the latency
	ceiling float64    // of the latency
	links   []link
	low     []float64

	// The normal equations of a round, of rows and of what keeps the surfaces smooth, which weighs so much more the more
	// rows there are for each number.
	exp, matrix, right []float64
	scale              float64
}

// fit finds the slowdowns and the latency that minimise the absolute error of the logarithm of the times, by reweighted
// Gauss-Newton steps, each followed by the projection onto slowdowns of at least 1 and times that do not fall.
func (f *form) fit(data []sample) solution {
	s := solution{
		norm: f.norm, compute: surface(f.compute.axes), memory: surface(f.memory.axes),
	}
	g := f.begin(&s, data)
	theta := g.run()
	for i := range g.nc {
		s.compute.Slowdown[i] = math.Exp(theta[i])
	}
	for i := range g.nm {
		s.memory.Slowdown[i] = math.Exp(theta[g.nc+i])
	}
	s.latency = math.Exp(theta[g.size-1])
	s.round(f)
	return s
}

// begin prepares a fit.
func (f *form) begin(s *solution, data []sample) *iteration {
	nc, nm := len(s.compute.Slowdown), len(s.memory.Slowdown)
	size := nc + nm + 1
	g := &iteration{
		form: f, data: data, near: make([][]spread, len(data)), nc: nc, nm: nm, size: size,
		theta: make([]float64, size), exp: make([]float64, size), matrix: make([]float64, size*size), right: make([]float64, size),
		links: slices.Concat(f.links(f.compute.axes, 0), f.links(f.memory.axes, nc)),
		low:   slices.Concat(logWork(&f.compute), logWork(&f.memory)),
		scale: float64(len(data)) / float64(size),
	}
	times := make([]float64, 0, len(data))
	for i := range data {
		for _, p := range data[i].parts() {
			g.near[i] = append(g.near[i], f.spread(s, &p))
		}
		times = append(times, data[i].seconds)
	}
	for i := range nc + nm {
		g.theta[i] = math.Log(firstSlowdown)
	}
	quick := withoutRows
	if len(times) > 0 {
		slices.Sort(times)
		quick = times[len(times)/quickRows]
	}
	g.theta[size-1] = math.Log(quick * firstLatency)
	g.ceiling = math.Log(quick * mostLatency)
	return g
}

// run moves theta round by round, and returns the best there was.
func (g *iteration) run() (best []float64) {
	best, least := slices.Clone(g.theta), math.Inf(1)
	step := firstStep
	last, still := math.Inf(1), 0
	for round := range rounds {
		miss := g.weigh(round >= plainRounds)
		if miss < least {
			least = miss
			copy(best, g.theta)
		}
		if round > plainRounds && miss > last {
			step = max(step/2, leastStep)
		}
		if math.Abs(miss-last) < settled*last {
			if still++; still == enough {
				break
			}
		} else {
			still = 0
		}
		last = miss
		if !g.move(step) {
			break
		}
	}
	return best
}

// weigh makes the normal equations of all samples at theta, and returns the sum of their errors. Where it is robust, those
// that are far off count by their error, not by its square.
func (g *iteration) weigh(robust bool) (miss float64) {
	clear(g.matrix)
	clear(g.right)
	for i, t := range g.theta {
		g.exp[i] = math.Exp(t)
	}
	var at [mostNeighbors]int
	var slope [mostNeighbors]float64
	for i := range g.data {
		r, n := g.slopes(i, &at, &slope)
		miss += math.Abs(r)
		w := 1.0
		if robust {
			w = outlier / max(math.Abs(r), outlier)
		}
		for a := range n {
			row := g.matrix[at[a]*g.size:]
			v := w * slope[a]
			for b := range n {
				row[at[b]] += v * slope[b]
			}
			g.right[at[a]] -= v * r
		}
	}
	return miss
}

// slopes is the error of the logarithm of a sample's time, and how it changes with the n numbers of theta that it depends on.
func (g *iteration) slopes(sample int, at *[mostNeighbors]int, slope *[mostNeighbors]float64) (r float64, n int) {
	d, exp, latency := &g.data[sample], g.exp, g.exp[g.size-1]
	total := latency + d.between
	for j := range g.near[sample] {
		sp := &g.near[sample][j]
		c, m := 0.0, sp.extra
		for k := range sp.c {
			c += sp.cw[k] * exp[sp.cn[k]]
		}
		for k := range sp.m {
			m += sp.mw[k] * exp[g.nc+sp.mn[k]]
		}
		joined := kernel.Join(g.norm, c, m)
		total += joined
		// The share of each side in the sum.
		dc, dm := 0.0, 0.0
		if joined > 0 {
			p := float64(g.norm - 1)
			dc, dm = math.Pow(c/joined, p), math.Pow(m/joined, p)
		}
		for k := range sp.c {
			at[n], slope[n] = sp.cn[k], dc*sp.cw[k]*exp[sp.cn[k]]
			n++
		}
		for k := range sp.m {
			at[n], slope[n] = g.nc+sp.mn[k], dm*sp.mw[k]*exp[g.nc+sp.mn[k]]
			n++
		}
	}
	for a := range n {
		slope[a] /= total
	}
	at[n], slope[n] = g.size-1, latency/total
	return math.Log(total / d.seconds), n + 1
}

// move solves the equations, together with what keeps the surfaces smooth, and moves theta by no more than a step.
func (g *iteration) move(step float64) bool {
	matrix, right, theta, nodes := g.matrix, g.right, g.theta, g.nc+g.nm
	for _, l := range g.links {
		l.add(matrix, right, theta, g.size, g.scale*g.smooth, g.scale*g.bend)
	}
	for i := range g.size {
		matrix[i*g.size+i] += damping * g.scale
	}
	// Nodes that no sample is near end up where their neighbours are; a weak pull keeps the rest finite.
	for i := range nodes {
		matrix[i*g.size+i] += pull * g.scale
		right[i] -= pull * g.scale * (theta[i] - math.Log(usualSlowdown))
	}
	if !solve(matrix, right, g.size) {
		return false
	}
	for i := range theta {
		theta[i] += min(max(right[i], -step), step)
	}
	theta[nodes] = min(max(theta[nodes], math.Log(leastLatency)), g.ceiling)
	project(g.compute, theta[:g.nc], g.low[:g.nc])
	project(g.memory, theta[g.nc:nodes], g.low[g.nc:])
	return true
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
