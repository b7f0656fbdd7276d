package validate

import (
	"fmt"
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestAttentionColumn: a run says which attention backend it had; one that the engine
// does not know is a reason.
func TestAttentionColumn(t *testing.T) {
	table := "model,system,engine,tp,isl,osl,concurrency,ttft,tpot,attention_backend\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,trtllm_mha\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,triton\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,tritn\n"
	r, err := Serving(t.Context(), "runs.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	tpot := func(row int) float64 { return r.Rows[row].Figures[1].Predicted }
	if usual, triton := tpot(0), tpot(2); usual <= 0 || tpot(1) != usual || triton < 1.02*usual {
		t.Errorf("TPOT %v, %v, %v ms", usual, tpot(1), triton)
	}
	if why := r.Reason(&r.Rows[3]); !strings.Contains(why, `"tritn" is not one of`) || !strings.Contains(why, `did you mean "triton"?`) {
		t.Errorf("reason %q", why)
	}
}

// TestOptionsOfRows: what a row tells an engine that the engine has not got, or not on that chip,
// and what is no number, are reasons.
func TestOptionsOfRows(t *testing.T) {
	const head = "model,system,engine,precision,concurrency,isl,osl,tp,%s,ttft_ms,tpot_ms\n"
	for _, c := range []struct{ column, row, why string }{
		{"fp8-gemm-backend", "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,flashinfer_trtlm", `did you mean "flashinfer_trtllm"?`},
		{"fp8-gemm-backend", "DeepSeek-V3,H200,sglang,fp8_block,1,3000,300,8,flashinfer_trtllm", "flashinfer_trtllm is for Blackwell, not for H200 (Hopper); measured there: auto, deep_gemm"},
		{"fp8-gemm-backend", "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,triton", "triton was not measured"},
		{"fp8-gemm-backend", "DeepSeek-V3,B200,vllm,fp8_block,1,3000,300,8,deep_gemm", "vLLM 0.18 has no option fp8-gemm-backend"},
		{"fp8-gemm-backend", "DeepSeek-V3,H200,sglang,fp8_block,1,3000,300,8,deep_gemm", ""},
		{"captured-prompts", "Llama-3.1-8B,H200,trtllm,fp8,1,3000,300,1,100", ""},
		{"captured-prompts", "Llama-3.1-8B,RTX_4090,llamacpp,q4_0,1,3000,300,1,100", "has no option captured-prompts"},
		{"captured-prompts", "Llama-3.1-8B,H200,vllm,fp8,1,3000,300,1,100", ""},
		{"captured-prompts", "Llama-3.1-8B,H200,vllm,fp8,1,3000,300,1,many", `captured-prompts: must be a whole number, not "many"`},
		{"mem-fraction-static", "Llama-3.1-8B,H200,sglang,fp8,1,3000,300,1,85", "mem-fraction-static: must be above 0 and at most 1, not 85"},
		{"mem-fraction-static", "Llama-3.1-8B,H200,sglang,fp8,1,3000,300,1,0.85", ""},
	} {
		r, err := Serving(t.Context(), "made.csv", strings.NewReader(fmt.Sprintf(head, c.column)+c.row+",1,1\n"), question.Default())
		if err != nil {
			t.Fatal(err)
		}
		if why := r.Reason(&r.Rows[0]); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", c.row, why, c.why)
		}
	}
}

// TestToldShare: a share of the memory that a row states counts, also where it is the one that is
// assumed of servers elsewhere: the more of it, the fewer requests wait. A server that is told none
// takes less than that.
func TestToldShare(t *testing.T) {
	const head = "model,system,engine,tp,isl,osl,concurrency,mem-fraction-static,ttft_ms,tpot_ms\n"
	const row = "llama_3_70b,H100_SXM,sglang,8,8192,1024,512,"
	r, err := Serving(t.Context(), "told.csv", strings.NewReader(head+row+",1,1\n"+row+"0.88,1,1\n"+row+"0.9,1,1\n"+row+"0.91,1,1\n"), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(r.Rows); i++ {
		if less, more := r.Rows[i-1].Figures[0].Predicted, r.Rows[i].Figures[0].Predicted; !(more < less) {
			t.Errorf("row %d: TTFT %v ms, with less memory %v", i+1, more, less)
		}
	}
}

// TestShortHeader: a table in the words of a person.
func TestShortHeader(t *testing.T) {
	const text = "model,system,engine,concurrency,isl,osl,tp,tpot_ms\nLlama-3.1-8B,H200,vllm,8,1024,128,1,7\n"
	r, err := Serving(t.Context(), "mine.csv", strings.NewReader(text), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Rows[0].Figures[1]; f.Reason != "" || f.Measured != 7 || !(f.Predicted > 1 && f.Predicted < 30) {
		t.Errorf("%+v", f)
	}
	if _, err := Serving(t.Context(), "mine.csv", strings.NewReader("modell,system\na,b\n"), question.Default()); err == nil ||
		!strings.Contains(err.Error(), `no columns "model", "isl", "osl", "concurrency"`) {
		t.Error(err)
	}
}
