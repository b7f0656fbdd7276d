package lab

import (
	"testing"

	"throughline/internal/rows"
)

// TestSentences: what authors wrote in words, in the columns of runs; what they say of other
// workloads is not meant.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		row          map[string]string
		column, want string
	}{
		{map[string]string{"arrival": "burst: all prompts at t=0 (rate inf, no cap)"}, "request_rate", "inf"},
		{map[string]string{"arrival": "burst of 10 prompts"}, "num_prompts", "10"},
		{map[string]string{"arrival": "guidellm constant rate 8 req/s", "request_rate": "8"}, "arrival", "constant"},
		{map[string]string{"arrival": "open loop, gamma burstiness=4.0 (near-constant spacing)"}, "arrival", "gamma:0.5"},
		{map[string]string{"arrival": "closed loop, max concurrency 4, request-rate inf"}, "concurrency", "4"},
		{map[string]string{"arrival": "open loop Poisson", "concurrency": "12", "request_rate": "3"}, "concurrency", ""},
		{map[string]string{"other_settings": "max-num-seqs 256; x"}, "max-num-seqs", "256"},
		{map[string]string{"other_settings": "launch: vllm serve m -tp 2 -pp 4 --max-num-batched-tokens 4096", "pp": "1"}, "pp", "4"},
		{map[string]string{"other_settings": "launch: vllm serve m --max-num-batched-tokens=4096"}, "max-num-batched-tokens", "4096"},
		{map[string]string{"other_settings": "accept length 2.88; x"}, "accept_length", "2.88"},
		{map[string]string{"other_settings": "x; accelerator=NVIDIA H200-NVL-141GB; nodes=1", "system": "h200"}, "system", "H200-NVL"},
		{map[string]string{"other_settings": "accelerator=NVIDIA H200-SXM-141GB; nodes=1", "system": "h200"}, "system", "h200"},
		{map[string]string{"other_settings": "accelerator=AMD Instinct MI355X 288GB HBM3e (Power Cap 1000 W); nodes=1"}, "power-limit", "1000"},
		{map[string]string{"other_settings": "llm-d; replicas=2"}, "instances", "2"},
		{map[string]string{"other_settings": "flags: --tp 1 --attention-backend triton --x"}, "attention-backend", "triton"},
		{map[string]string{"other_settings": "for images add --attention-backend triton"}, "attention-backend", ""},
		{map[string]string{"other_settings": "flags: --moe-a2a-backend=deepep --host 0.0.0.0"}, "ep", "yes"},
		{map[string]string{"other_settings": "flags: --moe-a2a-backend none"}, "ep", ""},
		{map[string]string{"length_spread": "Mooncake-format trace (median ISL/OSL), KV reuse 90%"}, "prefix_hit", "0.90"},
	} {
		row := withSentences(rows.Row{Cell: func(column string) string { return c.row[column] }})
		if got := row.Cell(c.column); got != c.want {
			t.Errorf("%v: %s is %q, want %q", c.row, c.column, got, c.want)
		}
	}
}
