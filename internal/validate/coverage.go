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
	Group  string  // of runs that share a bias: those of a model and an engine
	Series string  // of runs of one deployment, which differ in their load
	Error  float64 // logarithm of what was measured over what was predicted
	// Doubtful: no prediction should be judged by this run.
	Doubtful bool
}

// Inside reports whether what was measured lies in the band.
func (s *Sample) Inside() bool {
	return math.Abs(s.Error) <= math.Log1p(s.Band)
}

// Samples are the predictions of a report that have a band and a measurement.
func (r *Report) Samples() (out []Sample) {
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, f := range row.Figures {
			if f.Reason == "" && f.Measured > 0 && f.Trusted != nil && f.Trusted.HasBand() {
				out = append(out, Sample{Confidence: *f.Trusted, Group: row.Group, Series: row.Group, Error: math.Log(f.Measured / f.Predicted)})
			}
		}
	}
	return out
}

// bandPercent is a band in percent; NaN: there is none.
func bandPercent(c *estimate.Confidence) float64 {
	if c == nil || !c.HasBand() {
		return math.NaN()
	}
	return 100 * c.Band
}

// Coverage is how many of some predictions have the truth in their bands.
type Coverage struct {
	Quantity estimate.Quantity
	Level    cost.Level
	Rows     int
	Inside   float64    // share of the rows
	Thirds   [3]float64 // the same of the narrowest bands, of those between, and of the widest
	Above    float64    // share of the rows that took longer than their bands allow
	Median   float64    // band
	Constant float64    // the band that would hold as many if all had the same, known afterwards
}

func (c *Coverage) Cells() []string {
	out := []string{estimate.Quantities[c.Quantity], c.Level.String(), strconv.Itoa(c.Rows), Share(c.Inside)}
	for _, third := range c.Thirds {
		out = append(out, Share(third))
	}
	return append(out, number.Band(c.Median))
}

func Share(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

// Fewest and Most bound the share inside that 80% bands may reach by chance, overall or per third.
const Fewest, Most = 0.75, 0.88

// Thirds mean little below enoughForThirds rows; from EnoughToJudge rows on, bands must hold.
const (
	enoughForThirds = 30
	EnoughToJudge   = 100
)

// Covered measures coverage by quantity and level. Bands are compared only within a list, because
// each list was judged with its own set of widths.
func Covered(lists ...[]Sample) (out []Coverage) {
	type cell struct {
		q estimate.Quantity
		l cost.Level
	}
	cells := map[cell][][]Sample{}
	for i, list := range lists {
		for _, s := range list {
			c := cell{s.Quantity, s.Level}
			if cells[c] == nil {
				cells[c] = make([][]Sample, len(lists))
			}
			cells[c][i] = append(cells[c][i], s)
		}
	}
	for q := range estimate.QuantityCount {
		for l := cost.LevelCount; l > 0; l-- {
			if parts := cells[cell{q, l - 1}]; parts != nil {
				c := coverage(parts)
				c.Quantity, c.Level = q, l-1
				out = append(out, c)
			}
		}
	}
	return out
}

func coverage(parts [][]Sample) (c Coverage) {
	var inside, rows [3]float64
	for _, p := range parts {
		addThirds(p, &inside, &rows)
	}
	list := slices.Concat(parts...)
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(a.Band, b.Band) })
	c.Rows, c.Inside, c.Median = len(list), InsideOf(list), list[len(list)/2].Band
	off := make([]float64, len(list))
	for i := range list {
		s := &list[i]
		off[i] = math.Abs(s.Error)
		if s.Error > math.Log1p(s.Band) {
			c.Above += 1 / float64(len(list))
		}
	}
	slices.Sort(off)
	c.Constant = math.Expm1(off[max(0, int(math.Round(c.Inside*float64(len(off))))-1)])
	for i := range c.Thirds {
		c.Thirds[i] = math.NaN()
		if len(list) >= enoughForThirds {
			c.Thirds[i] = inside[i] / rows[i]
		}
	}
	return c
}

// addThirds counts the samples inside, by third of band width. Samples of equal width have no
// order, so the thirds they straddle share them proportionally.
func addThirds(list []Sample, inside, rows *[3]float64) {
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(a.Band, b.Band) })
	third := float64(len(list)) / 3
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].Band == list[from].Band {
			to++
		}
		share := InsideOf(list[from:to])
		for i := range rows {
			if part := min(float64(to), float64(i+1)*third) - max(float64(from), float64(i)*third); part > 0 {
				inside[i] += share * part
				rows[i] += part
			}
		}
		from = to
	}
}

func InsideOf(list []Sample) float64 {
	n := 0
	for i := range list {
		if list[i].Inside() {
			n++
		}
	}
	return float64(n) / float64(len(list))
}
