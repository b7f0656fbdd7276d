package lab

import (
	"math"
	"testing"

	"throughline/internal/validate"
)

// TestLabelledDrafts: over the labelled runs that were made with and without drafts, the gain of a
// pair is predicted within 15%, in the median over the pairs.
func TestLabelledDrafts(t *testing.T) {
	gains := labelledReport(t).DraftGains()
	measured, predicted := validate.MedianGain(gains)
	t.Logf("%d pairs gain %.3g in the median, predicted %.3g (%+.1f%%)", len(gains), measured, predicted, 100*(predicted/measured-1))
	var ratios []float64
	for _, g := range gains {
		ratios = append(ratios, g.Predicted/g.Measured)
	}
	if len(gains) < 20 || math.Abs(validate.Median(ratios)-1) > 0.15 {
		t.Errorf("%d pairs: the predicted gain is %v of the measured one in the median", len(gains), validate.Median(ratios))
	}
}
