package lab

import (
	"context"
	"strings"
	"sync"
	"testing"

	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/validate"
)

// labelledTable is a table in other words: names of columns, systems and models with notes, layouts
// by ranks, drafts, lengths and prompts as people write them.
const labelledTable = `id,source,model,system,num_gpus,framework,precision,isl,osl,length_spread,arrival,num_prompts,concurrency,request_rate,tp,dp,dp_attention,ep,disagg,prefill_workers,prefill_tp,prefill_ep,prefill_dp_attention,prefill_gpus,decode_workers,decode_tp,decode_ep,decode_dp_attention,decode_gpus,spec,spec_tokens,other_settings,ttft_mean_ms,ttft_p50,tpot_mean_ms,tpot_p50,measured_output_len_mean,flags
plain,InferenceX,deepseek-ai/DeepSeek-R1-0528,mi355x,8,sglang,fp8,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,False,1,False,,,,,,,,,,,none,,,150,,11,,,
drafts,InferenceX,deepseek-ai/DeepSeek-R1-0528,b200,8,sglang,fp4,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,True,8,False,,,,,,,,,,,mtp,3,,150,,9,,,
disagg,InferenceX,deepseek-ai/DeepSeek-R1-0528,gb300,34,dynamo-trt,fp4,1024,8192,"random, range ratio 0.8",closed loop,10 x conc,1024,inf,,,,,True,1,2,2,True,2,1,32,32,True,32,none,,,1317,,14.7,,,
percentiles,InferenceX,deepseek-ai/DeepSeek-R1-0528,h200,8,sglang,fp8,1024,1024,"random, range ratio 0.8",closed loop,10 x conc,16,inf,8,,,1,False,,,,,,,,,,,none,,,,150,,11,,
open,other,meta-llama/Llama-3.1-8B-Instruct,a100,2,llm-d(vllm),bf16,8000,200,random fixed,open loop Poisson,200,,1.8,1,,,,False,,,,,,,,,,,none,,,955,,41,,,
dies,vllm-ascend docs,moonshotai/Kimi-K2-Thinking,ascend-910C (Atlas 800 A3),16,vllm-ascend,w4a16(int4),512,512,random fixed,closed loop,10,10,inf,16,,,yes,False,,,,,,,,,,,none,,max-num-seqs 12; max-num-batched-tokens 8192,507,,200,,,
other drafts,other,Qwen3-32B,h200,8,sglang,bf16,1024,1024,dataset random,closed loop,,16,inf,8,,,,False,,,,,,,,,,,dflash,4,,150,,9,,,
median,other,` + "`Kimi-K2.6` (INT4)" + `,h200,8,sglang,,1024,1024,dataset random,closed loop,80,16,inf,8,,,,False,,,,,,,,,,,none,,,150,,12,,,rounded;ttft_tpot_mean_or_median_not_stated
`

func TestOtherWords(t *testing.T) {
	r := predictedBy(t, labelledTable)
	reasons := []string{
		"", "", "",
		"", // by the simulation
		"",
		"",
		`spec "dflash": only drafts by the model's own draft layers are modelled`,
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
	wants := []map[string]string{
		{"engine": "sglang", "mode": "agg", "tp": "8", "dp": "1", "ep": "1", "moe_tp": "8", "model": "deepseek-ai/DeepSeek-R1-0528"},
		{"tp": "1", "dp": "8", "ep": "8", "moe_tp": "1"},
		{"engine": "trtllm", "mode": "disagg", "prefill_tp": "1", "prefill_dp": "2", "prefill_ep": "2", "decode_dp": "32", "decode_ep": "32", "prefill_workers": "1"},
		{"silicon_ttft_ms": "", "silicon_tpot_ms": ""},
		{"engine": "vllm"},
		{"engine": "vllm", "system": "Ascend_910C", "weights": "int4", "ep": "16", "moe_tp": "1", "tp": "16"},
		{"weights": "bf16"},
		{"model": "Kimi-K2.6", "weights": "int4"},
	}
	for at, r := range tableOf(t, strings.NewReader(labelledTable)).rows {
		for column, want := range wants[at] {
			if got := r.Get(column); got != want {
				t.Errorf("row %s: %s is %q, want %q", r.Cell("id"), column, got, want)
			}
		}
	}
}

// labelled is the public table, predicted once for all tests.
var labelled = sync.OnceValues(func() (*validate.Report, error) {
	t, err := Import(context.Background(), "../../"+evidence.labelled)
	if err != nil {
		return nil, err
	}
	return t.predict(context.Background(), question.Default(), validate.Trial{})
})

func labelledReport(t *testing.T) *validate.Report {
	t.Helper()
	if !long.Mode() {
		t.Skip("all labelled runs are predicted: with make test-long")
	}
	besideProject(t, evidence.labelled)
	r, err := labelled()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLabelled: of the rows of the public table nine in ten are answered, the others have a reason,
// and no prediction is no number.
func TestLabelled(t *testing.T) {
	r := labelledReport(t)
	for i := range r.Rows {
		row := &r.Rows[i]
		answered := false
		for at, f := range row.Figures {
			if f.Reason == "" && f.Predicted != 0 {
				answered = true
				if !(f.Predicted > 0 && f.Predicted < 1e7) {
					t.Errorf("row %s: %s of %g", row.Cells[0], r.Figures[at], f.Predicted)
				}
			}
		}
		if !answered && r.Reason(row) == "" {
			t.Errorf("row %s has neither a prediction nor a reason", row.Cells[0])
		}
	}
	if n, all := r.Answered(), len(r.Rows); float64(n) < 0.9*float64(all) {
		t.Errorf("%d rows of %d are answered", n, all)
	}
}
