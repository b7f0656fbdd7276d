package gap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/workload"
)

// Measured is figures of one run, and what is known of how it was made. What is 0 is not known.
type Measured struct {
	Figures  []Measurement
	Requests float64           // of each client
	Settings map[string]string // of the deployment and its load, by the names of settings
}

// Measurement is one figure.
type Measurement struct {
	Name  string  // as figures has it
	Value float64 // in its unit
}

// figure is what can be measured and predicted.
type figure struct {
	name, unit string
	// keys are its names in result files and tables, best first: of sglang.bench_serving and vLLM's bench serve, whose keys
	// differ for whole requests only, and of tables of serving runs. A median stands for a mean that is not there.
	keys []string
	// export is its name in the profile_export_aiperf.json of aiperf.
	export string
}

var figures = []figure{
	{"tpot", "ms", []string{"mean_tpot_ms", "tpot_mean_ms", "tpot_ms", "silicon_tpot_ms", "median_tpot_ms", "tpot_p50_ms", "mean_itl_ms", "itl_mean_ms", "itl_ms", "tpot", "TPOT"}, "inter_token_latency"},
	{"ttft", "ms", []string{"mean_ttft_ms", "ttft_mean_ms", "ttft_ms", "silicon_ttft_ms", "median_ttft_ms", "ttft_p50_ms", "ttft", "TTFT"}, "time_to_first_token"},
	{"e2e", "ms", []string{"mean_e2e_latency_ms", "mean_e2el_ms", "e2e_mean_ms", "e2el_mean_ms", "e2e_ms"}, "request_latency"},
	{"requests", "/s", []string{"request_throughput", "req_per_s"}, "request_throughput"},
}

// Names are what can be measured.
func Names() []string {
	var out []string
	for i := range figures {
		out = append(out, figures[i].name)
	}
	return out
}

// settingKeys are settings under the names of result files and tables.
var settingKeys = map[string][]string{
	"concurrency": {"max_concurrency", "concurrency", "clients", "Concurrency"}, // of result files the second is a mean
	"isl":         {"isl", "random_input_len", "ISL"}, "osl": {"osl", "random_output_len", "OSL"},
	"random-range-ratio": {"random_range_ratio"},
	"model":              {"model", "model_path", "Model"}, "system": {"system", "gpu", "GPU"}, "engine": {"engine", "backend", "framework", "Framework"},
	"tp": {"tp", "tp_size", "TP"}, "pp": {"pp", "pp_size", "PP"}, "dp": {"dp", "attention_dp_size", "DP"}, "ep": {"ep", "moe_ep_size", "EP"}, "moe-tp": {"moe_tp", "moe_tp_size"},
	"weights": {"weights", "precision"}, "cache": {"cache", "kv_cache"},
	"attention-backend": {"attention_backend"},
}

// ofTables are the settings that result files do not have: their backend is the protocol of the client, their model a path.
var ofTables = []string{"model", "system", "engine", "tp", "pp", "dp", "ep", "moe-tp", "weights", "cache", "attention-backend"}

// Read reads what was measured: words such as tpot=31ms,ttft=400ms, a result file of bench, of sglang.bench_serving, of vLLM's
// bench serve or of aiperf, of several results the last, or a row of a table, FILE.csv#2 being its second. FILE.jsonl#2 is the
// second result, FILE.jsonl#TAG the last with a tag.
func Read(text string) (*Measured, error) {
	file, row, _ := strings.Cut(text, "#")
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json", ".jsonl":
		src, err := document.ReadFile(file)
		if err != nil {
			return nil, document.Unreadable(file, err)
		}
		m, err := readResult(src, row)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return m, nil
	case ".csv":
		return readRow(file, row)
	}
	return parseWords(text)
}

