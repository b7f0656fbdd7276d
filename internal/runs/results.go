package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/number"
	"throughline/workload"
)

// figures are the columns of what clients saw, with their keys in result files of
// sglang.bench_serving, bench and vLLM's bench serve, which has another name for whole requests.
var figures = func() (out []struct{ column, keys string }) {
	for _, f := range []struct{ column, keys string }{{"ttft", "ttft"}, {"tpot", "tpot"}, {"itl", "itl"}, {"e2e", "e2e_latency e2el"}} {
		for _, of := range [][2]string{{"mean", "mean"}, {"p50", "median"}, {"p99", "p99"}} {
			var keys []string
			for _, key := range strings.Fields(f.keys) {
				keys = append(keys, of[1]+"_"+key+"_ms")
			}
			out = append(out, struct{ column, keys string }{f.column + "_" + of[0] + "_ms", strings.Join(keys, " ")})
		}
	}
	return append(out, struct{ column, keys string }{"req_per_s", "request_throughput"})
}()

// ErrNone is a result without any figure that is known.
var ErrNone = errors.New("none of the keys of a result file of throughline bench, sglang.bench_serving or vLLM's bench serve (mean_ttft_ms, mean_tpot_ms, …), aiperf or genai-perf (time_to_first_token, …) or InferenceX (mean_ttft, …)")

// Columns of what a result file says besides those of Columns.
const (
	// ServedModel is the model name that the client asked for, which the server chose.
	ServedModel = "served_model"
	// UnderWay is the requests under way on average, by Little's law.
	UnderWay = "under_way"
	// InferredClients says that the clients were not in the file, and are those requests.
	InferredClients = "inferred_clients"
)

// Of is the row of a result, by column: what was asked, when requests came, and what clients saw.
func Of(result map[string]any) (map[string]string, error) {
	result, out := named(result)
	text := func(keys ...string) string { return textOf(result, keys...) }
	number := func(keys ...string) float64 { v, _ := strconv.ParseFloat(text(keys...), 64); return v }
	for column, keys := range map[string][]string{"began": {"began", "date"}, "tag": {"tag"}, "num_prompts": {"completed", "num_prompts"}, "seed": {"seed"}, ServedModel: {"model_id", "model"}} {
		if out[column] == "" {
			out[column] = text(keys...)
		}
	}
	seen := 0
	for _, f := range figures {
		if v := number(strings.Fields(f.keys)...); v > 0 && !math.IsInf(v, 1) {
			out[f.column] = rounded(v)
			seen++
		}
	}
	if seen == 0 {
		return nil, ErrNone
	}
	lengths(out, text, number)
	out["concurrency"] = text("max_concurrency")
	underWay := number("request_throughput") * latency(out) / 1e3
	if done, duration := number("completed"), number("duration"); done > 0 && duration > 0 {
		underWay = done * latency(out) / 1e3 / duration
	}
	if underWay > 0 {
		out[UnderWay] = rounded(underWay)
	}
	_, says := result["request_rate"]
	switch rate := number("request_rate"); {
	case rate > 0 && !math.IsInf(rate, 1):
		out["request_rate"] = text("request_rate")
		if shape := number("burstiness"); shape > 0 && shape != 1 { // of a gamma distribution, as vLLM has it
			out["arrival"] = "gamma:" + strconv.FormatFloat(1/math.Sqrt(shape), 'g', -1, 64)
		}
	case out["concurrency"] != "":
	case says && text("completed") != "":
		out["concurrency"] = text("completed") // all at once
	case underWay > 0:
		out["concurrency"], out[InferredClients] = strconv.Itoa(int(math.Max(1, math.Round(underWay)))), "yes"
	}
	return out, nil
}

