package axis

import (
	"math"
	"slices"
	"testing"
)

// zdt are problems of Zitzler, Deb and Thiele (Evolutionary Computation 8, 2000) with two figures,
// both to be low, on a number of axes.
func zdt(third bool, x []float64) []float64 {
	g := 0.0
	for _, v := range x[1:] {
		g += v
	}
	g = 1 + 9*g/float64(len(x)-1)
	h := 1 - math.Sqrt(x[0]/g)
	if third {
		h -= x[0] / g * math.Sin(10*math.Pi*x[0])
	}
	return []float64{-x[0], -g * h}
}

// hypervolume is the area that spots beat up to 1.1 in both figures.
func hypervolume(all []Spot) (area float64) {
	const corner = 1.1
	front := Frontier(all)
	slices.SortFunc(front, func(a, b Spot) int { return slices.Compare(b.Worth, a.Worth) })
	high := corner
	for _, s := range front {
		x, y := -s.Worth[0], -s.Worth[1]
		if x < corner && y < high {
			area += (corner - x) * (high - y)
			high = y
		}
	}
	return area
}

// zoomed is what a zoom of n points finds.
func zoomed(of func(x []float64) []float64, axes, n int, seed uint64) (frontier []Spot) {
	rounds := Rounds(n)
	for r := range len(rounds) - 1 {
		var z *Zoom
		if r > 0 {
			z = NewZoom(frontier, r, len(rounds)-2, seed)
		}
		for i := range rounds[r+1] - rounds[r] {
			x := make([]float64, axes)
			if z == nil {
				Sobol.fill(i, rounds[1], seed, x)
			} else {
				z.At(i, x)
			}
			frontier = append(frontier, Spot{rounds[r] + i, x, of(x)})
		}
		frontier = Frontier(frontier)
	}
	return frontier
}

// A zoom over six axes finds 95% of the hypervolume with 1,000 points, and 99% with 10,000, where
// as many points anywhere find next to nothing.
func TestZoom(t *testing.T) {
	for _, third := range []bool{false, true} {
		var best []Spot
		for i := range 10_001 {
			x := []float64{float64(i) / 10_000, 0}
			best = append(best, Spot{i, x, zdt(third, x)})
		}
		whole := hypervolume(best)
		for _, c := range []struct {
			points, seeds int
			least         float64
		}{{1000, 8, 0.95}, {10_000, 1, 0.99}} {
			worst, mean := 1.0, 0.0
			for seed := range c.seeds {
				share := hypervolume(zoomed(func(x []float64) []float64 { return zdt(third, x) }, 6, c.points, uint64(seed))) / whole
				worst, mean = min(worst, share), mean+share/float64(c.seeds)
			}
			t.Logf("third %v, %d points: %.4f of the hypervolume, the worst of %d seeds %.4f", third, c.points, mean, c.seeds, worst)
			if mean < c.least {
				t.Errorf("third %v, %d points: %.4f of the hypervolume", third, c.points, mean)
			}
		}
		var anywhere []Spot
		for i := range 1000 {
			x := make([]float64, 6)
			Sobol.fill(i, 1000, 0, x)
			anywhere = append(anywhere, Spot{i, x, zdt(third, x)})
		}
		t.Logf("anywhere: %.4f", hypervolume(anywhere)/whole)
	}
}

// Where the best lies within the ranges and not at their ends, which ZDT1 is shifted for here, a
// zoom finds less: this was not looked at when its constants were chosen.
func TestZoomWithin(t *testing.T) {
	within := func(x []float64) []float64 {
		y := []float64{x[0]}
		for _, v := range x[1:] {
			y = append(y, math.Abs(v-0.37)/0.63)
		}
		return zdt(false, y)
	}
	var best []Spot
	for i := range 10_001 {
		best = append(best, Spot{i, nil, within([]float64{float64(i) / 10_000, 0.37})})
	}
	for points, least := range map[int]float64{1000: 0.7, 10_000: 0.93} {
		mean := 0.0
		for seed := range 4 {
			mean += hypervolume(zoomed(within, 6, points, uint64(seed))) / hypervolume(best) / 4
		}
		t.Logf("%d points: %.4f of the hypervolume", points, mean)
		if mean < least {
			t.Errorf("%d points: %.4f of the hypervolume", points, mean)
		}
	}
}

