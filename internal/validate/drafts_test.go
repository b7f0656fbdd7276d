package validate

import (
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestDraftGains: two runs that differ in drafts alone make a pair, by medians where means are
// missing; others make none.
func TestDraftGains(t *testing.T) {
	const table = `model,system,backend,isl,osl,concurrency,num_gpus,tp,drafts,tpot_mean_ms,tpot_p50
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,0,20,19
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,0,24,
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,0,,22
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,3,,11
DeepSeek-R1,h200,sglang,1000,1000,16,8,8,3,13,
DeepSeek-R1,h200,sglang,1000,1000,8,8,8,,99,
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