// lengths are those of prompts and outputs as drawn if the file has them, else the means of what
// was sent and received. Means do not tell how lengths were spread.
func lengths(out map[string]string, text func(...string) string, number func(...string) float64) {
	dataset := strings.ToLower(text("dataset_name"))
	drawn := dataset == "" || strings.HasPrefix(dataset, "random") // others have the options of random as well, at their defaults
	done := number("completed")
	for column, keys := range map[string][3]string{"isl": {"random_input_len", "total_input_tokens", "mean_input_len"}, "osl": {"random_output_len", "total_output_tokens", "mean_output_len"}} {
		if out[column] != "" {
			continue
		}
		mean := number(keys[2])
		if sum := number(keys[1]); done > 0 && sum >= done {
			mean = sum / done
		}
		if length := text(keys[0]); drawn && length != "" {
			out[column] = length
		} else if mean >= 1 {
			out[column] = strconv.Itoa(int(math.Round(mean)))
		}
	}
	switch ratio := text("random_range_ratio"); {
	case out["source"] != "": // whose lengths are known
	case drawn && text("random_input_len") != "" && ratio != "":
		out["lengths"] = Spread(ratio)
	case dataset == "sharegpt":
		out["lengths"] = workload.ShareGPT
	case out["isl"] != "":
		out["lengths"] = "fixed"
	}
}

// Spread is the distribution of lengths drawn between a share of the nominal ones and all of them.
func Spread(ratio string) string {
	if v, err := strconv.ParseFloat(ratio, 64); err == nil && v >= 1 {
		return "fixed"
	}
	return "uniform:" + ratio
}

// latency is the mean time of a whole request in ms, summed from its parts if needed; 0: unknown.
func latency(out map[string]string) float64 {
	number := func(column string) float64 { v, _ := strconv.ParseFloat(out[column], 64); return v }
	if v := number("e2e_mean_ms"); v > 0 {
		return v
	}
	first, each, n := number("ttft_mean_ms"), number("tpot_mean_ms"), number("osl")
	if first > 0 && each > 0 && n >= 1 {
		return first + (n-1)*each
	}
	return 0
}

// named converts any client's result to the keys of sglang.bench_serving and vLLM's bench serve,
// and returns what it says of the deployment by column.
func named(result map[string]any) (map[string]any, map[string]string) {
	switch {
	case isAggregate(result):
		return aggregate(result)
	case isExport(result):
		return export(result), map[string]string{}
	}
	return result, map[string]string{}
}

// textOf is the first of some keys that has a value, as text.
func textOf(result map[string]any, keys ...string) string {
	for _, key := range keys {
		switch v := result[key].(type) {
		case float64:
			return strconv.FormatFloat(v, 'g', -1, 64)
		case bool:
			return strconv.FormatBool(v)
		case string:
			if v != "" {
				return v
			}
		}
	}
	return ""
}

// rounded writes the digits that mean something.
func rounded(v float64) string { return strconv.FormatFloat(number.Round(v, 6), 'g', -1, 64) }

// Results reads a result file: an object, a list of them, or one in each line.
func Results(src []byte) ([]map[string]any, error) {
	if list, err := results(src); err == nil {
		return list, nil
	}
	return results(document.WithoutPython(src)) // sglang.bench_serving has "request_rate": Infinity
}

func results(src []byte) ([]map[string]any, error) {
	var one map[string]any
	if json.Unmarshal(src, &one) == nil && one != nil {
		return []map[string]any{one}, nil
	}
	var list []map[string]any
	if json.Unmarshal(src, &list) == nil && len(list) > 0 {
		return list, nil
	}
	list = nil
	for i, line := range bytes.Split(bytes.TrimSpace(src), []byte("\n")) {
		one = nil
		if err := json.Unmarshal(line, &one); err != nil || one == nil {
			return nil, fmt.Errorf("line %d: neither a JSON object nor lines of them: a result file of throughline bench, sglang.bench_serving, vLLM's bench serve, aiperf, genai-perf or InferenceX", i+1)
		}
		list = append(list, one)
	}
	return list, nil
}
