package validate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/workload"
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
	r, err := Serving(t.Context(), "labelled.csv", strings.NewReader(labelledTable), question.Default())
	if err != nil {
		t.Fatal(err)
	}
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
	var at int
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
	_, err := rawTable(t.Context(), "labelled.csv", strings.NewReader(labelledTable), (&servingPredictor{}).checkHeader, func(_ []string, cell func(string) string) Row {
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

// TestMeasuredLengths: outputs that are all as long as the longest do not vary, whatever the words of the row are; means that a row says
// are half of what lengths are drawn up to, whatever its lengths are.
func TestMeasuredLengths(t *testing.T) {
	for _, c := range []struct {
		words, mean, want string
		input, output     int
	}{
		{"random, range ratio 0 (default)", "1499.7", "fixed", 3500, 1500}, {"random, range ratio 0 (default)", "760", "uniform:0", 3500, 1500},
		{"random, range ratio 0 (default)", "", "uniform:0", 3500, 1500}, {"random, range ratio 0.8", "1500", "uniform:0.8", 3500, 1500},
		{"means in=3500 out=1500", "1500", "uniform:0", 7000, 3000},                                           // the lengths of the row are means
		{"dataset random; lengths uniform 1..nominal; means in=1741 out=760", "760", "uniform:0", 3482, 1520}, // and here what they are drawn up to
	} {
		cells := map[string]string{"length_spread": c.words, "measured_output_len_mean": c.mean}
		b, n := run{func(column string) string { return cells[column] }}.benchmark(workload.Lengths{Input: 3500, Output: 1500}, 8)
		if b.Spread != c.want || n.Input != c.input || n.Output != c.output {
			t.Errorf("%+v: lengths %s of %d + %d", c, b.Spread, n.Input, n.Output)
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
		!strings.Contains(err.Error(), `no columns "model_path", "isl", "osl", "concurrency"`) {
		t.Error(err)
	}
}

// labelled is the public table as it is, predicted once for all tests.
var labelled = sync.OnceValues(func() (*Report, error) {
	const name = "../../../shared/measurements/silicon/labelled.csv"
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	simulate := rates // there are means besides percentiles
	if long.Mode() {
		simulate = everything
	}
	return servingRuns(context.Background(), name, f, question.Default(), simulate, nil)
})

func labelledReport(t *testing.T) *Report {
	t.Helper()
	r, err := labelled()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no measurements: ", err)
	} else if err != nil {
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

// TestWeights: FP8 has scales of blocks where a table says so of any product, and in the checkpoints of Qwen; nothing else is changed.
func TestWeights(t *testing.T) {
	for _, c := range []struct{ model, precision, dense, experts, want string }{
		{"deepseek-ai/DeepSeek-R1", "fp8", "fp8", "fp8_block", "fp8_block"}, {"meta-llama/Llama-3.1-8B-Instruct", "fp8", "fp8_block", "", "fp8_block"},
		{"meta-llama/Llama-3.1-70B", "fp8", "fp8", "fp8", "fp8"}, {"nvidia/Qwen3-32B-FP8", "fp8", "fp8", "fp8", "fp8"},
		{"Qwen/Qwen3-32B", "fp8", "fp8", "fp8", "fp8_block"}, {"Qwen/Qwen3-32B", "", "", "", ""}, {"Qwen/Qwen3-32B", "fp4", "nvfp4", "nvfp4", "fp4"},
	} {
		cells := map[string]string{"model_path": c.model, "precision": c.precision, "gemm_quant_mode": c.dense, "moe_quant_mode": c.experts}
		if got := (run{func(column string) string { return cells[column] }}).weights(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestExchangedExperts: what sends tokens to experts spreads them over all ranks; without it they are cut.
func TestExchangedExperts(t *testing.T) {
	for flags, want := range map[string][2]string{
		"flags: --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend megamoe":               {"8", "1"},
		"flags: --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend=deepep --host 0.0.0.0": {"8", "1"},
		"flags: --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend none":                  {"1", "8"},
		"flags: --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend DeepEP":                {"8", "1"},
		"flags: --tp 8 --dp 8 --enable-dp-attention --moe-runner-backend flashinfer_mxfp4":   {"1", "8"},
	} {
		cells := map[string]string{"tp": "8", "dp": "8", "dp_attention": "True", "other_settings": flags}
		r := run{func(column string) string { return cells[column] }}
		if got := [2]string{r.get("moe_ep_size"), r.get("moe_tp_size")}; got != want {
			t.Errorf("%s: ep and etp are %v, want %v", flags, got, want)
		}
	}
}
