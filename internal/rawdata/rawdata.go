// Package rawdata is the sheet of serving benchmarks: a row per run, with how the engine was
// launched and what was seen, simulated or measured.
package rawdata

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/table"
)

// Row is a run, with a value per column; nil: unknown.
type Row []any

type Column struct {
	Name string
	Unit string
	Doc  string
	text bool
	aka  []string // in tables of measurements
}

// Source is the origin of the values of a row.
const (
	Simulated = "simulated"
	Estimated = "estimated"
	Measured  = "measured"
)

var Columns = []Column{
	{"Model", "", "name of the model", true, []string{"model", "model_path", "model_name"}},
	{"Quantization", "", "bits of weights, activations and KV cache, as W8A8 KV8; of measurements, what the table says", true, []string{"precision", "quant"}},
	{"Framework", "", "serving engine; none: a generic one", true, []string{"backend", "engine"}},
	{"Client", "", "who asked: the simulation, or the benchmark of a measurement", true, []string{"protocol"}},
	{"Version", "", "of the framework; of simulated rows, of this program", true, []string{"backend_version"}},
	{"GPU", "", "system of the decode", true, []string{"system", "hardware"}},
	{"Num GPUs", "", "GPUs of all instances", false, []string{"num_gpus", "gpus"}},
	{"ISL", "tokens", "input of a request", false, []string{"input"}},
	{"OSL", "tokens", "output of a request", false, []string{"output"}},
	{"Concurrency", "requests", "clients that wait for their answers", false, []string{"clients"}},
	{"Achieved concurrency", "requests", "requests under way on average over the run", false, nil},
	{"Max bs", "sequences", "batch of a data-parallel rank that the plan is for", false, []string{"batch_size", "batch"}},
	{"Max num tokens", "tokens", "that a step may hold", false, []string{"max_num_batched_tokens"}},
	{"Mem fraction", "", "share of the device memory that may be used", false, []string{"mem_fraction_static", "gpu_memory_utilization"}},
	{"TP", "", "tensor parallelism of the decode", false, []string{"tp_size", "decode_tp_size"}},
	{"PP", "", "pipeline stages", false, []string{"pp_size", "decode_pp_size"}},
	{"EP", "", "groups of the experts", false, []string{"moe_ep_size", "ep_size", "decode_moe_ep_size"}},
	{"DP", "", "data parallelism of attention", false, []string{"attention_dp_size", "dp_size", "decode_attention_dp_size"}},
	{"Attn", "", "kind of attention; of measurements, the backend", true, []string{"attention_backend"}},
	{"DeepGEMM", "", "of measurements: its kernels multiply. The model does not tell them from others", true, nil},
	{"DeepEP", "", "the launch arguments ask for its exchange between experts", true, nil},
	{"MTP", "tokens", "drafts of a step", false, []string{"drafts", "spec_tokens", "nextn"}},
	{"KV_cache_objs", "tokens", "objects that the KV caches of all ranks of the decode have room for; an object is the keys and values of one token in all layers, as an engine counts them when it starts (SGLang max_total_num_tokens, vLLM GPU KV cache size)", false, []string{"kv_tokens", "max_total_num_tokens"}},
	{"Output throughput", "tokens/s", "output tokens per second of all GPUs", false, []string{"output_tput", "tokens_per_s"}},
	{"TPOT", "ms", "mean time per output token", false, []string{"silicon_tpot_ms", "tpot_mean_ms", "tpot_ms"}},
	{"TTFT", "ms", "mean time to the first token", false, []string{"silicon_ttft_ms", "ttft_mean_ms", "ttft_ms"}},
	{"Source", "", "simulated, estimated (by formula: nothing was simulated) or measured", true, nil},
}

// Sheet is the columns as those of a table of rows.
var Sheet = func() (out []table.Column[Row]) {
	for i, c := range Columns {
		kind := table.Number
		if c.text {
			kind = table.Text
		}
		out = append(out, table.Column[Row]{Name: c.Name, Unit: c.Unit, Doc: c.Doc, Kind: kind, Value: func(r Row) any { return r[i] }})
	}
	return out
}()

func (r Row) Set(name string, v any) {
	r[slices.IndexFunc(Columns, func(c Column) bool { return c.Name == name })] = v
}

func NewRow() Row { return make(Row, len(Columns)) }

// plainName drops case, spaces and underscores for comparison.
func plainName(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
}

// columnOf returns the index of a column by any of its names, or -1.
func columnOf(name string) int {
	return slices.IndexFunc(Columns, func(c Column) bool {
		return slices.ContainsFunc(append([]string{c.Name}, c.aka...), func(known string) bool { return plainName(known) == plainName(name) })
	})
}

// Read reads a table of measured runs and ignores other columns; of several columns with the same
// meaning, the first non-empty one counts.
func Read(src io.Reader, name string) ([]Row, error) {
	r := csvfile.NewReader(src, csvfile.Kept)
	header, err := r.Read()
	if err != nil {
		return nil, &document.Error{Problems: []document.Problem{{File: name, Message: "no table: " + err.Error()}}}
	}
	header = slices.Clone(header) // the next row reuses it
	at := make([]int, len(header))
	known := 0
	for i, title := range header {
		if at[i] = columnOf(title); at[i] >= 0 {
			known++
		}
	}
	if known < 2 {
		return nil, &document.Error{Problems: []document.Problem{{File: name, Message: "no column of it is one of the raw data: " + strings.Join(names(), ", ")}}}
	}
	var rows []Row
	var problems []document.Problem
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &document.Error{Problems: []document.Problem{{File: name, Message: err.Error()}}}
		}
		row := NewRow()
		for i, cell := range cells {
			if i >= len(at) || at[i] < 0 || row[at[i]] != nil || strings.TrimSpace(cell) == "" {
				continue
			}
			c := &Columns[at[i]]
			if c.text {
				row[at[i]] = cell
			} else if v, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				row[at[i]] = v
			} else {
				problems = append(problems, document.Problem{File: name, Message: fmt.Sprintf("line %d: %s must be a number, not %q", r.Line(), header[i], cell)})
			}
		}
		row.Set("Source", Measured)
		rows = append(rows, row)
	}
	if len(problems) > 0 {
		return nil, &document.Error{Problems: problems}
	}
	return rows, nil
}

func names() []string {
	var out []string
	for i := range Columns {
		out = append(out, Columns[i].Name)
	}
	return out
}

func (r Row) SetText(name, text string) error {
	i := columnOf(name)
	if i < 0 {
		return errors.New(document.NotOneOf(name, names()))
	}
	if Columns[i].text {
		r[i] = text
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("must be a number, not %q", text)
	}
	r[i] = v
	return nil
}

func (r Row) Get(name string) any {
	return r[slices.IndexFunc(Columns, func(c Column) bool { return c.Name == name })]
}
