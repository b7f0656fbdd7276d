package validate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"throughline/cost"
	"throughline/estimate"
	"throughline/number"
)

// Sample is a prediction beside what was measured.
type Sample struct {
	estimate.Confidence
	Group string  // of runs that share their errors
	Error float64 // logarithm of what was measured over what was predicted
	// Doubtful: no prediction should be judged by this run.
	Doubtful bool
}

// inside reports whether what was measured lies in the band.
func (s *Sample) inside() bool {
	return math.Abs(s.Error) <= math.Log1p(s.Band)
}

// Samples are the predictions of a report that have a band and a measurement.
func (r *Report) Samples() (out []Sample) {
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, f := range row.Figures {
			if f.Reason == "" && f.Measured > 0 && f.Trusted != nil {
				out = append(out, Sample{Confidence: *f.Trusted, Group: row.Group, Error: math.Log(f.Measured / f.Predicted)})
			}
		}
	}
	return out
}

// Coverage is how many of some predictions have the truth in their bands.
type Coverage struct {
	Quantity estimate.Quantity
	Level    cost.Level
	Rows     int
	Inside   float64    // share of the rows
	Thirds   [3]float64 // the same of the narrowest bands, of those between, and of the widest
	Median   float64    // band
}

// Cells are the coverage as a row of a table.
func (c *Coverage) Cells() []string {
	out := []string{estimate.Quantities[c.Quantity], c.Level.String(), strconv.Itoa(c.Rows), share(c.Inside)}
	for _, third := range c.Thirds {
		out = append(out, share(third))
	}
	return append(out, number.Band(c.Median))
}

func share(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

// enoughForThirds is the rows from which on thirds of them say something.
const enoughForThirds = 30

// Covered is the coverage of samples by quantity and level, whose bands are in the samples.
func Covered(samples []Sample) (out []Coverage) {
	type cell struct {
		q estimate.Quantity
		l cost.Level
	}
	cells := map[cell][]Sample{}
	for _, s := range samples {
		c := cell{s.Quantity, s.Level}
		cells[c] = append(cells[c], s)
	}
	for q := range estimate.QuantityCount {
		for l := cost.LevelCount; l > 0; l-- {
			if list := cells[cell{q, l - 1}]; len(list) > 0 {
				out = append(out, coverage(q, l-1, list))
			}
		}
	}
	return out
}

func coverage(q estimate.Quantity, l cost.Level, list []Sample) Coverage {
	slices.SortStableFunc(list, func(a, b Sample) int { return cmp.Compare(a.Band, b.Band) })
	c := Coverage{Quantity: q, Level: l, Rows: len(list), Inside: insideOf(list), Median: list[len(list)/2].Band}
	for i := range c.Thirds {
		c.Thirds[i] = math.NaN()
		if len(list) >= enoughForThirds {
			c.Thirds[i] = insideOf(list[i*len(list)/3 : (i+1)*len(list)/3])
		}
	}
	return c
}

func insideOf(list []Sample) float64 {
	n := 0
	for i := range list {
		if list[i].inside() {
			n++
		}
	}
	return float64(n) / float64(len(list))
}
