package rows

import (
	"encoding/csv"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"throughline/estimate"
	"throughline/internal/names"
	"throughline/internal/question"
	"throughline/workload"
)

// cellsOf are the canonical cells of the only row of a table.
func cellsOf(t *testing.T, table string) map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(question.Default()).Cells(Row{names.Header(lines[0]).Of(lines[1])}, true)
}

// rowOf is a row of these cells, by any names of their columns.
func rowOf(cells map[string]string) Row {
	header := slices.Collect(maps.Keys(cells))
	var row []string
	for _, column := range header {
		row = append(row, cells[column])
	}
	return Row{names.Header(header).Of(row)}
}

// TestMeasuredLengths: outputs that are all as long as the longest do not vary, whatever the words
// of the row are; means that a row says are half of what lengths are drawn up to, whatever its
// lengths are.
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
		b, n := rowOf(cells).protocol(workload.Lengths{Input: 3500, Output: 1500}, 8)
		if b.Spread != c.want || n.Input != c.input || n.Output != c.output {
			t.Errorf("%+v: lengths %s of %d + %d", c, b.Spread, n.Input, n.Output)
		}
	}
}

// TestCorrectedRanks: tables have Kimi-K2.5 behind vLLM on GB200 with one replica of attention,
// where its recipes have four that prefill, and 16 that decode for many clients; the note says so.
func TestCorrectedRanks(t *testing.T) {
	const head = "model,system,engine,precision,mode,isl,osl,concurrency,prefill_workers,prefill_tp,prefill_dp,prefill_moe_ep,decode_workers,decode_tp,decode_dp,decode_moe_ep,ttft_ms\n"
	for _, c := range []struct {
		row, prefillDP, decodeTP, decodeDP, sequences, note string
	}{
		{"Kimi-K2.5,gb200,vllm,fp4,disagg,8192,1024,128,1,4,1,4,4,4,1,4,1", "4", "4", "1", "16", "prefill_tp 1, prefill_dp 4"},
		{"Kimi-K2.5,gb200,vllm,fp4,disagg,1024,1024,256,1,4,1,4,1,16,1,16,1", "4", "1", "16", "", "prefill_tp 1, prefill_dp 4, decode_tp 1, decode_dp 16"},
		{"Kimi-K2.5,gb200,vllm,fp4,disagg,1024,1024,256,1,1,4,4,1,1,16,16,1", "4", "1", "16", "", ""},
		{"Kimi-K2.5,b200,vllm,fp4,disagg,1024,1024,256,1,4,1,4,1,16,1,16,1", "1", "16", "1", "", ""},
	} {
		got := cellsOf(t, head+c.row+"\n")
		if got["prefill_dp"] != c.prefillDP || got["decode_tp"] != c.decodeTP || got["decode_dp"] != c.decodeDP || got["max-num-seqs"] != c.sequences {
			t.Errorf("%s: %v", c.row, got)
		}
		if note, _ := strings.CutPrefix(got["note"], "as the recipe of the run has it: "); note != c.note {
			t.Errorf("%s: note %q", c.row, got["note"])
		}
	}
}

