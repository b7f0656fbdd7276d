package rows

import (
	"maps"
	"testing"
)

// TestLayoutWords: sizes in words, of one pool and of two; numbers stay as they are.
func TestLayoutWords(t *testing.T) {
	for _, c := range []struct{ row, want map[string]string }{
		{map[string]string{"tp": "TP=4,DP=2"}, map[string]string{"tp": "4", "dp": "2"}},
		{map[string]string{"tp": "tp8"}, map[string]string{"tp": "8"}},
		{map[string]string{"layout": "DEP8"}, map[string]string{"tp": "8", "dp": "8", "ep": "8", "dp_attention": "true"}},
		{map[string]string{"layout": "TEP4"}, map[string]string{"tp": "4", "ep": "4"}},
		{map[string]string{"layout": "tp=8, ep=8, dp=8"}, map[string]string{"tp": "8", "dp": "8", "ep": "8", "dp_attention": "true"}},
		{map[string]string{"layout": "DP8+EP8"}, map[string]string{"tp": "1", "dp": "8", "ep": "8"}},
		{map[string]string{"tp": "2x TP4"}, map[string]string{"tp": "4", "instances": "2"}},
		{map[string]string{"tp": "TP4PP2"}, map[string]string{"tp": "4", "pp": "2"}},
		{map[string]string{"tp": "8", "layout": "TP4"}, map[string]string{"tp": "8"}},
		{map[string]string{"tp": "8 (EP)"}, map[string]string{"tp": "8 (EP)"}},
		{map[string]string{"disagg": "1P2D", "tp": "4"}, map[string]string{"mode": "disagg", "prefill_workers": "1", "decode_workers": "2", "prefill_tp": "4", "decode_tp": "4"}},
		{map[string]string{"disagg": "2P1D", "prefill_tp": "TP4", "decode_tp": "DEP16"}, map[string]string{
			"mode": "disagg", "prefill_workers": "2", "decode_workers": "1", "prefill_tp": "4", "decode_tp": "16", "decode_dp": "16", "decode_ep": "16", "decode_dp_attention": "true"}},
	} {
		r := Row{func(column string) string { return c.row[column] }}.laidOut()
		got := map[string]string{}
		for _, pool := range pools {
			for _, column := range []string{"tp", "dp", "pp", "ep", "moe_tp", "dp_attention", "workers", "instances", "mode"} {
				if text := r.Cell(pool + column); text != "" && (c.want[pool+column] != "" || pool != "" || column != "tp") {
					got[pool+column] = text
				}
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%v is %v, want %v", c.row, got, c.want)
		}
	}
}

// TestLengthsTogether: both lengths in one column, and the format of the cache behind the weights'.
func TestLengthsTogether(t *testing.T) {
	cells := map[string]string{"isl_osl": "1k/8k", "weights": "BF16 + FP8 KV", "request_rate": "10 req/s", "concurrency": "N/A"}
	r := Row{func(column string) string { return cells[column] }}
	for column, want := range map[string]string{"isl": "1024", "osl": "8192", "cache": "fp8", "weights": "bf16", "request_rate": "10", "concurrency": ""} {
		if got := r.Get(column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
}

// TestCountedDrafts: the tokens of a step behind the name of the drafts; the version of a product
// around an engine is none of the engine.
func TestCountedDrafts(t *testing.T) {
	for spec, want := range map[string]int{"MTP": usualDrafts, "MTP-1": 1, "nextn 2": 2, "mtp3": 3, "none": 0} {
		r := rowOf(map[string]string{"spec": spec, "spec_tokens": map[bool]string{true: "", false: "4"}[spec == "MTP"]})
		if got, err := r.drafts("vllm", ""); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", spec, got, err, want)
		}
	}
	for _, c := range [][4]string{{"llm-d", "0.3.1", "vllm", ""}, {"llm-d", "vLLM 0.10.2", "vllm", "0.10.2"}, {"vLLM", "v0.10.1.1", "vllm", "0.10.1.1"}, {"TGI", "2.4", "vllm", ""}} {
		if name, version := rowOf(map[string]string{"engine": c[0], "version": c[1]}).engine(); name != c[2] || version != c[3] {
			t.Errorf("%v: %s %s", c, name, version)
		}
	}
}
