package jobfile

import (
	"throughline/internal/document"
)

// File is the runtime format. Tags drive the strict decoder, the JSON Schema and the key list in docs/formats.md.
type File struct {
	Fusion     *fusionSection `json:"pd-fusion" doc:"the same processors do prefill and decode"`
	Split      *splitSection  `json:"pd-split-request-optimal" doc:"prefill and decode on processors of their own"`
	SplitAlias *splitSection  `json:"split-request-optimal" doc:"another name of pd-split-request-optimal"`
}

// section is what both modes have in common.
type section struct {
	Models    []string      `json:"model_list" required:"true" nonempty:"true" doc:"model files"`
	Lengths   [][2]int      `json:"sequence_length_list" required:"true" nonempty:"true" range:"[1,inf)" doc:"[input, output] tokens of a request"`
	Procs     []int         `json:"num_procs_list" required:"true" nonempty:"true" range:"[1,inf)" doc:"processors in all"`
	Redundant redundancy    `json:"num_redundant_experts_config" doc:"redundant experts in decode: a number, [low, high] to search, or null for the model's"`
	Shared    *bool         `json:"deploy_shared_expert_config" doc:"every processor holds the shared experts itself in decode"`
	Drafts    *int          `json:"decode_mtp_token_config" range:"[0,inf)" doc:"tokens drafted per decode step"`
	Bytes     [][4]float64  `json:"wac_bytes_list" required:"true" nonempty:"true" doc:"bytes per element of [weights, activations, cache, communication]"`
	Types     [][3]string   `json:"flops_type_list" required:"true" nonempty:"true" enum:"float4,int4,float8,int8,float16,bfloat16,float32" doc:"number types of [matrix, attention, vector] rates"`
	Limits    [][2]*float64 `json:"time_limit_list" required:"true" nonempty:"true" range:"(0,inf)" doc:"[TTFT, TPOT] limits in ms; null: none"`
	Output    string        `json:"output" required:"true" nonempty:"true" doc:"folder of the results"`
}

type fusionSection struct {
	section
	Layouts       [][3]int `json:"parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"candidates [DP, PP, TP]; null: search"`
	ExpertLayouts [][3]int `json:"moe_parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"candidates [EP, MoE-TP, MoE-DP]; null: search"`
	Batches       [][3]int `json:"batch_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"candidates [global, number, size]; null: search"`
	Systems       []string `json:"sys_list" required:"true" nonempty:"true" doc:"system files"`
}

type splitSection struct {
	section
	Pools          [][2]int     `json:"pd_num_procs_list" null:"ok" nonempty:"true" range:"[1,inf)" doc:"[prefill, decode] processors; null: search"`
	PrefillLayouts [][3]int     `json:"p_parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"prefill candidates [DP, PP, TP]; null: search"`
	PrefillExperts [][3]int     `json:"p_moe_parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"prefill candidates [EP, MoE-TP, MoE-DP]; null: search"`
	DecodeLayouts  [][3]int     `json:"d_parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"decode candidates [DP, PP, TP]; null: search"`
	DecodeExperts  [][3]int     `json:"d_moe_parallel_config" null:"ok" nonempty:"true" range:"[1,inf)" doc:"decode candidates [EP, MoE-TP, MoE-DP]; null: search"`
	PrefillBatches [][3]int     `json:"p_micro_batch_size" null:"ok" nonempty:"true" range:"[1,inf)" doc:"prefill candidates [global, number, size]; null: search"`
	DecodeBatches  [][3]int     `json:"d_micro_batch_size" null:"ok" nonempty:"true" range:"[1,inf)" doc:"decode candidates [global, number, size]; null: search"`
	Systems        []systemPair `json:"sys_list" required:"true" nonempty:"true" doc:"[prefill, decode] system files, or one file for both"`
}

// redundancy is a number, a range, or null.
type redundancy struct {
	given     bool
	low, high int
}

func (r *redundancy) DecodeDocument(v document.Value) {
	const allowed = "must be a whole number, a range [low, high] or null, not %s"
	switch v.Kind() {
	case document.Null:
		return
	case document.Number:
		n, ok := v.Int()
		if !ok || n < 0 {
			v.Problemf("must be a whole number of at least 0, not %s", v.Describe())
			return
		}
		*r = redundancy{true, n, n}
	case document.List:
		e := v.Elements()
		if len(e) != 2 {
			v.Problemf(allowed, v.Describe())
			return
		}
		lo, okLow := e[0].Int()
		hi, okHigh := e[1].Int()
		if !okLow || !okHigh || lo < 0 || hi < lo {
			v.Problemf("must be a range [low, high] of whole numbers with 0 <= low <= high")
			return
		}
		*r = redundancy{true, lo, hi}
	default:
		v.Problemf(allowed, v.Describe())
	}
}

func (r *redundancy) DocumentSchema() map[string]any {
	n := map[string]any{"type": "integer", "minimum": 0}
	return map[string]any{"anyOf": []any{
		n,
		map[string]any{"type": "array", "items": n, "minItems": 2, "maxItems": 2},
		map[string]any{"type": "null"},
	}}
}

// systemPair is the systems of the prefill and the decode processors.
type systemPair struct{ prefill, decode string }

func (s *systemPair) DecodeDocument(v document.Value) {
	if name, ok := v.String(); ok {
		*s = systemPair{name, name}
		return
	}
	if e := v.Elements(); len(e) == 2 {
		p, okP := e[0].String()
		d, okD := e[1].String()
		if okP && okD {
			*s = systemPair{p, d}
			return
		}
	}
	v.Problemf("must be two system files [prefill, decode] or one for both, not %s", v.Describe())
}

func (s *systemPair) DocumentSchema() map[string]any {
	file := map[string]any{"type": "string", "minLength": 1}
	return map[string]any{"anyOf": []any{
		file,
		map[string]any{"type": "array", "items": file, "minItems": 2, "maxItems": 2},
	}}
}

// Schema is the JSON Schema of the runtime format.
func Schema() ([]byte, error) {
	return document.Schema("Throughline runtime", "runtime.schema.json", &File{})
}
