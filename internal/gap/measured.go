package gap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/internal/validate"
	"throughline/workload"
)

// Measured is figures of one run and how it was made; 0 means unknown.
type Measured struct {
	Figures  []Measurement
	Requests float64           // of each client
	Settings map[string]string // of the deployment and its load, by setting
	Row      map[string]string // of the file it is from, by column; nil: none
}

type Measurement struct {
	Name  string  // as in figures
	Value float64 // in its unit
}

// figure can be measured and predicted.
type figure struct {
	name, unit string
	// columns are its names in tables, best first; a median replaces a missing mean.
	columns []string
}

var figures = []figure{
	{"tpot", "ms", []string{"tpot_mean_ms", "tpot_ms", "silicon_tpot_ms", "mean_tpot_ms", "tpot_p50_ms", "median_tpot_ms", "itl_mean_ms", "itl_ms", "mean_itl_ms", "tpot"}},
	{"ttft", "ms", []string{"ttft_mean_ms", "ttft_ms", "silicon_ttft_ms", "mean_ttft_ms", "ttft_p50_ms", "median_ttft_ms", "ttft"}},
	{"e2e", "ms", []string{"e2e_mean_ms", "e2el_mean_ms", "mean_e2e_latency_ms", "mean_e2el_ms", "e2e_ms"}},
	{"requests", "/s", []string{"req_per_s", "request_throughput"}},
}

// Names lists what can be measured.
func Names() []string {
	var out []string
	for i := range figures {
		out = append(out, figures[i].name)
	}
	return out
}

var settingColumns = map[string][]string{
	"concurrency": {"concurrency", "clients", runs.UnderWay, "achieved_concurrency"}, "isl": {"isl"}, "osl": {"osl"},
	"model": {"model", "model_path"}, "system": {"system", "gpu"}, "engine": {"engine", "backend", "framework"},
	"tp": {"tp", "tp_size"}, "pp": {"pp", "pp_size"}, "dp": {"dp", "attention_dp_size"}, "ep": {"ep", "moe_ep_size"}, "moe-tp": {"moe_tp", "moe_tp_size"},
	"weights": {"weights", "precision"}, "cache": {"cache", "kv_cache"},
	"attention-backend": {"attention_backend"}, "lengths": {"lengths"}, "drafts": {"drafts"}, "redundant": {"redundant_experts"}, "overlap": {"overlap"},
}

// Read reads words such as tpot=31ms,ttft=400ms, or a run of a file that runs.Row reads: FILE.csv#2
// is the second of a table, FILE.jsonl#TAG the last result with a tag.
func Read(in *files.Door, text string) (*Measured, error) {
	file, which, _ := strings.Cut(text, "#")
	if !runs.IsResult(file) && !strings.EqualFold(filepath.Ext(strings.TrimSuffix(file, ".gz")), ".csv") {
		return parseWords(text)
	}
	row, err := runs.Row(in, file, which)
	if err != nil {
		return nil, err
	}
	m := take(row)
	if len(m.Figures) == 0 {
		return nil, fmt.Errorf("%s: has no measured time: a column such as tpot_ms or ttft_ms", text)
	}
	return m, nil
}

// parseWords reads comma-separated name=value pairs.
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

func (m *Measured) has(name string) bool {
	return slices.ContainsFunc(m.Figures, func(f Measurement) bool { return f.Name == name })
}

func (m *Measured) Of(name string) float64 {
	for _, f := range m.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

// take reads figures and settings from the cells of a row.
func take(row map[string]string) *Measured {
	m := &Measured{Settings: map[string]string{}, Row: row}
	number := func(column string) float64 { v, _ := strconv.ParseFloat(row[column], 64); return v }
	for i := range figures {
		for _, column := range figures[i].columns {
			if v := number(column); v > 0 && !math.IsInf(v, 1) {
				m.Figures = append(m.Figures, Measurement{figures[i].name, v})
				break
			}
		}
	}
	for setting, columns := range settingColumns {
		for _, column := range columns {
			if m.Settings[setting] == "" {
				m.Settings[setting] = row[column]
			}
		}
	}
	if done, clients := number("num_prompts"), number("concurrency"); done > 0 && clients >= 1 {
		m.Requests = max(1, done/clients)
	}
	return m
}

// asRows are settings without a column that apply however a deployment is described.
var asRows = []string{"measured", "explain", "lengths", "random-range-ratio", "fitted", "assume", "popularity"}

// Run returns the run of a file, as validate serving reads it, with given settings replacing its
// own; nil without a file, or if a setting is given that no row has.
func (m *Measured) Run(ctx context.Context, q *question.Question, given func(name string) bool) (*validate.OneRun, error) {
	if m.Row == nil {
		return nil, nil
	}
	cells := maps.Clone(m.Row)
	n := q.Lengths()
	for setting, length := range map[string]int{"isl": n.Input, "osl": n.Output} {
		if cells[setting] == "" {
			cells[setting] = strconv.Itoa(length)
		}
	}
	for _, s := range question.Settings(question.Compare) {
		if !given(s.Name) {
			continue
		}
		columns := settingColumns[s.Name]
		if columns == nil && !slices.Contains(asRows, s.Name) {
			return nil, validate.SameModel(q.Model, m.Row[runs.ServedModel])
		}
		for i, column := range columns {
			delete(cells, column)
			if i == 0 {
				cells[column] = s.Get(q)
			}
		}
		switch s.Name {
		case "concurrency": // a closed loop, in place of a rate
			delete(cells, "request_rate")
			delete(cells, "arrival")
			delete(cells, runs.InferredClients)
		case "random-range-ratio":
			cells["lengths"] = runs.Spread(s.Get(q))
		}
	}
	query := *q
	query.Traffic.Ratio = question.DefaultOf(question.Serving).Traffic.Ratio
	return validate.ReadRun(ctx, cells, query)
}

// Fill copies what the measurement says of the deployment and its load into a question, except for
// given settings.
func (m *Measured) Fill(q *question.Question, given func(name string) bool) error {
	var errs []error
	for _, s := range question.Settings(question.Compare) {
		text := m.Settings[s.Name]
		if text == "" || given(s.Name) {
			continue
		}
		if s.Name == "lengths" && q.Traffic.Ratio != 1 {
			continue
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && s.Kind() == question.Count {
			text = strconv.Itoa(max(1, int(math.Round(v))))
		}
		errs = append(errs, s.Set(q, text))
	}
	return document.Join(errs...)
}
