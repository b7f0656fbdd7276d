package calibrate

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// Error is how far predictions are from measurements, in percent of the measured time.
type Error struct {
	Rows                int
	Mean, Median, Worst float64
}

func newError(relative []float64) Error {
	e := Error{Rows: len(relative)}
	if len(relative) == 0 {
		return e
	}
	for _, r := range relative {
		e.Mean += 100 * r / float64(len(relative))
		e.Worst = max(e.Worst, 100*r)
	}
	s := slices.Sorted(slices.Values(relative))
	e.Median = 100 * s[len(s)/2]
	return e
}

// Validation is the error of a model before and after calibration.
type Validation struct {
	Before  Error // the roofline at 0.8 of the peaks
	Fitted  Error // on the rows it was fitted to
	Shapes  Error // on shapes that were held out as a whole, a fifth at a time
	Largest Error // on the largest tenth, fitted to the rest
	// Noise is the mean error of the best non-decreasing times of each series: about the least that
	// any sensible model can reach.
	Noise float64
	// Reach is the median share of peak reached by the tenth of the rows with the most work.
	Reach float64
	Above int // rows with more operations than peak allows, which no cache explains
	Below int // rows dropped as faster than the roofline: cached, or mislabelled
	Short int // rows left out because they are smaller than a tile
}

const folds = 5

// fold is the part of the data that a group of rows is held out with.
func fold(group string) int {
	h := fnv.New32a()
	h.Write([]byte(group))
	return int(h.Sum32()>>8) % folds
}

// choose keeps the setting with the least error on held-out shapes.
func (f form) choose(data []sample, settings []setting) (best solution, least Validation) {
	for i, s := range settings {
		f.setting = s
		if sol, v := f.validate(data); i == 0 || v.Shapes.Mean < least.Shapes.Mean {
			best, least = sol, v
		}
	}
	return best, least
}

func (f *form) validate(data []sample) (solution, Validation) {
	all := len(data)
	var v Validation
	above := 0
	data = slices.DeleteFunc(slices.Clone(data), func(d sample) bool {
		if f.computing(&d) > d.seconds {
			above++
		}
		return f.roofline(&d, 1) > d.seconds
	})
	v.Below = all - len(data)
	v.Above = above
	v.Noise = noise(data)
	data = thin(data, limit)
	errorsOf := func(s *solution, rows []sample) (out []float64) {
		for i := range rows {
			d := &rows[i]
			out = append(out, math.Abs(f.predict(s, d)/d.seconds-1))
		}
		return out
	}
	v.Reach = f.reach(data)
	fitted := f.fit(data)
	v.Fitted = newError(errorsOf(&fitted, data))
	var before, held []float64
	for i := range data {
		d := &data[i]
		before = append(before, math.Abs(f.roofline(d, 0.8)/d.seconds-1))
	}
	v.Before = newError(before)

	for k := range folds {
		var train, test []sample
		for _, d := range data {
			if fold(d.group) == k {
				test = append(test, d)
			} else {
				train = append(train, d)
			}
		}
		if len(test) == 0 || len(train) == 0 {
			continue
		}
		s := f.fit(train)
		held = append(held, errorsOf(&s, test)...)
	}
	v.Shapes = newError(held)

	sorted := slices.Clone(data)
	slices.SortStableFunc(sorted, func(a, b sample) int { return cmp.Compare(a.size, b.size) })
	cut := len(sorted) - len(sorted)/10
	if cut > 0 && cut < len(sorted) {
		s := f.fit(sorted[:cut])
		v.Largest = newError(errorsOf(&s, sorted[cut:]))
	}
	return fitted, v
}

// reach is the share of the peaks that the largest tenth of the rows reaches, in the median.
func (f *form) reach(data []sample) float64 {
	sorted := slices.Clone(data)
	slices.SortStableFunc(sorted, func(a, b sample) int { return cmp.Compare(b.size, a.size) })
	var shares []float64
	for i := range sorted[:(len(sorted)+9)/10] {
		shares = append(shares, f.roofline(&sorted[i], 1)/sorted[i].seconds)
	}
	if len(shares) == 0 {
		return 0
	}
	slices.Sort(shares)
	return shares[len(shares)/2]
}

// noise is the mean error, in percent, of the monotone regression of each series.
func noise(data []sample) float64 {
	sorted := slices.Clone(data)
	slices.SortStableFunc(sorted, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.size, b.size))
	})
	sum := 0.0
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && sorted[to].series == sorted[from].series {
			to++
		}
		// Blocks of one value each, joined while they fall.
		type block struct{ mean, count float64 }
		var blocks []block
		for _, d := range sorted[from:to] {
			b := block{math.Log(d.seconds), 1}
			for len(blocks) > 0 && blocks[len(blocks)-1].mean > b.mean {
				last := blocks[len(blocks)-1]
				blocks = blocks[:len(blocks)-1]
				n := last.count + b.count
				b = block{(last.mean*last.count + b.mean*b.count) / n, n}
			}
			blocks = append(blocks, b)
		}
		at := from
		for _, b := range blocks {
			for range int(b.count) {
				sum += math.Abs(math.Exp(b.mean)/sorted[at].seconds - 1)
				at++
			}
		}
		from = to
	}
	return 100 * sum / float64(max(len(data), 1))
}
