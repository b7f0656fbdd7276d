package calibrate

import (
	"math"
	"os"
	"testing"

	"throughline/hardware/kernel"
)

// What a predictor says of the rows of a fit is what the fit reports: both see a row in the same
// way.
func TestPredictorAgreesWithFits(t *testing.T) {
	file := shared + "h200/ops.csv"
	if _, err := os.Stat(file); err != nil {
		t.Skip("no measurements: ", err)
	}
	if testing.Short() {
		t.Skip("fits take seconds")
	}
	rows, _, _ := tables(t, []string{file})
	s := system(t, "H200")
	s.Kernels = &kernel.Set{}
	results, _ := Classes(rows, s, s.Kernels)
	p := NewPredictor(s)
	errors, counts := map[string]float64{}, map[string]int{}
	for i := range rows {
		c, _ := classOf(&rows[i])
		seconds, ok := p.Seconds(&rows[i])
		if !ok {
			t.Fatalf("%s is not predicted", rows[i].Shape())
		}
		errors[c.slot.Name()+c.numberType] += 100 * math.Abs(seconds/rows[i].Seconds-1)
		counts[c.slot.Name()+c.numberType]++
	}
	for _, r := range results {
		key := r.Class + r.Type
		if r.Below+r.Short > 0 {
			continue // the fit has left rows out
		}
		if mean := errors[key] / float64(counts[key]); math.Abs(mean-r.Fitted.Mean) > 1e-6 {
			t.Errorf("%s: a mean error of %.3f%%, the fit says %.3f%%", key, mean, r.Fitted.Mean)
		}
	}
}
