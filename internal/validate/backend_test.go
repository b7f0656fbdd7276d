package validate

import (
	"fmt"
	"strings"
	"testing"

	"throughline/internal/question"
)

// TestAttentionColumn: a run says which attention backend it had, in a column, or among the flags of its command; one that the engine
// does not know is a reason.
func TestAttentionColumn(t *testing.T) {
	table := "model,system,engine,tp,isl,osl,concurrency,ttft,tpot,attention_backend,other_settings\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,,\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,trtllm_mha,\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,triton,\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,,flags: --tp 1 --attention-backend triton --x\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,,for images add --attention-backend triton\n" +
		"Llama-3.1-8B,B200,sglang,1,1024,1024,64,1,1,tritn,\n"
	r, err := Serving(t.Context(), "runs.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	tpot := func(row int) float64 { return r.Rows[row].Figures[1].Predicted }
	if usual, triton := tpot(0), tpot(2); usual <= 0 || tpot(1) != usual || triton < 1.02*usual || tpot(3) != triton || tpot(4) != usual {
		t.Errorf("TPOT %v, %v, %v, %v, %v ms", usual, tpot(1), triton, tpot(3), tpot(4))
	}
	if why := r.Reason(&r.Rows[5]); !strings.Contains(why, `"tritn" is not one of`) || !strings.Contains(why, `did you mean "triton"?`) {
		t.Errorf("reason %q", why)
	}
}

// TestOptionsOfRows: what a row tells an engine that the engine has not got, or not on that chip, and what is no number, are reasons.
func TestOptionsOfRows(t *testing.T) {
	const head = "model,system,engine,precision,concurrency,isl,osl,tp,%s,ttft_ms,tpot_ms\n"
	for _, c := range []struct{ column, row, why string }{
		{"fp8-gemm-backend", "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,flashinfer_trtlm", `did you mean "flashinfer_trtllm"?`},
		{"fp8-gemm-backend", "DeepSeek-V3,H200,sglang,fp8_block,1,3000,300,8,flashinfer_trtllm", "flashinfer_trtllm is for Blackwell, not for H200 (Hopper); measured there: auto, deep_gemm"},
		{"fp8-gemm-backend", "DeepSeek-V3,B200,sglang,fp8_block,1,3000,300,8,triton", "triton was not measured"},
		{"fp8-gemm-backend", "DeepSeek-V3,B200,vllm,fp8_block,1,3000,300,8,deep_gemm", "vLLM 0.18 has no option fp8-gemm-backend"},
		{"fp8-gemm-backend", "DeepSeek-V3,H200,sglang,fp8_block,1,3000,300,8,deep_gemm", ""},
		{"captured-prompts", "Llama-3.1-8B,H200,trtllm,fp8,1,3000,300,1,100", "TensorRT-LLM 1.2 has no option captured-prompts"},
		{"captured-prompts", "Llama-3.1-8B,H200,vllm,fp8,1,3000,300,1,100", ""},
		{"captured-prompts", "Llama-3.1-8B,H200,vllm,fp8,1,3000,300,1,many", `captured-prompts "many" must be a whole number`},
		{"mem-fraction-static", "Llama-3.1-8B,H200,sglang,fp8,1,3000,300,1,85", `mem-fraction-static "85" must be above 0 and at most 1`},
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
