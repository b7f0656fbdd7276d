package lab

import (
	"maps"
	"math"
	"slices"

	"throughline/estimate"
	"throughline/internal/validate"
)

// aim is the share of fitted samples inside their bands, a little above the target of four in five:
// a fit to a few dozen pairs suits them better than it does the next one.
const aim = 0.82

// FitWidths finds how far each cause puts predictions off, so that bands hold the same share of
// samples in all circumstances. What is common to all samples is then parted into what loads of one
// deployment differ by and what pairs do. Doubtful samples do not count.
func FitWidths(samples []validate.Sample) (out [estimate.QuantityCount]estimate.Width) {
	for q := range out {
		var list []validate.Sample
		for i := range samples {
			if s := &samples[i]; s.Quantity == estimate.Quantity(q) && !s.Doubtful {
				list = append(list, *s)
			}
		}
		if len(list) > 0 {
			out[q] = widthOf(list)
		}
	}
	return out
}

// enoughOfSeries is the runs that tell how far those of a series differ from each other.
const enoughOfSeries = 3

// withinSeries is the errors less the median error of their series, stretched by what the median
// of few takes off: the variance about the mean of n has n - 1 degrees of freedom.
func withinSeries(list []validate.Sample) (out []float64) {
	series := map[string][]float64{}
	for i := range list {
		series[list[i].Series] = append(series[list[i].Series], list[i].Error)
	}
	for _, name := range slices.Sorted(maps.Keys(series)) {
		errors := series[name]
		if len(errors) < enoughOfSeries {
			continue
		}
		n := float64(len(errors))
		middle := validate.Median(slices.Clone(errors))
		for _, e := range errors {
			out = append(out, math.Abs(e-middle)*math.Sqrt(n/(n-1)))
		}
	}
	return out
}

// tried are the widths of causes, a fourteenth apart.
var tried = func() (out []float64) {
	out = []float64{0}
	for w := 0.01; w < 4; w *= 1.07 {
		out = append(out, round(w))
	}
	return out
}()

// enoughSeries have a cause, and as many do not, for it to count: what few of them show does not
// carry over.
const enoughSeries = 12

// widthOf fits the samples of one quantity, one cause after the other until none moves.
func widthOf(list []validate.Sample) (w estimate.Width) {
	weights := weightsOf(list)
	counted := []estimate.Cause{estimate.Pairs}
	for c := estimate.Unseen; c < estimate.CauseCount; c++ {
		if with, without := seriesWith(list, c); with >= enoughSeries && without >= enoughSeries {
			counted = append(counted, c)
		}
	}
	const rounds = 12
	for range rounds {
		before := w
		for _, c := range counted {
			w[c] = bestWidth(list, weights, w, c)
		}
		if w == before {
			break
		}
	}
	w[estimate.Loads], w[estimate.Pairs] = parted(list, w[estimate.Pairs])
	return w
}

// weightsOf are those of samples: pairs weigh as the roots of their numbers do, between every pair
// as much and every sample as much.
func weightsOf(list []validate.Sample) []float64 {
	count := map[string]float64{}
	for i := range list {
		count[list[i].Group]++
	}
	out := make([]float64, len(list))
	for i := range list {
		out[i] = 1 / math.Sqrt(count[list[i].Group])
	}
	return out
}

// seriesWith is how many series have samples with a cause, and how many have some without it.
func seriesWith(list []validate.Sample, c estimate.Cause) (with, without int) {
	found := [2]map[string]bool{{}, {}}
	for i := range list {
		k := 0
		if list[i].Causes[c] {
			k = 1
		}
		found[k][list[i].Series] = true
	}
	return len(found[1]), len(found[0])
}

// parted is a width common to all samples as what loads of a deployment differ by, and what pairs
// do: squares add up to that of both. The shares are those of the spread about the median error of
// a series and of the whole, among runs whose settings are told.
func parted(list []validate.Sample, both float64) (loads, pairs float64) {
	list = slices.DeleteFunc(slices.Clone(list), func(s validate.Sample) bool {
		return s.Causes[estimate.Settings] || s.Causes[estimate.Unseen]
	})
	var whole []float64
	for i := range list {
		whole = append(whole, math.Abs(list[i].Error))
	}
	loads = both
	if all := quantile(whole, aim); all > 0 {
		loads *= min(1, quantile(withinSeries(list), aim)/all)
	}
	return round(loads), round(math.Sqrt(both*both - loads*loads))
}

// round keeps three decimals: a tenth of a percent.
func round(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// bestWidth is the width of a cause with which samples lose least, by the check function whose
// minimum is a quantile: aim for each that lies outside by a factor of e, 1 - aim for each inside.
func bestWidth(list []validate.Sample, weights []float64, w estimate.Width, c estimate.Cause) float64 {
	w[c] = 0
	var rest, off, weight []float64
	for i := range list {
		if s := &list[i]; s.Causes[c] {
			all := w.Of(&s.Causes)
			rest, off = append(rest, all*all+s.Kernels*s.Kernels), append(off, math.Log(max(math.Abs(s.Error), leastError)))
			weight = append(weight, weights[i])
		}
	}
	best, least := 0.0, math.Inf(1)
	for _, width := range tried {
		sum := 0.0
		for i := range rest {
			if d := off[i] - math.Log(rest[i]+width*width)/2; d > 0 {
				sum += weight[i] * aim * d
			} else {
				sum -= weight[i] * (1 - aim) * d
			}
		}
		if sum < least {
			best, least = width, sum
		}
	}
	return best
}

// leastError counts as none.
const leastError = 0.007

// quantile is the least value that a share of a list does not exceed; 0 of an empty one.
func quantile(list []float64, share float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(share*float64(len(list))))]
}

// LeftOut judges the samples of each group with widths that were found without it.
func LeftOut(samples []validate.Sample) []validate.Sample {
	out := slices.Clone(samples)
	for _, group := range groupsOf(samples) {
		others := slices.DeleteFunc(slices.Clone(samples), func(s validate.Sample) bool { return s.Group == group })
		widths := FitWidths(others)
		for i := range out {
			if s := &out[i]; s.Group == group {
				s.Judge(&widths[s.Quantity])
			}
		}
	}
	return out
}

func groupsOf(samples []validate.Sample) []string {
	groups := map[string]bool{}
	for i := range samples {
		groups[samples[i].Group] = true
	}
	return slices.Sorted(maps.Keys(groups))
}

func Trustworthy(samples []validate.Sample) []validate.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s validate.Sample) bool { return s.Doubtful })
}
