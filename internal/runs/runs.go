// Package runs turns what load generators measured into rows of a table of serving runs: what was asked, what clients saw, and
// the deployment that was measured, which their result files do not say.
package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
)

// settings are what is said of a deployment, by the names of settings, and the columns that hold it. Some columns hold what a
// server was told on its command line.
var settings = []struct{ name, column, option string }{
	{"model", "model", ""}, {"system", "system", ""}, {"engine", "engine", ""},
	{"tp", "tp", ""}, {"pp", "pp", ""}, {"dp", "dp", ""}, {"ep", "ep", ""}, {"moe-tp", "moe_tp", ""}, {"replicas", "replicas", ""},
	{"weights", "precision", ""}, {"cache", "kv_cache", ""},
	{"step-tokens", told, "max-num-batched-tokens"}, {"max-running-requests", told, "max-num-seqs"},
}

// told is the column of what a server was told.
const told = "other_settings"

// Settings are the names of what is said of a deployment.
func Settings() (out []string) {
	for i := range settings {
		out = append(out, settings[i].name)
	}
	return out
}

// Deployment is words like model=Llama-3.1-8B,system=H200,tp=4, as cells by column.
func Deployment(words []string) (map[string]string, error) {
	out := map[string]string{}
	var errs []error
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		at := slices.Index(Settings(), name)
		switch {
		case at < 0:
			errs = append(errs, errors.New(document.NotOneOf(name, Settings())+"; such as model=Llama-3.1-8B,system=H200,engine=vllm,tp=4"))
			continue
		case !ok || value == "":
			errs = append(errs, fmt.Errorf("%s has no value: such as %s=…", name, name))
			continue
		}
		s := settings[at]
		if s.option != "" {
			value = strings.TrimSpace(out[s.column] + " " + s.option + "=" + value)
		}
		out[s.column] = value
	}
	return out, errors.Join(errs...)
}

// figures are the columns of what clients saw, and their keys in result files of sglang.bench_serving, bench and vLLM's bench
// serve, which names whole requests otherwise.
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

// Columns are those of a table of runs that has none yet.
func Columns() []string {
	out := []string{"began", "tag"}
	for i := range settings {
		if !slices.Contains(out, settings[i].column) {
			out = append(out, settings[i].column)
		}
	}
	out = append(out, "isl", "osl", "length_spread", "concurrency", "request_rate", "arrival", "num_prompts", "seed")
	for i := range figures {
		out = append(out, figures[i].column)
	}
	return out
}

// ErrNone is a result without any figure that is known.
var ErrNone = errors.New("none of the keys of a result file of throughline bench, sglang.bench_serving or vLLM's bench serve (mean_ttft_ms, mean_tpot_ms, …)")

// Of is the row of a result, by column.
func Of(result map[string]any) (map[string]string, error) {
	text := func(keys ...string) string {
		for _, key := range keys {
			switch v := result[key].(type) {
			case float64:
				return strconv.FormatFloat(v, 'g', -1, 64)
			case string:
				if v != "" {
					return v
				}
			}
		}
		return ""
	}
	number := func(keys ...string) float64 { v, _ := strconv.ParseFloat(text(keys...), 64); return v }
	out := map[string]string{"began": text("began", "date"), "tag": text("tag"), "num_prompts": text("completed", "num_prompts"), "seed": text("seed")}
	seen := 0
	for _, f := range figures {
		if v := number(strings.Fields(f.keys)...); v > 0 && !math.IsInf(v, 1) {
			out[f.column] = strconv.FormatFloat(rounded(v), 'g', -1, 64)
			seen++
		}
	}
	if seen == 0 {
		return nil, ErrNone
	}
	done := number("completed")
	for column, keys := range map[string][2]string{"isl": {"random_input_len", "total_input_tokens"}, "osl": {"random_output_len", "total_output_tokens"}} {
		out[column] = text(keys[0])
		if sum := number(keys[1]); out[column] == "" && done > 0 && sum >= done {
			out[column] = strconv.Itoa(int(math.Round(sum / done)))
		}
	}
	switch ratio := text("random_range_ratio"); {
	case text("random_input_len") != "" && ratio != "":
		out["length_spread"] = "range ratio " + ratio
	case strings.EqualFold(text("dataset_name"), "sharegpt"):
		out["length_spread"] = "ShareGPT"
	}
	out["concurrency"] = text("max_concurrency")
	if rate := number("request_rate"); rate > 0 && !math.IsInf(rate, 1) {
		out["request_rate"], out["arrival"] = text("request_rate"), "open loop"
	} else if out["concurrency"] == "" {
		out["concurrency"] = text("completed") // all at once
	}
	return out, nil
}

// rounded has the digits that mean something.
func rounded(v float64) float64 {
	scale := math.Pow(10, 5-math.Floor(math.Log10(v)))
	return math.Round(v*scale) / scale
}

// Results reads a result file: an object, a list of them, or one in each line.
func Results(src []byte) ([]map[string]any, error) {
	var one map[string]any
	if json.Unmarshal(src, &one) == nil {
		return []map[string]any{one}, nil
	}
	var list []map[string]any
	if json.Unmarshal(src, &list) == nil && len(list) > 0 {
		return list, nil
	}
	list = nil
	for i, line := range bytes.Split(bytes.TrimSpace(src), []byte("\n")) {
		one = nil
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("line %d: neither a JSON object nor lines of them: a result file of throughline bench, sglang.bench_serving, vLLM's bench serve or aiperf", i+1)
		}
		list = append(list, one)
	}
	return list, nil
}

// IsResult reports whether a file is one of results rather than a table.
func IsResult(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl")
}

// mostBytes of a result file; those with the details of all requests are the longest.
const mostBytes = 256 << 20

// Open opens a table of runs. Result files become one.
func Open(name string) (io.ReadCloser, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	if !IsResult(name) {
		return f, nil
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(src) > mostBytes {
		err = fmt.Errorf("has more than %d MiB", mostBytes>>20)
	}
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	text, err := table(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// table is results as a table. The results of matrix have the columns of its sheet already.
func table(src []byte) ([]byte, error) {
	list, err := Results(src)
	if err != nil {
		return nil, err
	}
	header, rows := Columns(), make([]map[string]string, len(list))
	var errs []error
	for i, result := range list {
		if rows[i] = sheetRow(result); rows[i] == nil {
			if rows[i], err = Of(result); err != nil {
				errs = append(errs, fmt.Errorf("result %d: %w", i+1, err))
			}
		}
		for column := range rows[i] {
			if !slices.Contains(header, column) {
				header = append(header, column)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.Sort(header[len(Columns()):])
	var b bytes.Buffer
	w := csvfile.NewWriter(&b)
	err = w.Write(header)
	for _, row := range rows {
		err = errors.Join(err, w.Write(cells(header, row)))
	}
	err = errors.Join(err, w.Flush())
	return b.Bytes(), err
}

// sheetRow is a result that has the columns of the sheet of raw data, in lower case; nil: it has not.
func sheetRow(result map[string]any) map[string]string {
	_, framework := result["framework"]
	_, gpu := result["gpu"]
	if !framework || !gpu {
		return nil
	}
	out := map[string]string{}
	for key, v := range result {
		switch v := v.(type) {
		case float64:
			out[key] = strconv.FormatFloat(v, 'g', -1, 64)
		case string:
			out[key] = v
		}
	}
	return out
}

func cells(header []string, row map[string]string) []string {
	out := make([]string, len(header))
	for i, column := range header {
		out[i] = row[column]
	}
	return out
}
