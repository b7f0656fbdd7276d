package validate

import (
	"math"
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestSheetOfRawData: a table with the columns of the sheet of raw data is predicted as one with
// the usual names, and what the question says stands for what a table does not.
func TestSheetOfRawData(t *testing.T) {
	predicted := func(table, said string) (ttft, tpot float64) {
		t.Helper()
		q := question.DefaultOf(question.Serving)
		q.MeasuredOn = said
		r, err := Serving(t.Context(), "runs.csv", strings.NewReader(table), q)
		if err != nil {
			t.Fatal(err)
		}
		f := r.Rows[0].Figures
		if f[0].Reason != "" || f[0].Measured != 80 || f[1].Measured != 6.1 {
			t.Fatalf("%+v", f)
		}
		return f[0].Predicted, f[1].Predicted
	}
	ttft, tpot := predicted("model,system,engine,precision,tp,isl,osl,concurrency,ttft_ms,tpot_ms\nLlama-3.1-8B,H200,vllm,fp8,1,512,64,8,80,6.1\n", "")
	for name, c := range map[string][2]string{
		"the sheet": {"Model,Quantization,Framework,GPU,Num GPUs,ISL,OSL,Concurrency,TP,TPOT,TTFT,Predicted TPOT\nLlama-3.1-8B,W8A8 KV16,vllm,H200,1,512,64,8,1,6.1,80,5\n", ""},
		"said":      {"isl,osl,concurrency,ttft_ms,tpot_ms\n512,64,8,80,6.1\n", "model=Llama-3.1-8B,system=H200,engine=vllm,weights=fp8,tp=1"},
		"said of another, which the table denies": {"model,GPU,framework,precision,tp,isl,osl,concurrency,ttft_ms,tpot_ms\nLlama-3.1-8B,H200,vllm,fp8,1,512,64,8,80,6.1\n", "system=B200,engine=sglang"},
	} {
		if a, b := predicted(c[0], c[1]); math.Abs(a-ttft) > 1e-9 || math.Abs(b-tpot) > 1e-9 {
			t.Errorf("%s: %v and %v ms, not %v and %v", name, a, b, ttft, tpot)
		}
	}
}
