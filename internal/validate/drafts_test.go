package validate

import (
	"math"
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestDraftGains: two runs that differ in drafts alone make a pair, by medians where means are missing; others make none.
func TestDraftGains(t *testing.T) {
	const table = `model,system,backend,isl,osl,concurrency,num_gpus,tp,spec,spec_tokens,tpot_mean_ms,tpot_p50
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,none,,20,19
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,none,,24,
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,none,,,22
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,mtp,4,,11
DeepSeek-R1,h200,sglang,1000,1000,16,8,8,mtp,4,13,
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,,,99,
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,dflash,4,5,
`
	r, err := Serving(t.Context(), "small.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	gains := r.DraftGains()
	if len(gains) != 1 || gains[0].Measured != 2 {
		t.Fatalf("%+v", gains)
	}
	if want := r.Rows[0].Figures[1].Predicted / r.Rows[3].Figures[1].Predicted; gains[0].Predicted != want || !(want > 1) {
		t.Errorf("%v, want %v", gains[0].Predicted, want)
	}
	if m, p := MedianGain(gains); m != 2 || p != gains[0].Predicted {
		t.Errorf("medians %v and %v", m, p)
	}
}

// TestLabelledDrafts: over the labelled runs that were made with and without drafts, the gain of a pair is predicted within 15%, in the
// median over the pairs.
func TestLabelledDrafts(t *testing.T) {
	gains := labelledReport(t).DraftGains()
	measured, predicted := MedianGain(gains)
	t.Logf("%d pairs gain %.3g in the median, predicted %.3g (%+.1f%%)", len(gains), measured, predicted, 100*(predicted/measured-1))
	var ratios []float64
	for _, g := range gains {
		ratios = append(ratios, g.Predicted/g.Measured)
	}
	if len(gains) < 20 || math.Abs(median(ratios)-1) > 0.15 {
		t.Errorf("%d pairs: the predicted gain is %v of the measured one in the median", len(gains), median(ratios))
	}
}