// Rounds cover all points, the first a quarter of them.
func TestRounds(t *testing.T) {
	for n, want := range map[int][]int{1: {0, 1}, 4: {0, 4}, 12: {0, 3, 12}, 40: {0, 10, 20, 30, 40}} {
		if got := Rounds(n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	if got := Rounds(1000); len(got) != 2+mostRounds || got[1] != 250 || got[len(got)-1] != 1000 {
		t.Errorf("%v", got)
	}
}

// No spot of a frontier of three aims is beaten, and each that is not there is.
func TestFrontier(t *testing.T) {
	var all []Spot
	for i := range 500 {
		w := make([]float64, 3)
		Latin.fill(i, 500, 1, w)
		all = append(all, Spot{i, nil, w})
	}
	front := Frontier(all)
	for i := range all {
		beaten := slices.ContainsFunc(all, func(o Spot) bool { return o.Number != i && o.reaches(&all[i]) })
		kept := slices.ContainsFunc(front, func(o Spot) bool { return o.Number == i })
		if beaten == kept {
			t.Errorf("spot %d: beaten %v, kept %v", i, beaten, kept)
		}
	}
	if twice := Frontier([]Spot{{3, nil, []float64{1, 1}}, {2, nil, []float64{1, 1}}}); len(twice) != 1 || twice[0].Number != 2 {
		t.Errorf("of equal ones the first stays: %v", twice)
	}
}

func ishigami(x []float64) float64 {
	at := func(k int) float64 { return math.Pi * (2*x[k] - 1) }
	return math.Sin(at(0)) + 7*math.Pow(math.Sin(at(1)), 2) + 0.1*math.Pow(at(2), 4)*math.Sin(at(0))
}

func figuresOf(d Design, n int, of func([]float64) float64) (out []float64) {
	n = d.Whole(n, 3)
	x := make([]float64, 3)
	for i := range n {
		if err := d.Spread(i, n, 5, x); err != nil {
			panic(err)
		}
		out = append(out, of(x))
	}
	return out
}

// The indices of Ishigami's function are known: variance a²/8 + bπ⁴/5 + b²π⁸/18 + 1/2 with a = 7
// and b = 0.1. The true ones lie in the intervals.
func TestIshigami(t *testing.T) {
	pi4 := math.Pow(math.Pi, 4)
	whole := 49.0/8 + 0.1*pi4/5 + 0.01*pi4*pi4/18 + 0.5
	first := []float64{math.Pow(1+0.1*pi4/5, 2) / 2 / whole, 49.0 / 8 / whole, 0}
	third := 0.01 * pi4 * pi4 * (1.0/18 - 1.0/50) / whole
	total := []float64{first[0] + third, first[1], third}
	for k, got := range Saltelli.Influences(figuresOf(Saltelli, 20_000, ishigami), 3, 5) {
		if math.Abs(got.First-first[k]) > got.FirstWidth || got.FirstWidth > 0.06 {
			t.Errorf("axis %d: first %.4f ± %.4f, truly %.4f", k, got.First, got.FirstWidth, first[k])
		}
		if math.Abs(got.Total-total[k]) > got.TotalWidth || got.TotalWidth > 0.06 {
			t.Errorf("axis %d: total %.4f ± %.4f, truly %.4f", k, got.Total, got.TotalWidth, total[k])
		}
	}
}

// Of a sum of axes each effect is its factor, everywhere; of a product it differs.
func TestMorris(t *testing.T) {
	got := Morris.Influences(figuresOf(Morris, 403, func(x []float64) float64 { return 3*x[0] - 2*x[1] }), 3, 5)
	for k, want := range []float64{3, -2, 0} {
		if g := got[k]; math.Abs(g.Mean-want) > 1e-9 || math.Abs(g.Size-math.Abs(want)) > 1e-9 || g.Deviation > 1e-6 || g.Runs != 100 {
			t.Errorf("axis %d: %+v", k, g)
		}
	}
	got = Morris.Influences(figuresOf(Morris, 4000, ishigami), 3, 5)
	if !(got[2].Deviation > 1 && got[0].Size > 1) {
		t.Errorf("an axis that matters only with another: %+v", got)
	}
	// A lost point costs the effects on both of its sides, and no other.
	lost := figuresOf(Morris, 40, ishigami)
	lost[5] = math.NaN()
	runs := 0
	for _, g := range Morris.Influences(lost, 3, 5) {
		runs += g.Runs
	}
	if runs != 28 {
		t.Errorf("%d effects, want 30 less two", runs)
	}
}
