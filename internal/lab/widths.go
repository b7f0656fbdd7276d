package lab

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"throughline/estimate"
	"throughline/internal/validate"
)

// aim is the share of fitted samples inside their bands, a little above the target of four in five:
// a fit to a few dozen groups suits them better than it does the next one.
const aim = 0.84

// heldBack is how many groups' worth of evidence a term must overcome, as errors are shared within
// groups and what few of them show does not generalise. Halves of the groups predict each other
// best with 1 to 2.
const heldBack = 1.5

// used are the terms with enough evidence: forward passes run on one processor, and few groups have
// disaggregated servers.
var used = [estimate.QuantityCount][estimate.TermCount]bool{
	estimate.PrefillStep: {estimate.Base: true},
	estimate.DecodeStep:  {estimate.Base: true},
	estimate.TTFT:        {estimate.Base: true, estimate.Experts: true},
	estimate.HandedTTFT:  {estimate.Base: true},
	estimate.TPOT:        {estimate.Base: true, estimate.Experts: true, estimate.Drafts: true, estimate.Estimated: true},
	estimate.UntoldTTFT:  {estimate.Base: true},
	estimate.UntoldTPOT:  {estimate.Base: true},
}

// FitWidths finds widths that hold the same share of samples in all circumstances, by quantile
// regression of their errors beyond those of kernels. Doubtful samples do not count.
func FitWidths(samples []validate.Sample) (out [estimate.QuantityCount]estimate.Width) {
	for q := range out {
		var r regression
		for i := range samples {
			if s := &samples[i]; s.Quantity == estimate.Quantity(q) && !s.Doubtful {
				r.add(s)
			}
		}
		if len(r.rows) > 0 {
			out[q] = r.width()
		}
	}
	return out
}

// regression is of the samples of one quantity.
type regression struct {
	rows   []terms
	off    []float64                           // logs of errors beyond those of kernels
	groups [estimate.TermCount]map[string]bool // those that each term occurs in
}

func (r *regression) add(s *validate.Sample) {
	t := s.Circumstance.Terms()
	for j := range t {
		if !used[s.Quantity][j] {
			t[j] = 0
		}
		if t[j] != 0 {
			r.occurs(j, s.Group)
		}
	}
	rest := math.Sqrt(max(0, s.Error*s.Error-s.Kernels*s.Kernels))
	r.rows, r.off = append(r.rows, t), append(r.off, math.Log(max(rest, least)))
}

func (r *regression) occurs(term int, group string) {
	if r.groups[term] == nil {
		r.groups[term] = map[string]bool{}
	}
	r.groups[term][group] = true
}

// width holds terms back the more, the fewer groups they occur in.
func (r *regression) width() estimate.Width {
	var held terms
	for j := range held {
		if j != estimate.Base {
			held[j] = heldBack / float64(max(1, len(r.groups[j])))
		}
	}
	b := regressed(r.rows, r.off, aim, held)
	for j := range b {
		b[j] = round(b[j])
	}
	return estimate.WidthOf(b)
}

// least is an error that counts as none.
const least = 0.007

