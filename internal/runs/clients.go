package runs

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/internal/names"
)

// An aggregate is the agg_*.json of InferenceX, with times in seconds and the measured deployment,
// as written by utils/process_result.py of SemiAnalysisAI/InferenceX.
func isAggregate(result map[string]any) bool {
	_, hardware := result["hw"]
	_, clients := result["conc"]
	return hardware && clients
}

// usualDrafts of a step are those of most of its scripts; a result does not say.
const usualDrafts = "3"

// aggregateColumns are its keys that are columns of a table, and those.
var aggregateColumns = map[string]string{
	"model": "model", "framework": "framework", "precision": "precision", "spec_decoding": "spec", "disagg": "disagg",
	"isl": "isl", "osl": "osl", "tp": "tp", "ep": "ep", "dp_attention": "dp_attention",
	"prefill_tp": "prefill_tp", "prefill_ep": "prefill_ep", "prefill_dp_attention": "prefill_dp_attention", "prefill_num_workers": "prefill_workers", "num_prefill_gpu": "prefill_gpus",
	"decode_tp": "decode_tp", "decode_ep": "decode_ep", "decode_dp_attention": "decode_dp_attention", "decode_num_workers": "decode_workers", "num_decode_gpu": "decode_gpus",
}

func aggregate(result map[string]any) (map[string]any, map[string]string) {
	out := map[string]any{"max_concurrency": result["conc"], "model_id": result["model"]}
	// Its clients send ten requests each, of lengths from 0.8 of the nominal ones on.
	row := map[string]string{"source": "InferenceX", "lengths": "uniform:0.8", "requests_per_client": "10"}
	cells := map[string]string{}
	for key, v := range result {
		if column := aggregateColumns[key]; column != "" {
			cells[column] = textOf(result, key)
		}
		of, figure, _ := strings.Cut(key, "_")
		if seconds, ok := v.(float64); ok && (of == "mean" || of == "median" || of == "p99") {
			out[of+"_"+figure+"_ms"] = 1e3 * seconds
		}
	}
	for _, column := range []string{"model", "precision", "disagg", "isl", "osl", "prefill_workers", "decode_workers"} {
		row[column] = cells[column]
	}
	row["engine"] = strings.ToLower(cells["framework"])
	if found, ok := names.Engine(row["engine"]); ok {
		row["engine"] = found.Name
	}
	if spec := strings.ToLower(cells["spec"]); spec != "" && spec != "none" {
		row["drafts"] = usualDrafts
	}
	for _, prefix := range []string{"", "prefill_", "decode_"} {
		if s := ServerOf(func(c string) string { return cells[c] }, prefix, false); s.TP > 0 {
			s.Cells(prefix, row)
		}
	}
	// Runners are systems, with what else tells them apart behind a dash: h200-trt.
	row["system"], _, _ = strings.Cut(textOf(result, "hw"), "-")
	return out, row
}

// An export is the profile_export_aiperf.json of aiperf or the profile_export_genai_perf.json of
// its predecessor genai-perf: blocks of statistics and the client's settings
// (tests/test_exporters/test_json_exporter.py of triton-inference-server/perf_analyzer).
func isExport(result map[string]any) bool {
	for name := range exportedTimes {
		if _, ok := result[name].(map[string]any); ok {
			return true
		}
	}
	return false
}

// exportedTimes maps its blocks of times to usual names. Its inter-token latency is averaged over a
// request, so it is a TPOT.
var exportedTimes = map[string]string{"time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2el"}

// milliseconds of its units.
var milliseconds = map[any]float64{"ns": 1e-6, "us": 1e-3, "s": 1e3, "sec": 1e3}

func export(result map[string]any) map[string]any {
	out := map[string]any{}
	statistic := func(block, name string) (float64, bool) {
		of, _ := result[block].(map[string]any)
		v, err := strconv.ParseFloat(fmt.Sprint(of[name]), 64) // some are written as text
		if scale := milliseconds[of["unit"]]; scale > 0 {
			v *= scale
		}
		return v, err == nil
	}
	for block, time := range exportedTimes {
		for name, of := range map[string]string{"avg": "mean", "p50": "median", "p99": "p99"} {
			if v, ok := statistic(block, name); ok {
				out[of+"_"+time+"_ms"] = v
			}
		}
	}
	for key, blocks := range map[string][]string{
		"request_throughput": {"request_throughput"}, "completed": {"request_count"},
		"mean_input_len": {"input_sequence_length", "num_input_token"}, "mean_output_len": {"output_sequence_length", "num_output_token"},
	} {
		for _, block := range blocks {
			if v, ok := statistic(block, "avg"); ok && v > 0 {
				out[key] = v
			}
		}
	}
	config, _ := result["input_config"].(map[string]any)
	endpoint, _ := config["endpoint"].(map[string]any)
	analyzer, _ := config["perf_analyzer"].(map[string]any)
	load := config
	for _, nested := range []any{config["loadgen"], analyzer["stimulus"]} { // of aiperf, and of later genai-perf
		if settings, ok := nested.(map[string]any); ok {
			load = settings
		}
	}
	for _, names := range []any{config["model"], config["model_names"], endpoint["model_names"]} {
		if list, _ := names.([]any); len(list) > 0 {
			out["model_id"] = list[0]
		}
	}
	if rate, ok := load["request_rate"].(float64); ok {
		out["request_rate"] = rate
	} else if clients, ok := load["concurrency"].(float64); ok {
		out["max_concurrency"] = clients
	}
	return out
}
