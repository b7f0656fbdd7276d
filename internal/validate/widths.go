package validate

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"throughline/estimate"
)

// aim is the share of the samples of a fit that their bands hold. It is a little more than the four in five that bands are to
// hold of others: a fit to a few dozen groups suits them better than it does the next one.
const aim = 0.81

// used are the terms of a width that a quantity has enough evidence for: forward passes are of one processor, and of
// disaggregated servers there are few groups.
var used = [estimate.QuantityCount][estimate.TermCount]bool{
	estimate.PrefillStep: {true}, estimate.DecodeStep: {true}, estimate.HandedTTFT: {true},
	estimate.TTFT: {true, true, true, true}, estimate.TPOT: {true, true, true, true, true},
}

// FitWidths finds the widths of bands for which a share of samples lies inside, whatever their circumstances: the quantile
// regression of how far they are off besides the errors of their kernels. Doubtful ones do not count.
func FitWidths(samples []Sample) (out [estimate.QuantityCount]estimate.Width) {
	for q := range out {
		var rows []terms
		var off []float64
		for i := range samples {
			s := &samples[i]
			if s.Quantity != estimate.Quantity(q) || s.Doubtful {
				continue
			}
			t := s.Circumstance.Terms()
			for j := range t {
				if !used[q][j] {
					t[j] = 0
				}
			}
			rest := math.Sqrt(max(0, s.Error*s.Error-s.Kernels*s.Kernels))
			rows, off = append(rows, t), append(off, math.Log(max(rest, least)))
		}
		if len(rows) > 0 {
			b := regressed(rows, off, aim)
			for j := range b {
				b[j] = round(b[j])
			}
			out[q] = estimate.WidthOf(b)
		}
	}
	return out
}

// least is an error that counts as none.
const least = 0.007

// round keeps three decimals: a tenth of a percent of a width.
func round(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// regressed is the coefficients of the terms whose sum a share of the values stays below: the minimum of
// share · (what is above) + (1 - share) · (what is below), found by weighting squares until they weigh as much. A term that few
// values have is held back.
func regressed(rows []terms, values []float64, share float64) (b terms) {
	const (
		rounds    = 200
		close     = 0.01  // to the line, where a square would weigh without end
		heldBack  = 0.01  // by so much of each value
		vanishing = 1e-12 // of terms that do not occur
	)
	for range rounds {
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
				m[j][estimate.TermCount] += weight * x[j] * values[i]
			}
		}
		for j := range m {
			m[j][j] += vanishing
			if j > 0 {
				m[j][j] += heldBack * float64(len(rows))
			}
		}
		b = solved(m)
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
func groupsOf(samples []Sample) []string {
	groups := map[string]bool{}
	for i := range samples {
		groups[samples[i].Group] = true
	}
	return slices.Sorted(maps.Keys(groups))
}

// CrossCovered judges either half of the groups by widths that were found on the other half: the samples with those bands.
// Half are the groups at even places of a list.
func CrossCovered(samples []Sample, groups []string) []Sample {
	half := map[string]int{}
	for i, g := range groups {
		half[g] = i % 2
	}
	var sides [2][]Sample
	for _, s := range samples {
		sides[half[s.Group]] = append(sides[half[s.Group]], s)
	}
	var out []Sample
	for i := range sides {
		widths := FitWidths(sides[1-i])
		for _, s := range sides[i] {
			s.Judge(&widths[s.Quantity])
			out = append(out, s)
		}
	}
	return out
}

// Trustworthy are the samples without the doubtful ones.
func Trustworthy(samples []Sample) []Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Doubtful })
}

// splits is how many times groups are put into halves by chance, so that one lucky way to do it does not pretend.
const splits = 20

// MeanCovered is the coverage of halves that were found by chance, on average.
func MeanCovered(samples []Sample) []Coverage {
	samples = Trustworthy(samples)
	groups := groupsOf(samples)
	random := rand.New(rand.NewPCG(1, 1))
	var out []Coverage
	for range splits {
		random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for i, c := range Covered(CrossCovered(samples, groups)) {
			if len(out) == i {
				out = append(out, Coverage{Quantity: c.Quantity, Level: c.Level, Rows: c.Rows})
			}
			o := &out[i]
			o.Inside += c.Inside / splits
			o.Median += c.Median / splits
			for t := range o.Thirds {
				o.Thirds[t] += c.Thirds[t] / splits
			}
		}
	}
	return out
}
