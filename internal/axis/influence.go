package axis

import (
	"math"
	"slices"
)

// Influence is how much an axis matters for a figure.
type Influence struct {
	// Of Morris: the mean of how far the figure moves as the axis moves over its whole range, up or
	// down, of its size, and its standard deviation.
	Mean, Size, Deviation float64
	// Of Sobol: the share of the variance that the axis explains alone, and with all others.
	First, Total float64
	// Halves of 95% intervals of Size, First and Total.
	SizeWidth, FirstWidth, TotalWidth float64
	Runs                              int // trajectories or base points with answers
}

// Points of designs that find influences come in groups: one for each trajectory of Morris, and one
// for each base point of Sobol.
func (d Design) group(axes int) int {
	switch d {
	case Morris:
		return axes + 1
	case Saltelli:
		return axes + 2
	}
	return 1
}

// Whole is the number of points of whole groups among n.
func (d Design) Whole(n, axes int) int { return n - n%d.group(axes) }

// A trajectory of Morris (Technometrics 33, 1991) lies on four levels and moves by two of them.
const (
	levels = 4
	stride = float64(levels) / 2 / (levels - 1)
)

// morris fills in point i: a step of a trajectory, which moves one axis after another.
func morris(i int, seed uint64, out []float64) {
	key := hash(seed, uint64(i/(len(out)+1)))
	for k := range out {
		h := hash(key, uint64(k))
		out[k] = float64(h%(levels/2)) / (levels - 1)
		moves, up := int(permuted(uint64(k), uint64(len(out)), key)) < i%(len(out)+1), h>>32&1 == 0
		if moves == up {
			out[k] += stride
		}
	}
}

// saltelli fills in point i: of each base point A and B, then A with one axis of B after another
// (Saltelli et al., Computer Physics Communications 181, 2010).
func saltelli(i, n int, seed uint64, out []float64) {
	both := make([]float64, 2*len(out))
	spread := Sobol
	if len(both) > Sobol.Dimensions() {
		spread = Latin
	}
	group := len(out) + 2
	spread.fill(i/group, max(1, n/group), seed, both)
	a, b := both[:len(out)], both[len(out):]
	switch which := i % group; which {
	case 0:
		copy(out, a)
	case 1:
		copy(out, b)
	default:
		copy(out, a)
		out[which-2] = b[which-2]
	}
}

// Influences are those of the axes, from the figure at every point in order; NaN: there is none.
func (d Design) Influences(figures []float64, axes int, seed uint64) []Influence {
	if d == Morris {
		return effects(figures, axes, seed)
	}
	return indices(figures, axes)
}

func effects(figures []float64, axes int, seed uint64) []Influence {
	out := make([]Influence, axes)
	here, there := make([]float64, axes), make([]float64, axes)
	for k := range out {
		var all []float64
		for i := 0; i+1 < len(figures); i++ {
			if (i+1)%(axes+1) == 0 {
				continue // the next begins a trajectory
			}
			morris(i, seed, here)
			morris(i+1, seed, there)
			if effect := (figures[i+1] - figures[i]) / (there[k] - here[k]); here[k] != there[k] && !math.IsNaN(effect) {
				all = append(all, effect)
			}
		}
		out[k] = effectsOf(all)
	}
	return out
}

// effectsOf sums the effects of an axis up.
func effectsOf(all []float64) Influence {
	n := float64(len(all))
	out := Influence{Runs: len(all)}
	squares := 0.0
	for _, e := range all {
		out.Mean, out.Size, squares = out.Mean+e/n, out.Size+math.Abs(e)/n, squares+e*e
	}
	out.Deviation = math.Sqrt(max(0, squares-n*out.Mean*out.Mean) / (n - 1))
	out.SizeWidth = normal95 * math.Sqrt(max(0, squares-n*out.Size*out.Size)/(n-1)/n)
	return out
}

const (
	normal95 = 1.96 // standard deviations of half of a 95% interval
	resample = 400  // draws of base points, from which intervals follow
)

func indices(figures []float64, axes int) []Influence {
	group := axes + 2
	var bases [][]float64
	for i := 0; i+group <= len(figures); i += group {
		if base := figures[i : i+group]; !slices.ContainsFunc(base, math.IsNaN) {
			bases = append(bases, base)
		}
	}
	first, total := shares(bases, axes)
	out := make([]Influence, axes)
	again := make([][]float64, len(bases))
	var firsts, totals [][]float64
	for r := range resample {
		for i := range again {
			again[i] = bases[hash(uint64(r), uint64(i))%uint64(len(bases))]
		}
		f, t := shares(again, axes)
		firsts, totals = append(firsts, f), append(totals, t)
	}
	for k := range out {
		out[k] = Influence{First: first[k], Total: total[k], FirstWidth: normal95 * deviation(firsts, k), TotalWidth: normal95 * deviation(totals, k), Runs: len(bases)}
	}
	return out
}

// shares are the first and total indices: Saltelli (2010) and Jansen (1999), Table 2 (b) and (f) of
// the former.
func shares(bases [][]float64, axes int) (first, total []float64) {
	first, total = make([]float64, axes), make([]float64, axes)
	mean, squares, n := 0.0, 0.0, 2*float64(len(bases))
	for _, base := range bases {
		mean += (base[0] + base[1]) / n
	}
	for _, base := range bases {
		a, b := base[0]-mean, base[1]-mean
		squares += (a*a + b*b) / n
		for k := range axes {
			moved := base[2+k] - mean
			first[k] += b * (moved - a) * 2 / n
			total[k] += (a - moved) * (a - moved) / n
		}
	}
	for k := range axes {
		first[k], total[k] = first[k]/squares, total[k]/squares
	}
	return first, total
}

func deviation(of [][]float64, k int) float64 {
	mean, squares, n := 0.0, 0.0, float64(len(of))
	for _, row := range of {
		mean += row[k] / n
	}
	for _, row := range of {
		squares += (row[k] - mean) * (row[k] - mean)
	}
	return math.Sqrt(squares / (n - 1))
}
