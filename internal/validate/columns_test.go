package validate

import (
	"os"
	"strings"
	"testing"
	"throughline/internal/question"
)

// labelledTable is a table in other words: names of columns, systems and models with notes, layouts by ranks, drafts, lengths
// and prompts as people write them.
const labelledTable = `id,source,model,system,num_gpus,framework,precision,isl,osl,length_spread,arrival,num_prompts,concurrency,request_rate,tp,dp,dp_attention,ep,disagg,prefill_workers,prefill_tp,prefill_ep,prefill_dp_attention,prefill_gpus,decode_workers,decode_tp,decode_ep,decode_dp_attention,decode_gpus,spec,spec_tokens,other_settings,ttft_mean_ms,ttft_p50,tpot_mean_ms,tpot_p50,measured_output_len_mean,flags
plain,InferenceX,deepseek-ai/DeepSeek-R1-0528,mi355x,8,sglang,fp8,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,False,1,False,,,,,,,,,,,none,,,150,,11,,,
drafts,InferenceX,deepseek-ai/DeepSeek-R1-0528,b200,8,sglang,fp4,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,True,8,False,,,,,,,,,,,mtp,3,,150,,9,,,
disagg,InferenceX,deepseek-ai/DeepSeek-R1-0528,gb300,34,dynamo-trt,fp4,1024,8192,"random, range ratio 0.8",closed loop,10 x conc,1024,inf,,,,,True,1,2,2,True,2,1,32,32,True,32,none,,,1317,,14.7,,,
percentiles,InferenceX,deepseek-ai/DeepSeek-R1-0528,h200,8,sglang,fp8,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,,1,False,,,,,,,,,,,none,,,,150,,11,,
open,other,meta-llama/Llama-3.1-8B-Instruct,a100,2,llm-d(vllm),bf16,8000,200,random fixed,open loop Poisson,200,,1.8,1,,,,False,,,,,,,,,,,none,,,955,,41,,,
dies,other,moonshotai/Kimi-K2-Thinking,ascend-910C (Atlas 800 A3),16,vllm-ascend,w4a16(int4),512,512,random fixed,closed loop,10,10,inf,16,,,yes,False,,,,,,,,,,,none,,max-num-seqs 12; max-num-batched-tokens 8192,507,,200,,,
other drafts,other,Qwen3-32B,h200,8,sglang,bf16,1024,1024,dataset random,closed loop,,16,inf,8,,,,False,,,,,,,,,,,eagle3,4,,150,,9,,,
median,other,` + "`Kimi-K2.6` (INT4)" + `,h200,8,sglang,,1024,1024,dataset random,closed loop,80,16,inf,8,,,,False,,,,,,,,,,,none,,,150,,12,,,rounded;ttft_tpot_mean_or_median_not_stated
`

func TestOtherWords(t *testing.T) {
	r, err := Serving(t.Context(), "labelled.csv", strings.NewReader(labelledTable), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	reasons := []string{
		"", "", "",
		"only percentiles were measured; means are predicted",
		"open loop: requests come at a rate of their own; only closed loops are predicted",
		"",
		`spec "eagle3": only drafts by the model's own draft layers are modelled`,
		"TTFT: flags: whether it is a mean or a median is not stated",
	}
	for i := range r.Rows {
		if got := r.Reason(&r.Rows[i]); got != reasons[i] {
			t.Errorf("row %s: reason %q, want %q", r.Rows[i].Cells[0], got, reasons[i])
		}
	}
}

// TestRuns: what rows describe.
func TestRuns(t *testing.T) {
	var at int
	wants := []map[string]string{
		{"backend": "sglang", "mode": "agg", "tp_size": "8", "attention_dp_size": "1", "moe_ep_size": "1", "moe_tp_size": "8", "drafts": "0", "model_path": "deepseek-ai/DeepSeek-R1-0528"},
		{"tp_size": "1", "attention_dp_size": "8", "moe_ep_size": "8", "moe_tp_size": "1", "drafts": "2"}, // SGLang counts the token before
		{"backend": "trtllm", "mode": "disagg", "prefill_tp_size": "1", "prefill_attention_dp_size": "2", "prefill_moe_ep_size": "2", "decode_attention_dp_size": "32", "decode_moe_ep_size": "32", "prefill_num_workers": "1"},
		{"silicon_ttft_ms": "", "silicon_tpot_ms": ""},
		{"backend": "vllm"},
		{"system": "ascend-910C", "precision": "w4a16", "moe_ep_size": "16", "moe_tp_size": "1", "tp_size": "16"},
		{"precision": "bf16"},
		{"model_path": "Kimi-K2.6", "precision": "int4"},
	}
	_, err := rawTable(t.Context(), "labelled.csv", strings.NewReader(labelledTable), checkHeader, func(_ []string, cell func(string) string) Row {
		r := run{cell}
		for column, want := range wants[at] {
			if got := r.get(column); got != want {
				t.Errorf("row %s: %s is %q, want %q", cell("id"), column, got, want)
			}
		}
		at++
		return Row{}
	})
	if err != nil {
		t.Fatal(err)
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
		!strings.Contains(err.Error(), `no columns "model_path", "backend", "isl", "osl", "concurrency"`) {
		t.Error(err)
	}
}

// TestLabelled reads the public table as it is. Every row has a prediction or a reason, and no prediction is no number.
func TestLabelled(t *testing.T) {
	const name = "../../../shared/measurements/silicon/labelled.csv"
	f, err := os.Open(name)
	if err != nil {
		t.Skip("no measurements: ", err)
	}
	defer f.Close()
	r, err := Serving(t.Context(), name, f, question.Default())
	if err != nil {
		t.Fatal(err)
	}
	predicted := 0
	for i := range r.Rows {
		f := &r.Rows[i].Figures[1]
		if f.Reason != "" {
			continue
		}
		predicted++
		if !(f.Predicted > 0.1 && f.Predicted < 1e5) {
			t.Errorf("row %s: a TPOT of %g ms", r.Rows[i].Cells[0], f.Predicted)
		}
	}
	if predicted < 500 {
		t.Errorf("%d rows of %d have a TPOT", predicted, len(r.Rows))
	}
}
