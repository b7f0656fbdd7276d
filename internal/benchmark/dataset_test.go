package benchmark

import (
	"maps"
	"testing"

	"throughline/internal/question"
)

// TestOfflineRows: rows of MLPerf say a model, GPUs and rates; its dataset has the lengths, its submissions the servers, and all of
// them are full. Outputs are tokens over requests: 12994.25 · 8 / 380.336 = 273.3.
func TestOfflineRows(t *testing.T) {
	mlperf := map[string]string{"source": "MLPerf Inference v6.0 (closed)", "length_spread": "MLPerf dataset", "arrival": "all at once", "request_rate": "inf"}
	for _, c := range []struct {
		row, want map[string]string
	}{
		{
			map[string]string{"model": "llama2-70b-99", "system": "b200", "num_gpus": "8", "framework": "trtllm", "precision": "fp4", "output_tput_per_gpu": "12994.25", "req_per_s": "380.336"},
			map[string]string{
				"model": "Llama-2-70B", "isl": "222", "osl": "273", "tp": "1", "pp": "", "concurrency": "16384", "max_running_requests": "2048", "step_tokens": "3584",
				"cache": "fp8", "chunked_prefill": "1", "requests_per_client": "0",
			},
		},
		{ // two stages: four servers
			map[string]string{"model": "llama2-70b-99.9", "system": "h100", "num_gpus": "8", "framework": "trtllm", "precision": "fp8"},
			map[string]string{"isl": "222", "osl": "294", "tp": "1", "pp": "2", "concurrency": "8192"},
		},
		{ // an engine that the row does not say
			map[string]string{"model": "llama2-70b-99", "system": "mi325x", "num_gpus": "8", "precision": "fp8"},
			map[string]string{"engine": "vllm", "tp": "1", "concurrency": "21600", "chunked_prefill": ""},
		},
		{ // a burst of so many prompts
			map[string]string{"source": "other", "model": "Llama-3.1-8B", "system": "h200", "num_gpus": "1", "tp": "1", "framework": "vllm", "isl": "1024", "osl": "128", "request_rate": "inf", "num_prompts": "500", "length_spread": "fixed"},
			map[string]string{"concurrency": "500", "requests_per_client": "1"},
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
