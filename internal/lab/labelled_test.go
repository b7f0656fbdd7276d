package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/validate"
)

// labelledTable is a table in other words: names of columns, systems and models with notes, layouts by ranks, drafts, lengths
// and prompts as people write them.
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
		{"backend": "sglang", "mode": "agg", "tp_size": "8", "attention_dp_size": "1", "moe_ep_size": "1", "moe_tp_size": "8", "model_path": "deepseek-ai/DeepSeek-R1-0528"},
		{"tp_size": "1", "attention_dp_size": "8", "moe_ep_size": "8", "moe_tp_size": "1"},
		{"backend": "trtllm", "mode": "disagg", "prefill_tp_size": "1", "prefill_attention_dp_size": "2", "prefill_moe_ep_size": "2", "decode_attention_dp_size": "32", "decode_moe_ep_size": "32", "prefill_num_workers": "1"},
		{"silicon_ttft_ms": "", "silicon_tpot_ms": ""},
		{"backend": "vllm"},
		{"backend": "vllm@0.20", "system": "ascend-910C", "precision": "w4a16", "moe_ep_size": "16", "moe_tp_size": "1", "tp_size": "16"},
		{"precision": "bf16"},
		{"model_path": "Kimi-K2.6", "precision": "int4"},
	}
	for at, r := range tableOf(t, strings.NewReader(labelledTable)).rows {
		for column, want := range wants[at] {
			if got := r.Get(column); got != want {
				t.Errorf("row %s: %s is %q, want %q", r.Cell("id"), column, got, want)
			}
		}
	}
}

// labelled is the public table, predicted once for all tests: means, unless they are thorough.
var labelled = sync.OnceValues(func() (*validate.Report, error) {
	t, err := Import(context.Background(), "../../"+evidence.labelled)
	if err != nil {
		return nil, err
	}
	trial := validate.Trial{Simulated: validate.Rates} // there are means besides percentiles
	if long.Mode() {
		trial.Simulated = validate.Everything
	}
	return t.predict(context.Background(), question.Default(), trial)
})

func labelledReport(t *testing.T) *validate.Report {
	t.Helper()
	besideProject(t, evidence.labelled)
	r, err := labelled()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLabelled: of the rows of the public table nine in ten are answered, the others have a reason, and no prediction is no
// number.
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

// TestHeldOut: a constant that is wrong for all engines alike is found on other groups; what is measured here is what the program
// itself predicts, so that held-out errors are small beside those of a wrong start.
func TestHeldOut(t *testing.T) {
	var table strings.Builder
	table.WriteString("model,system,engine,precision,concurrency,isl,osl,tp,ttft_ms,tpot_ms\n")
	for _, run := range []string{"Llama-3.1-8B,H200,vllm,bf16,4,1024,256,1", "Qwen3-8B,H200,vllm,bf16,4,1024,256,1", "Llama-3.1-70B,H200,vllm,fp8,4,1024,256,4"} {
		r := predictedBy(t, "model,system,engine,precision,concurrency,isl,osl,tp,ttft_ms,tpot_ms\n"+run+",1,1\n")
		f := r.Rows[0].Figures
		table.WriteString(run + "," + strings.Join([]string{fmt.Sprint(f[0].Predicted), fmt.Sprint(f[1].Predicted)}, ",") + "\n")
	}
	kept, _, err := tableOf(t, strings.NewReader(table.String())).HeldOut(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 2 || kept[0].Runs != 3 || kept[0].Groups != 3 {
		t.Fatalf("%+v", kept)
	}
	for _, k := range kept {
		if k.Shipped > 0.1 || k.Held > 12 {
			t.Errorf("%s: %.1f%% and held out %.1f%%", k.Name, k.Shipped, k.Held)
		}
	}
}