// TestWeights: FP8 has scales of blocks where a table says so of any product, and in the
// checkpoints of Qwen; nothing else is changed.
func TestWeights(t *testing.T) {
	for _, c := range []struct{ model, precision, dense, experts, want string }{
		{"deepseek-ai/DeepSeek-R1", "fp8", "fp8", "fp8_block", "fp8_block"}, {"meta-llama/Llama-3.1-8B-Instruct", "fp8", "fp8_block", "", "fp8_block"},
		{"meta-llama/Llama-3.1-70B", "fp8", "fp8", "fp8", "fp8"}, {"nvidia/Qwen3-32B-FP8", "fp8", "fp8", "fp8", "fp8"},
		{"Qwen/Qwen3-32B", "fp8", "fp8", "fp8", "fp8_block"}, {"Qwen/Qwen3-32B", "", "", "", ""}, {"Qwen/Qwen3-32B", "fp4", "nvfp4", "nvfp4", "fp4"},
	} {
		cells := map[string]string{"model_path": c.model, "precision": c.precision, "gemm_quant_mode": c.dense, "moe_quant_mode": c.experts}
		if got := rowOf(cells).Weights(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestWideExperts: a yes spreads experts over all ranks, where a number of them is expected.
func TestWideExperts(t *testing.T) {
	for ep, want := range map[string][2]string{"True": {"8", "1"}, "yes": {"8", "1"}, "": {"1", "8"}} {
		r := rowOf(map[string]string{"tp": "8", "dp": "8", "dp_attention": "True", "ep": ep})
		if got := [2]string{r.Get("ep"), r.Get("moe_tp")}; got != want {
			t.Errorf("%s: ep and etp are %v, want %v", ep, got, want)
		}
	}
}

// TestOneReplica: data-parallel attention of one replica, where a table says that there is one, is
// none; where it says none, all ranks have it.
func TestOneReplica(t *testing.T) {
	for dp, want := range map[string][2]string{"1": {"8", "1"}, "": {"1", "8"}, "4": {"2", "4"}} {
		r := rowOf(map[string]string{"tp": "8", "dp": dp, "dp_attention": "True"})
		if got := [2]string{r.Get("tp"), r.Get("dp")}; got != want {
			t.Errorf("dp %q: tp and dp are %v, want %v", dp, got, want)
		}
	}
}

// TestRangeRatios: any ratio that a table says counts.
func TestRangeRatios(t *testing.T) {
	for words, want := range map[string]string{
		"range ratio 1": "fixed", "range ratio 0.8": "uniform:0.8", "range ratio (0.8": "uniform:0.8", "range ratio 0.1": "uniform:0.1", "range ratio 0": "uniform:0",
		"dataset random": "uniform:0", "fixed": "fixed",
	} {
		r := Row{func(column string) string { return map[string]string{"length_spread": words}[column] }}
		if b, _ := r.protocol(workload.Lengths{Input: 100, Output: 10}, 4); b == nil || b.Spread != want {
			t.Errorf("%s: %+v, want %s", words, b, want)
		}
	}
}

// TestAcceptLength: drafts are accepted so that a step has the tokens that were counted.
func TestAcceptLength(t *testing.T) {
	said := Row{func(column string) string {
		return map[string]string{"accept_length": "2.88"}[column]
	}}
	got, err := said.acceptance([]float64{0.9}, 3, "")
	if err != nil || len(got) != 3 || math.Abs(estimate.TokensPerStep(got, 3)-2.88) > 1e-9 {
		t.Errorf("%v: %v tokens (%v)", got, estimate.TokensPerStep(got, 3), err)
	}
	if _, err := said.acceptance(nil, 1, ""); err == nil {
		t.Error("2.88 tokens of a step with one draft")
	}
	silent := Row{func(string) string { return "" }}
	if got, _ := silent.acceptance([]float64{0.8, 0.6}, 4, ""); !slices.Equal(got, []float64{0.8, 0.6, 0.6, 0.6}) {
		t.Errorf("beyond what is known: %v", got)
	}
	if got, err := silent.acceptance([]float64{0.8}, 1, "2"); err != nil || math.Abs(got[0]-1) > 1e-9 {
		t.Errorf("told that all are accepted: %v (%v)", got, err)
	}
}

// TestCountedLengths: requests of ShareGPT have the lengths that were counted: 50 · 8 tokens over 2
// requests.
func TestCountedLengths(t *testing.T) {
	r := cellsOf(t, "model,system,engine,request_rate,concurrency,isl,osl,num_gpus,tp,length_spread,output_tput_per_gpu,req_per_s,other_settings\n"+
		"meta-llama/Llama-3.1-405B-FP8,h100,vllm,4,,ShareGPT mean 215,ShareGPT,8,8,ShareGPT,50,2,\n")
	if r["isl"] != "215" || r["osl"] != "200" || r["lengths"] != "sharegpt" {
		t.Errorf("%v", r)
	}
}

// TestOfflineRows: rows of MLPerf say a model, GPUs and rates; its dataset has the lengths, its
// submissions the servers, and all of them are full. Outputs are tokens over requests: 12994.25 · 8
// / 380.336 = 273.3.
func TestOfflineRows(t *testing.T) {
	mlperf := map[string]string{"source": "MLPerf Inference v6.0 (closed)", "length_spread": "MLPerf dataset", "arrival": "all at once", "request_rate": "inf"}
	for _, c := range []struct {
		row, want map[string]string
	}{
		{
			map[string]string{"model": "llama2-70b-99", "system": "b200", "num_gpus": "8", "framework": "trtllm", "precision": "fp4", "output_tput_per_gpu": "12994.25", "req_per_s": "380.336"},
			map[string]string{
				"model": "Llama-2-70B", "isl": "222", "osl": "273", "tp": "1", "pp": "", "concurrency": "16384", "max_batch_size": "2048", "max_num_tokens": "3584",
				"cache": "fp8", "enable_chunked_prefill": "1", "requests_per_client": "0",
			},
		},
		{ // two stages: four servers
			map[string]string{"model": "llama2-70b-99.9", "system": "h100", "num_gpus": "8", "framework": "trtllm", "precision": "fp8"},
			map[string]string{"isl": "222", "osl": "294", "tp": "1", "pp": "2", "concurrency": "8192"},
		},
		{ // an engine that the row does not say
			map[string]string{"model": "llama2-70b-99", "system": "mi325x", "num_gpus": "8", "precision": "fp8"},
			map[string]string{"engine": "vllm", "tp": "1", "concurrency": "21600", "enable_chunked_prefill": ""},
		},
		{ // a burst of so many prompts
			map[string]string{"source": "other", "model": "Llama-3.1-8B", "system": "h200", "num_gpus": "1", "tp": "1", "framework": "vllm", "isl": "1024", "osl": "128", "request_rate": "inf", "num_prompts": "500", "length_spread": "fixed"},
			map[string]string{"concurrency": "500", "requests_per_client": "1"},
		},
		{ // more prompts for each client than a table has in words
			map[string]string{"source": "InferenceX", "date": "2025-12-10", "model": "DeepSeek-R1", "system": "mi355x", "num_gpus": "8", "tp": "8", "framework": "sglang", "precision": "fp8", "isl": "1024", "osl": "1024", "concurrency": "4", "num_prompts": "10 x conc", "length_spread": "random, range ratio 0.8"},
			map[string]string{"requests_per_client": "50"},
		},
		{ // fewer, which a table has counted
			map[string]string{"source": "InferenceX", "date": "2025-12-10", "model": "DeepSeek-R1", "system": "mi355x", "num_gpus": "8", "tp": "8", "framework": "sglang", "precision": "fp8", "isl": "1024", "osl": "1024", "concurrency": "4", "num_prompts": "40", "length_spread": "random, range ratio 0.8"},
			map[string]string{"requests_per_client": "10"},
		},
	} {
		cells := map[string]string{}
		if c.row["source"] == "" {
			maps.Copy(cells, mlperf)
		}
		maps.Copy(cells, c.row)
		cells = NewReader(question.Default()).Cells(rowOf(cells).Completed(), true)
		for column, want := range c.want {
			if got := cells[column]; got != want {
				t.Errorf("%s on %s: %s is %q, want %q", c.row["model"], c.row["system"], column, got, want)
			}
		}
	}
}
