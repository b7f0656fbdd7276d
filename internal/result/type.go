package result

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// LongVersion is that of the long table. Fields may be added under the same version; another one means that a field has gone,
// or has another name, type, unit or meaning.
const LongVersion = 1

// Type is what the values of a field are. Any may be absent.
type Type string

const (
	Number Type = "number" // with a fraction
	Count  Type = "count"  // whole
	Text   Type = "text"
	Flag   Type = "flag" // true or false
)

// types are those of the fields that are no numbers, by their names without the prefix of a phase.
var types = map[Type][]string{
	Count: {
		"schema", "run", "seq_size", "out_size", "num_procs", "spare_procs", "procs_per_instance", "num_npu", "dp", "tp", "pp", "cp", "sp", "moe_dp", "moe_tp", "ep",
		"microbatchsize", "attn_microbatchsize", "mtp_token", "moe_redundant_expert_num", "instances", "concurrency", "cached_tokens", "context", "cards", "sequences", "simulated_requests", "simulated_runs",
	},
	Text: {
		"mode", "reason", "model_name", "assumptions", "throughline_version", "input_hash", "pd_ratio", "bottleneck", "engine", "system", "trust",
		"system_name", "flops_type", "confidence", "plan", "plans", "bound", "bound_by", "breaks_first",
	},
	Flag: {"use_flash_attn", "deploy_shared_expert_for_each_npu", "fits", "holds"},
}

// Type is what the values of the field are.
func (f *Field) Type() Type {
	name := f.Name
	for _, prefix := range append([]string{rowPrefix}, prefixes[:]...) {
		name = strings.TrimPrefix(name, prefix)
	}
	for t, names := range types {
		if slices.Contains(names, name) {
			return t
		}
	}
	return Number
}

// jsonTypes are what the types are called in JSON.
var jsonTypes = map[Type]string{Number: "number", Count: "integer", Text: "string", Flag: "boolean"}

// Schema is the JSON Schema of a row of the long table: all columns in their order, those that are there on request included.
func Schema() ([]byte, error) {
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
	for i, f := range Long(OpDetails) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := add(f.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := add(column{f.Doc, [2]string{jsonTypes[f.Type()], "null"}, f.Unit, f.Category}); err != nil {
			return nil, err
		}
	}
	b.WriteString("}}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	return append(out.Bytes(), '\n'), err
}
