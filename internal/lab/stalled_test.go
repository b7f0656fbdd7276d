package lab

import (
	"slices"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/validate"
)

// TestStalledRuns: verdicts by hand. A run is stalled where more clients of the same deployment waited less, by more than noise.
func TestStalledRuns(t *testing.T) {
	runs := []measuredLoad{
		{"a", 6, 13693}, {"a", 9, 7661}, {"a", 30, 6312}, // 7661/6312 = 1.21 is noise, 13693/6312 is not
		{"b", 30, 100},                               // of another deployment, which says nothing of a
		{"c", 4, 330}, {"c", 8, 472}, {"c", 16, 696}, // more load, longer waits
		{"d", 64, 2000}, {"d", 64, 1000}, // as many clients: a repeat, not a heavier load
		{"e", 4, 5000}, {"e", 8, 0}, // not measured
		{"f", 0, 5000}, {"f", 8, 1000}, // clients not known
	}
	want := []bool{true, false, false, false, false, false, false, false, false, false, false, false, false}
	if got := stalledRuns(runs); !slices.Equal(got, want) {
		t.Errorf("stalled: %v, want %v", got, want)
	}
}

// TestStalledWhateverIsPredicted: predictions that are off by any factor leave the verdicts of a table as they are.
func TestStalledWhateverIsPredicted(t *testing.T) {
	const table = "model,system,engine,precision,mode,isl,osl,concurrency,prefill_num_workers,prefill_tp_size,decode_num_workers,decode_tp_size,ttft_ms,tpot_ms\n" +
		"Llama-3.1-8B,H200,vllm,bf16,disagg,1024,128,4,1,1,1,1,9000,9\n" +
		"Llama-3.1-8B,H200,vllm,bf16,disagg,1024,128,16,1,1,1,1,300,9\n" +
		"Llama-3.1-8B,H200,vllm,bf16,disagg,1024,128,32,1,1,1,1,60000,9\n" // far beyond any prediction, but nothing is faster under more load
	made := tableOf(t, strings.NewReader(table))
	r, err := made.predict(t.Context(), question.Default(), validate.Trial{})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := func() (out []bool) {
		for _, j := range made.judged(r, 2) {
			out = append(out, j.stalled)
		}
		return out
	}
	want := []bool{true, false, false}
	for _, factor := range []float64{1, 100, 1e-4} {
		for i := range r.Rows {
			r.Rows[i].Figures[ttft].Predicted *= factor
		}
		if got := verdicts(); !slices.Equal(got, want) {
			t.Errorf("predictions times %g: stalled %v, want %v", factor, got, want)
		}
	}
}
