package validate

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/model"
)

const servingTable = `id,model_path,system,backend,precision,mode,isl,osl,concurrency,num_gpus,batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,prefill_num_workers,prefill_tp_size,prefill_attention_dp_size,prefill_moe_ep_size,decode_batch_size,decode_num_workers,decode_tp_size,decode_attention_dp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms
a,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,trtllm,,agg,1024,128,8,1,8,1,1,,1,1,,,,,,,,,,120,9
b,nvidia/DeepSeek-R1-NVFP4,b200_sxm,sglang,fp4,agg,1024,1024,16,8,16,8,1,1,1,8,,,,,,,,,,300,12
c,deepseek-ai/DeepSeek-V3,gb200,trtllm,fp4,disagg,8192,1024,64,40,,,,,,,1,1,8,8,16,4,8,1,8,900,10
d,Qwen/Qwen3-32B,h100_sxm,sglang,fp8,disagg,4000,1000,,16,,,,,,,5,1,1,1,48,11,1,1,1,600,22
e,acme/Unheard-of,h100_sxm,vllm,fp8,agg,1024,1024,4,1,,1,,,,,,,,,,,,,,50,5
f,openai/gpt-oss-120b,h200_sxm,vllm,fp4,agg,1024,1024,4,2,,2,,,2,2,,,,,,,,,,50,5
g,openai/gpt-oss-20b,h200_sxm,vllm,fp4,agg,1024,1024,,2,,2,,,,,,,,,,,,,,50,5
h,Qwen/Qwen3-32B,h100_sxm,madeup,fp8,both,1024,1024,4,1,,1,,,,,,,,,,,,,,50,5
i,Qwen/Qwen3-32B,h100_sxm,vllm,fp8,agg,1024,1024,4,1,,1,,,,,,,,,,,,,,,
`

// onMachine is a question that may name files.
func onMachine() question.Question {
	q := question.Default()
	q.In = files.Machine
	return q
}

func TestServing(t *testing.T) {
	r, err := Serving(t.Context(), "serving.csv", strings.NewReader(servingTable), onMachine())
	if err != nil {
		t.Fatal(err)
	}
	reasons := []string{
		"", "", "", // predicted
		"TTFT: no concurrency; that of TPOT follows from the batch size",
		`model: "acme/Unheard-of" is no file and no built-in model; "throughline models" lists the built-in ones`,
		"ep 2 · moe-tp 2 · moe-dp 1 = 4 do not fill the 2 GPUs",
		"no concurrency",
		`engine: no engine "madeup": there are sglang, vllm, trtllm, llamacpp; none is a generic one; mode "both" is neither agg nor disagg`,
		"", // not measured, but predicted
	}
	for i := range r.Rows {
		if got := r.Reason(&r.Rows[i]); got != reasons[i] {
			t.Errorf("row %s: reason %q, want %q", r.Rows[i].Cells[0], got, reasons[i])
		}
		for f, figure := range r.Rows[i].Figures {
			if figure.Reason == "" && !(figure.Predicted > 0.1 && figure.Predicted < 1e5) {
				t.Errorf("row %s: %s of %v ms", r.Rows[i].Cells[0], r.Figures[f], figure.Predicted)
			}
		}
	}
	totals := r.Totals()
	if s := totals[0]; s.Group != "agg" || s.Figure != "TTFT" || s.Rows != 2 || s.Unpredicted != 3 {
		t.Errorf("total %+v", s)
	}
	if s := totals[3]; s.Group != "disagg" || s.Figure != "TPOT" || s.Rows != 2 {
		t.Errorf("total %+v", s)
	}
	var first, second bytes.Buffer
	if err := r.WriteCSV(&first); err != nil {
		t.Fatal(err)
	}
	again, _ := Serving(t.Context(), "serving.csv", strings.NewReader(servingTable), onMachine())
	_ = again.WriteCSV(&second)
	if first.String() != second.String() {
		t.Error("two predictions differ")
	}
	rows, err := csv.NewReader(&first).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"predicted_ttft_ms", "predicted_tpot_ms", "predicted_tokens_per_s", "predicted_memory_gib", "ttft_error_band_percent", "tpot_error_band_percent", "ttft_kind", "prediction_note", "reason"}; !slices.Equal(rows[0][len(rows[0])-len(want):], want) || rows[0][0] != "id" {
		t.Errorf("header %v", rows[0])
	}
	onA100 := question.Default()
	onA100.System = "A100"
	slower, err := Serving(t.Context(), "serving.csv", strings.NewReader(servingTable), onA100)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slower.Rows[0].Figures[1], r.Rows[0].Figures[1]; a.Predicted <= b.Predicted {
		t.Errorf("TPOT %v ms on an A100, %v ms on an H100", a.Predicted, b.Predicted)
	}
}