// parseWords reads name=value with commas between.
func parseWords(text string) (*Measured, error) {
	m := &Measured{Settings: map[string]string{}}
	var errs []error
	for _, word := range question.Words(text) {
		name, value, ok := strings.Cut(word, "=")
		name = strings.TrimSpace(name)
		at := slices.Index(Names(), name)
		if !ok || at < 0 {
			errs = append(errs, errors.New(document.NotOneOf(name, Names())+"; such as tpot=31ms, or a .json, .jsonl or .csv file"))
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if figures[at].unit == "ms" {
			v, err = workload.ParseTime(value, "ms")
		}
		if err != nil || !(v > 0) || math.IsInf(v, 1) {
			errs = append(errs, fmt.Errorf("%s: %q is no measured value: a time like 31ms or 0.4s, or requests per second", name, value))
			continue
		}
		m.Figures = append(m.Figures, Measurement{name, v})
	}
	if len(errs) == 0 && len(m.Figures) == 0 {
		errs = append(errs, errors.New("is empty: what was measured, such as tpot=31ms"))
	}
	return m, errors.Join(errs...)
}

// readResult reads a result file; of several results the last, or the one that is asked for.
func readResult(src []byte, which string) (*Measured, error) {
	list, err := runs.Results(src)
	if err != nil {
		return nil, err
	}
	keys, err := choose(list, which)
	if err != nil {
		return nil, err
	}
	_, sheet := keys["framework"] // of the sheet of raw data, which says what was measured
	m := take(func(key string) string {
		switch v := keys[key].(type) {
		case float64:
			return strconv.FormatFloat(v, 'g', -1, 64)
		case string:
			return v
		}
		return ""
	}, !sheet)
	exported(m, keys)
	if len(m.Figures) == 0 {
		return nil, errors.New("none of the keys of a result file of sglang.bench_serving or vLLM's bench serve (mean_ttft_ms, mean_tpot_ms, …) or aiperf (time_to_first_token, …)")
	}
	return m, nil
}

// choose is a result by its number or its tag.
func choose(list []map[string]any, which string) (map[string]any, error) {
	if which == "" {
		return list[len(list)-1], nil
	}
	if n, err := strconv.Atoi(which); err == nil {
		if n < 1 || n > len(list) {
			return nil, fmt.Errorf("has no result %d: there are %d", n, len(list))
		}
		return list[n-1], nil
	}
	var tags []string
	for _, keys := range slices.Backward(list) {
		tag, _ := keys["tag"].(string)
		if tag == which {
			return keys, nil
		}
		if tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return nil, fmt.Errorf("has no result with the tag %s, nor any tag", which)
	}
	slices.Reverse(tags)
	return nil, errors.New("tag: " + document.NotOneOf(which, tags))
}

// exported adds what the export of aiperf has: blocks of statistics, and its own settings.
func exported(m *Measured, keys map[string]any) {
	average := func(name string) float64 {
		block, _ := keys[name].(map[string]any)
		v, _ := block["avg"].(float64)
		if block["unit"] == "sec" || block["unit"] == "s" {
			v *= 1e3
		}
		return v
	}
	for i := range figures {
		if v := average(figures[i].export); v > 0 && !m.has(figures[i].name) {
			m.Figures = append(m.Figures, Measurement{figures[i].name, v})
		}
	}
	for setting, name := range map[string]string{"isl": "input_sequence_length", "osl": "output_sequence_length"} {
		if v := average(name); v >= 1 && m.Settings[setting] == "" {
			m.Settings[setting] = strconv.Itoa(int(math.Round(v)))
		}
	}
	config, _ := keys["input_config"].(map[string]any)
	generator, _ := config["loadgen"].(map[string]any)
	if v, _ := generator["concurrency"].(float64); v >= 1 && m.Settings["concurrency"] == "" {
		m.Settings["concurrency"] = strconv.Itoa(int(v))
	}
}

func (m *Measured) has(name string) bool {
	return slices.ContainsFunc(m.Figures, func(f Measurement) bool { return f.Name == name })
}

// readRow reads a row of a table.
func readRow(file, row string) (*Measured, error) {
	n := 1
	if row != "" {
		var err error
		if n, err = strconv.Atoi(row); err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is no number of a row", file, row)
		}
	}
	f, err := csvfile.Open(file)
	if err != nil {
		return nil, document.Unreadable(file, err)
	}
	defer f.Close()
	r := csvfile.NewReader(f, csvfile.Kept)
	header, err := r.Read()
	header = slices.Clone(header)
	var cells []string
	for i := 0; i < n && err == nil; i++ {
		cells, err = r.Read()
	}
	if err == io.EOF {
		return nil, fmt.Errorf("%s: has no row %d", file, n)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	m := take(func(key string) string {
		for i, name := range header {
			if strings.TrimSpace(strings.TrimPrefix(name, "\uFEFF")) == key && i < len(cells) {
				return strings.TrimSpace(cells[i])
			}
		}
		return ""
	}, false)
	if len(m.Figures) == 0 {
		return nil, fmt.Errorf("%s: row %d has no measured time: a column such as tpot_ms or ttft_ms", file, n)
	}
	return m, nil
}

// take reads figures and settings by their keys.
func take(get func(key string) string, result bool) *Measured {
	m := &Measured{Settings: map[string]string{}}
	for i := range figures {
		for _, key := range figures[i].keys {
			if v, err := strconv.ParseFloat(get(key), 64); err == nil && v > 0 && !math.IsInf(v, 1) {
				m.Figures = append(m.Figures, Measurement{figures[i].name, v})
				break
			}
		}
	}
	number := func(key string) float64 { v, _ := strconv.ParseFloat(get(key), 64); return v }
	for setting, keys := range settingKeys {
		if result && slices.Contains(ofTables, setting) {
			continue
		}
		for _, key := range keys {
			if v := get(key); v != "" && m.Settings[setting] == "" {
				m.Settings[setting] = v
			}
		}
	}
	if ratio, ok := strings.CutPrefix(get("length_spread"), "range ratio "); ok {
		m.Settings["random-range-ratio"] = ratio
	}
	if done := number("completed"); done > 0 {
		// What was sent and came back takes the place of lengths that were asked for.
		for setting, key := range map[string]string{"isl": "total_input_tokens", "osl": "total_output_tokens"} {
			if v := number(key); v >= done && m.Settings[setting] == "" {
				m.Settings[setting] = strconv.Itoa(int(math.Round(v / done)))
			}
		}
		if c := number("max_concurrency"); c >= 1 {
			m.Requests = max(1, done/c)
		}
	}
	if done, c := number("num_prompts"), number("concurrency"); done > 0 && c >= 1 && m.Requests == 0 {
		m.Requests = max(1, done/c)
	}
	return m
}

// Fill puts what the measurement says of the deployment and its load into a question, where that is not given.
func (m *Measured) Fill(q *question.Question, given func(name string) bool) error {
	var errs []error
	for _, s := range question.Settings(question.Compare) {
		text := m.Settings[s.Name]
		if text == "" || given(s.Name) {
			continue
		}
		if s.Name == "random-range-ratio" && q.Distribution != "" {
			continue
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && s.Kind() == question.Count {
			text = strconv.Itoa(int(v))
		}
		errs = append(errs, s.Set(q, text))
	}
	return document.Join(errs...)
}