// round keeps three decimals: a tenth of a percent of a width.
func round(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// regressed is the coefficients of the terms whose sum a share of the values stays below, by
// iteratively reweighted least squares on share · above + (1 - share) · below. Each term is held
// back by a share of what it occurs with.
func regressed(rows []terms, values []float64, share float64, held terms) (b terms) {
	const (
		rounds    = 200
		settled   = 1e-5  // a change that does not matter
		close     = 0.01  // to the line, where a square would weigh without end
		vanishing = 1e-12 // of terms that do not occur
	)
	for range rounds {
		before := b
		var m equations
		for i, x := range rows {
			rest := values[i]
			for j := range x {
				rest -= b[j] * x[j]
			}
			weight := share
			if rest < 0 {
				weight = 1 - share
			}
			weight /= max(math.Abs(rest), close)
			for j := range x {
				for k := range x {
					m[j][k] += weight * x[j] * x[k]
				}
				m[j][j] += held[j] * x[j] * x[j]
				m[j][estimate.TermCount] += weight * x[j] * values[i]
			}
		}
		for j := range m {
			m[j][j] += vanishing
		}
		b = solved(m)
		moved := 0.0
		for j := range b {
			moved = max(moved, math.Abs(b[j]-before[j]))
		}
		if moved < settled {
			break
		}
	}
	return b
}

// terms are those of a width, equations one for each, whose right sides stand last.
type (
	terms     = [estimate.TermCount]float64
	equations [estimate.TermCount][estimate.TermCount + 1]float64
)

// solved is the solution of the equations.
func solved(m equations) (x terms) {
	for i := range m {
		for k := range m {
			if k == i {
				continue
			}
			f := m[k][i] / m[i][i]
			for j := range m[k] {
				m[k][j] -= f * m[i][j]
			}
		}
	}
	for i := range x {
		x[i] = m[i][estimate.TermCount] / m[i][i]
	}
	return x
}

// groupsOf are the groups of samples by name.
func groupsOf(samples []validate.Sample) []string {
	groups := map[string]bool{}
	for i := range samples {
		groups[samples[i].Group] = true
	}
	return slices.Sorted(maps.Keys(groups))
}

// CrossCovered judges each half of the groups, by even and odd places in the list, with widths
// found on the other.
func CrossCovered(samples []validate.Sample, groups []string) [2][]validate.Sample {
	sides := halved(samples, groups)
	widths := [2][estimate.QuantityCount]estimate.Width{FitWidths(sides[1]), FitWidths(sides[0])}
	for i := range sides {
		for j := range sides[i] {
			s := &sides[i][j]
			s.Judge(&widths[i][s.Quantity])
		}
	}
	return sides
}

// halved is the samples of the groups at even places of a list, and of the others.
func halved(samples []validate.Sample, groups []string) (sides [2][]validate.Sample) {
	half := map[string]int{}
	for i, g := range groups {
		half[g] = i % 2
	}
	for _, s := range samples {
		sides[half[s.Group]] = append(sides[half[s.Group]], s)
	}
	return sides
}

// Trustworthy are the samples without the doubtful ones.
func Trustworthy(samples []validate.Sample) []validate.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s validate.Sample) bool { return s.Doubtful })
}

// halvings is how many random halvings are averaged, so that no lucky one misleads.
const halvings = 200

// Halved is the coverage over random halvings: the mean, and how far single ones are from it.
type Halved struct {
	validate.Coverage
	Spread [4]float64 // standard deviation of the share inside, of all and of each third
	Held   float64    // share of halvings in which the level and its thirds held
}

// MeanCovered is the coverage over random halvings, and the share of them in which all levels with
// enough rows held.
func MeanCovered(samples []validate.Sample) (out []Halved, together float64) {
	samples = Trustworthy(samples)
	groups := groupsOf(samples)
	random := rand.New(rand.NewPCG(1, 1))
	for range halvings {
		random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		sides := CrossCovered(samples, groups)
		covered := validate.Covered(sides[:]...)
		for i, c := range covered {
			if len(out) == i {
				out = append(out, Halved{Coverage: validate.Coverage{Quantity: c.Quantity, Level: c.Level, Rows: c.Rows}})
			}
			out[i].add(&c)
		}
		if allHeld(covered) {
			together += 1. / halvings
		}
	}
	for i := range out {
		h := &out[i]
		for j, x := range append([]float64{h.Inside}, h.Thirds[:]...) {
			h.Spread[j] = math.Sqrt(max(0, h.Spread[j]-x*x))
		}
	}
	return out, together
}

// add adds a halving to the sums of them, and its squares to the spread.
func (h *Halved) add(c *validate.Coverage) {
	const one = 1. / halvings
	h.Inside += one * c.Inside
	h.Above += one * c.Above
	h.Median += one * c.Median
	h.Constant += one * c.Constant
	h.Spread[0] += one * c.Inside * c.Inside
	for t, x := range c.Thirds {
		h.Thirds[t] += one * x
		h.Spread[t+1] += one * x * x
	}
	if c.Held() {
		h.Held += one
	}
}