func TestServingRefuses(t *testing.T) {
	_, err := Serving(t.Context(), "serving.csv", strings.NewReader("model_path,system,isl,osl\n"), question.Default())
	if err == nil || !strings.Contains(err.Error(), `serving.csv:1: no column "concurrency"`) {
		t.Errorf("missing columns: %v", err)
	}
	_, err = Serving(t.Context(), "serving.csv", strings.NewReader(servingTable), question.Question{In: files.Machine, System: "H20O", Distribution: "long", Assume: "magic"})
	for _, want := range []string{`system: "H20O" is no file`, "lengths: ", `assume: "magic"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestServingNames: the names of models and systems in tables of serving runs lead to the
// catalogues.
func TestServingNames(t *testing.T) {
	for ref, want := range map[string]string{
		"Qwen/Qwen3-235B-A22B-FP8":                    "Qwen3-235B-A22B",
		"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8":      "Qwen3-235B-A22B",
		"Qwen/Qwen3-30B-A3B-Thinking-2507":            "Qwen3-30B-A3B",
		"nvidia/Qwen3-32B-NVFP4":                      "Qwen3-32B",
		"nvidia/DeepSeek-R1-NVFP4":                    "DeepSeek-R1",
		"nvidia/DeepSeek-R1-0528-NVFP4-v2":            "DeepSeek-R1",
		"nvidia/DeepSeek-V3.1-NVFP4":                  "DeepSeek-V3",
		"deepseek-ai/DeepSeek-V3-0324":                "DeepSeek-V3",
		"deepseek-ai/DeepSeek-V3.2-Exp":               "DeepSeek-V3.2",
		"moonshotai/Kimi-K2.5":                        "Kimi-K2.5",
		"moonshotai/Kimi-K2-Instruct-0905":            "Kimi-K2-Instruct",
		"moonshotai/Kimi-K2-Thinking":                 "Kimi-K2.5",
		"meta-llama/Llama-3.1-8B-Instruct":            "Llama-3.1-8B",
		"nvidia/Llama-3.3-70B-Instruct-FP8":           "Llama-3.1-70B",
		"meta-llama/Meta-Llama-3.1-405B-Instruct-FP8": "Llama-3.1-405B",
		"mistralai/Mixtral-8x7B-Instruct-v0.1":        "Mixtral-8x7B",
		"openai/gpt-oss-20b":                          "gpt-oss-20b",
		"zhipuai/GLM-5":                               "GLM-5",
		"zai-org/GLM-4.5-Air-FP8":                     "GLM-4.5-Air",
		"MiniMaxAI/MiniMax-M2.5":                      "MiniMax-M2.5",
	} {
		if got, _ := model.Catalogue.Name(ref); got != want {
			t.Errorf("%s leads to %q, not to %s", ref, got, want)
		}
	}
	if got, ok := model.Catalogue.Name("acme/Chat-Instruct"); ok {
		t.Errorf("endings alone lead to %s", got)
	}
	for ref, want := range map[string]string{
		"b200_sxm": "B200", "b300_sxm": "B300", "h100_sxm": "H100_SXM", "h200_sxm": "H200", "gb200": "GB200_NVL72",
		"gb300": "GB300_NVL72", "a100_sxm": "A100_SXM", "l40s": "L40S", "h20": "H20_96G", "h20_sxm": "H20_96G",
	} {
		if got, _ := hardware.Catalogue.Name(ref); got != want {
			t.Errorf("%s leads to %q, not to %s", ref, got, want)
		}
	}
}

// TestRowThatDoesNotFit: servers that were measured have started, so they take all of the memory; a
// row without measurements is refused, as estimate refuses it.
func TestRowThatDoesNotFit(t *testing.T) {
	const table = `model_path,system,backend,precision,mode,isl,osl,concurrency,num_gpus,tp_size,silicon_ttft_ms,silicon_tpot_ms
Llama-3.1-70B,H100_SXM,sglang,fp8,agg,2000,100,8,1,1,,
Llama-3.1-70B,H100_SXM,sglang,fp8,agg,2000,100,8,1,1,900,40
`
	r, err := Serving(t.Context(), "serving.csv", strings.NewReader(table), question.Default())
	if err != nil {
		t.Fatal(err)
	}
	if why := r.Reason(&r.Rows[0]); !strings.Contains(why, "one request does not fit") {
		t.Errorf("not measured: reason %q, TTFT of %v ms", why, r.Rows[0].Figures[0].Predicted)
	}
	if why := r.Reason(&r.Rows[1]); why != "" || r.Rows[1].Figures[0].Predicted <= 0 {
		t.Errorf("measured: reason %q, TTFT of %v ms", why, r.Rows[1].Figures[0].Predicted)
	}
}

// TestWorkers: however many rows are answered at a time, the report is the same, in their order.
func TestWorkers(t *testing.T) {
	table := "model,system,engine,tp,concurrency,isl,osl,ttft_ms,tpot_ms\n"
	for clients := 1; clients <= 24; clients++ {
		table += fmt.Sprintf("Llama-3.1-8B,H200,%s,%d,%d,1000,20,1,1\n", []string{"vllm", "sglang", "no such engine"}[clients%3], 1+clients%2, clients)
	}
	report := func(jobs int) string {
		q := question.DefaultOf(question.Serving)
		q.Jobs = jobs
		r, err := Serving(t.Context(), "runs.csv", strings.NewReader(table), q)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := r.WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if one, more := report(1), report(3); one != more {
		t.Errorf("one worker writes\n%s\nthree write\n%s", one, more)
	}
}
