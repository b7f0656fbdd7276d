package result

import (
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
		"microbatchsize", "attn_microbatchsize", "mtp_token", "moe_redundant_expert_num", "instances", "concurrency", "cached_tokens", "context", "cards", "sequences",
	},
	Text: {
		"mode", "reason", "model_name", "assumptions", "throughline_version", "input_hash", "pd_ratio", "bottleneck", "engine", "system", "trust",
		"system_name", "flops_type", "confidence", "plan", "plans", "bound", "bound_by",
	},
	Flag: {"use_flash_attn", "deploy_shared_expert_for_each_npu", "fits"},
}

// Type is what the values of the field are.
func (f *Field) Type() Type {
	name := f.Name
	for _, prefix := range prefixes {
		name = strings.TrimPrefix(name, prefix)
	}
	for t, names := range types {
		if slices.Contains(names, name) {
			return t
		}
	}
	return Number
}

// Schema is the long table as a document: its version and all columns, those that are there on request included.
func Schema() ([]byte, error) {
	type column struct {
		Name     string   `json:"name"`
		Type     Type     `json:"type"`
		Unit     Unit     `json:"unit,omitempty"`
		Category Category `json:"category"`
		Doc      string   `json:"doc"`
	}
	out := struct {
		Version int      `json:"version"`
		Columns []column `json:"columns"`
	}{Version: LongVersion}
	for _, f := range Long(OpDetails) {
		out.Columns = append(out.Columns, column{f.Name, f.Type(), f.Unit, f.Category, f.Doc})
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(out)
	return []byte(b.String()), err
}
