package lab

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"throughline/estimate"
	"throughline/internal/validate"
)

// Luck is how often correct bands hold everywhere at once, in drawn errors that they hold as often
// as they should and that are correlated within groups as the real ones are.
type Luck struct {
	Known   float64                         // with the bands known
	Found   float64                         // with widths found on the other half
	Fair    float64                         // share of drawn errors inside the known bands
	Outside float64                         // levels and thirds out of range with found widths
	Alike   [estimate.QuantityCount]float64 // share of variance common to a group
	Members [estimate.QuantityCount]int     // groups
}

// fair is the share of drawn errors inside correct bands: the middle of the allowed range.
const fair = (validate.Fewest + validate.Most) / 2

// LuckOf judges errors drawn for the trustworthy samples, halving the groups anew for each draw.
func LuckOf(samples []validate.Sample) (out Luck) {
	drawn := Trustworthy(samples)
	widths := FitWidths(drawn)
	groups := groupsOf(drawn)
	var parts [estimate.QuantityCount]*errorShape
	for q := range parts {
		parts[q] = shapeOf(drawn, estimate.Quantity(q), &widths[q])
		out.Alike[q], out.Members[q] = parts[q].alike, parts[q].groups
	}
	random := rand.New(rand.NewPCG(2, 2))
	const one = 1. / halvings
	for range halvings {
		common := map[string]*[estimate.QuantityCount]float64{}
		for _, g := range groups {
			common[g] = new([estimate.QuantityCount]float64)
			for q := range common[g] {
				common[g][q] = random.NormFloat64()
			}
		}
		for i := range drawn {
			s := &drawn[i]
			s.Judge(&widths[s.Quantity])
			s.Error = math.Log1p(s.Band) * parts[s.Quantity].drawn(common[s.Group][s.Quantity], random.NormFloat64())
		}
		out.Fair += one * validate.InsideOf(drawn)
		random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		known := halved(drawn, groups)
		if allHeld(validate.Covered(known[:]...)) {
			out.Known += one
		}
		found := CrossCovered(drawn, groups)
		covered := validate.Covered(found[:]...)
		if allHeld(covered) {
			out.Found += one
		}
		out.Outside += one * float64(outside(covered))
	}
	return out
}

// allHeld reports whether levels with enough rows and their thirds all hold what they should.
func allHeld(list []validate.Coverage) bool { return outside(list) == 0 }

// outside is how many of the levels with rows enough, and of their thirds, do not.
func outside(list []validate.Coverage) (n int) {
	for i := range list {
		if list[i].Rows >= validate.EnoughToJudge {
			n += list[i].Outside()
		}
	}
	return n
}

// errorShape is how the errors of a quantity are spread, in units of their bands.
type errorShape struct {
	sorted []float64 // so that a share of fair is within 1
	alike  float64
	groups int
}

// shapeOf is the error distribution of a quantity. What a group has in common is the intraclass
// correlation of ranks mapped to a normal distribution (an analysis of variance).
func shapeOf(samples []validate.Sample, q estimate.Quantity, w *estimate.Width) *errorShape {
	type ranked struct {
		group string
		z     float64
	}
	var list []ranked
	var size []float64
	for i := range samples {
		if s := samples[i]; s.Quantity == q {
			s.Judge(w)
			z := s.Error / math.Log1p(s.Band)
			list, size = append(list, ranked{s.Group, z}), append(size, math.Abs(z))
		}
	}
	out := &errorShape{}
	if len(list) == 0 {
		return out
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.z, b.z) })
	slices.Sort(size)
	unit := size[int(fair*float64(len(size)))]
	sums := map[string]*[3]float64{} // number, sum, squares
	n := float64(len(list))
	var total float64
	for i, r := range list {
		out.sorted = append(out.sorted, r.z/unit)
		x := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/n-1)
		of := sums[r.group]
		if of == nil {
			of = new([3]float64)
			sums[r.group] = of
		}
		of[0], of[1], of[2] = of[0]+1, of[1]+x, of[2]+x*x
		total += x
	}
	var between, within, squares float64
	for _, of := range sums {
		mean := of[1] / of[0]
		between += of[0] * (mean - total/n) * (mean - total/n)
		within += of[2] - of[0]*mean*mean
		squares += of[0] * of[0]
	}
	out.groups = len(sums)
	k := float64(len(sums))
	if k < 2 || n <= k {
		return out
	}
	between, within = between/(k-1), within/(n-k)
	each := (n - squares/n) / (k - 1)
	out.alike = min(1, max(0, (between-within)/(between+(each-1)*within)))
	return out
}

// drawn is an error made of its group's part and its own, both drawn from a normal distribution.
func (e *errorShape) drawn(common, own float64) float64 {
	x := math.Sqrt(e.alike)*common + math.Sqrt(1-e.alike)*own
	at := (1 + math.Erf(x/math.Sqrt2)) / 2
	return e.sorted[min(len(e.sorted)-1, int(at*float64(len(e.sorted))))]
}
