package validate

import (
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
