package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Figures of a run by the keys of sglang.bench_serving's result file; unknown ones are absent.
type Figures map[string]float64

// printedLabels are lines of sglang.bench_serving, vllm bench serve and trtllm-bench, in lower
// case.
var printedLabels = map[string]string{
	"successful requests": "completed", "failed requests": "failed",
	"benchmark duration (s)": "duration",
	"total input tokens":     "total_input_tokens", "total generated tokens": "total_output_tokens",
	"request throughput (req/s)": "request_throughput", "request throughput (req/sec)": "request_throughput",
	"input token throughput (tok/s)":  "input_throughput",
	"output token throughput (tok/s)": "output_throughput", "total output throughput (tokens/sec)": "output_throughput",
	"total token throughput (tok/s)": "total_throughput", "total token throughput (tokens/sec)": "total_throughput",
	"concurrency":             "concurrency",
	"max request concurrency": "max_concurrency", "maximum request concurrency": "max_concurrency",
	"average request latency (ms)":              "mean_e2e_latency_ms",
	"average time-to-first-token [ttft] (ms)":   "mean_ttft_ms",
	"average time-per-output-token [tpot] (ms)": "mean_tpot_ms",
}

var (
	printedLine = regexp.MustCompile(`(?m)^[ \t]*([A-Za-z][^:\r\n]*?):[ \t]+([0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?)[ \t\r]*$`)
	printedTime = regexp.MustCompile(`^(mean|median|std|max|p[0-9.]+) (ttft|tpot|itl|e2e latency|e2el) \(ms\)$`)
)

// ReadPrinted finds the figures in the output of a benchmark; of several runs those of the last.
func ReadPrinted(text string) Figures {
	out := Figures{}
	for _, m := range printedLine.FindAllStringSubmatch(text, -1) {
		label := strings.ToLower(m[1])
		key := printedLabels[label]
		if t := printedTime.FindStringSubmatch(label); t != nil {
			figure := t[2]
			if strings.HasPrefix(figure, "e2e") {
				figure = "e2e_latency"
			}
			key = t[1] + "_" + figure + "_ms"
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64); key != "" && err == nil {
			out[key] = v
		}
	}
	return out.known()
}

// resultAliases are keys of vllm bench serve with other names.
var resultAliases = map[string]string{"total_token_throughput": "total_throughput", "mean_e2el_ms": "mean_e2e_latency_ms"}

// ReadResult reads a result file of sglang.bench_serving or vllm bench serve: an object, or lines
// of them, of which the last counts.
func ReadResult(src []byte) (Figures, error) {
	var keys map[string]any
	if json.Unmarshal(src, &keys) != nil {
		lines := bytes.Split(bytes.TrimSpace(src), []byte("\n"))
		if json.Unmarshal(lines[len(lines)-1], &keys) != nil {
			return nil, errors.New("neither a JSON object nor lines of them")
		}
	}
	out := Figures{}
	for key, v := range keys {
		if other, ok := resultAliases[key]; ok {
			key = other
		}
		if x, ok := v.(float64); ok {
			out[key] = x
		}
	}
	if out = out.known(); out == nil {
		return nil, errors.New("has none of the keys of a benchmark: output_throughput, mean_ttft_ms, mean_tpot_ms, mean_itl_ms, …")
	}
	return out, nil
}

// known is the figures if any says how fast a server is; else nil.
func (f Figures) known() Figures {
	for _, key := range []string{"output_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms"} {
		if _, ok := f[key]; ok {
			return f
		}
	}
	return nil
}

// TPOT is the mean time per output token in ms, or else the inter-token latency.
func (f Figures) TPOT() (float64, bool) {
	if v, ok := f["mean_tpot_ms"]; ok {
		return v, true
	}
	v, ok := f["mean_itl_ms"]
	return v, ok
}

// Lengths are the mean input and output tokens of a request.
func (f Figures) Lengths() (input, output float64, ok bool) {
	n := f["completed"]
	if !(n > 0) || f["total_input_tokens"] == 0 || f["total_output_tokens"] == 0 {
		return 0, 0, false
	}
	return f["total_input_tokens"] / n, f["total_output_tokens"] / n, true
}

// Achieved is the mean concurrency: as printed, or by Little's law.
func (f Figures) Achieved() (float64, bool) {
	if v, ok := f["concurrency"]; ok {
		return v, true
	}
	v := f["request_throughput"] * f["mean_e2e_latency_ms"] / 1e3
	return v, v > 0 && !math.IsInf(v, 0)
}
