package result

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"throughline/internal/table"
)

// LongVersion is that of the long table. It changes when a field goes or changes its name, type,
// unit or meaning, but not when one is added.
const LongVersion = 1

// kinds lists the fields that are not real numbers, by their names without the prefix of a phase.
var kinds = map[table.Kind][]string{
	table.Count: {
		"schema", "run", "seq_size", "out_size", "num_procs", "spare_procs", "procs_per_instance", "num_npu", "dp", "tp", "pp", "cp", "sp", "moe_dp", "moe_tp", "ep",
		"microbatchsize", "attn_microbatchsize", "mtp_token", "moe_redundant_expert_num", "instances", "concurrency", "cached_tokens", "context", "cards", "sequences", "simulated_requests", "simulated_runs",
	},
	table.Text: {
		"mode", "reason", "model_name", "assumptions", "throughline_version", "input_hash", "pd_ratio", "bottleneck", "engine", "system", "trust",
		"system_name", "flops_type", "confidence", "plan", "plans", "bound", "bound_by", "breaks_first", "power_origin", "price",
	},
	table.Flag: {"use_flash_attn", "deploy_shared_expert_for_each_npu", "fits", "holds"},
}

func (f *Field) Kind() table.Kind {
	name := f.Name
	for _, prefix := range append([]string{rowPrefix}, prefixes[:]...) {
		name = strings.TrimPrefix(name, prefix)
	}
	for k, names := range kinds {
		if slices.Contains(names, name) {
			return k
		}
	}
	return table.Number
}

// Columns returns fields as columns; their names include units.
func Columns(fields []*Field) []table.Column[*Record] {
	out := make([]table.Column[*Record], len(fields))
	for i, f := range fields {
		out[i] = table.Column[*Record]{Name: f.Name, Doc: f.Doc, Kind: f.Kind(), Value: f.Value}
	}
	return out
}

var jsonTypes = map[table.Kind]string{table.Number: "number", table.Count: "integer", table.Text: "string", table.Flag: "boolean"}

// Schema is the JSON Schema of a row of the long table: all columns in order, including optional
// ones, and the axes among some categories.
func Schema(with ...Category) ([]byte, error) {
	type column struct {
		Description string    `json:"description"`
		Type        [2]string `json:"type"`
		Unit        Unit      `json:"unit,omitempty"`
		Category    Category  `json:"category"`
	}
	head := struct {
		Schema  string `json:"$schema"`
		Title   string `json:"title"`
		Version int    `json:"version"`
		Type    string `json:"type"`
	}{"https://json-schema.org/draft/2020-12/schema", "A row of the long table of throughline run", LongVersion, "object"}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	add := func(v any) error {
		err := enc.Encode(v)
		b.Truncate(b.Len() - 1) // the new line
		return err
	}
	if err := add(head); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(`,"properties":{`)
	for i, f := range Long(append(with, OpDetails)...) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := add(f.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := add(column{f.Doc, [2]string{jsonTypes[f.Kind()], "null"}, f.Unit, f.Category}); err != nil {
			return nil, err
		}
	}
	b.WriteString("}}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	return append(out.Bytes(), '\n'), err
}
