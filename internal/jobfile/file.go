package jobfile

import (
	"throughline/engine"
	"throughline/internal/document"
)

// File is the runtime format. Tags drive the strict decoder, the JSON Schema and the key list in
// docs/formats.md. The bounds are far above any deployment; they keep products of counts from
// overflowing.
type File struct {
	Fusion     *fusionSection `json:"pd-fusion" doc:"the same GPUs do prefill and decode"`
	Split      *splitSection  `json:"pd-split-request-optimal" doc:"prefill and decode on GPUs of their own"`
	SplitAlias *splitSection  `json:"split-request-optimal" doc:"another name of pd-split-request-optimal"`
}

// section is what both modes have in common.
type section struct {
	Models           []string      `json:"model_list" required:"true" nonempty:"true" doc:"model files"`
	Lengths          [][2]int      `json:"sequence_length_list" required:"true" nonempty:"true" range:"[1,1e9]" form:"[input, output]" doc:"[input, output] tokens of a request"`
	Procs            []int         `json:"num_procs_list" required:"true" nonempty:"true" range:"[1,1000000]" doc:"GPUs in all"`
	Redundant        redundancy    `json:"num_redundant_experts_config" doc:"redundant experts in decode: a number, [low, high] to search, or null for the model's"`
	Shared           *bool         `json:"deploy_shared_expert_config" doc:"every GPU holds the shared experts itself in decode"`
	Drafts           drafts        `json:"decode_mtp_token_config" doc:"tokens drafted per decode step: a number, [low, high] to search, or null to search all that acceptance rates are known for; absent: 0"`
	Acceptance       []float64     `json:"decode_mtp_acceptance_config" null:"ok" nonempty:"true" range:"[0,1]" doc:"share of the drafted tokens that are accepted, by position in the draft"`
	SequenceParallel *bool         `json:"sequence_parallel_config" doc:"spread norms and residuals over the tensor-parallel ranks"`
	Bytes            [][4]float64  `json:"wac_bytes_list" required:"true" nonempty:"true" form:"[weights, activations, cache, communication]" doc:"bytes per element of [weights, activations, cache, communication]"`
	Types            [][3]string   `json:"flops_type_list" required:"true" nonempty:"true" form:"[matrix, attention, vector]" enum:"float4,int4,float8,int8,float16,bfloat16,float32" doc:"number types of [matrix, attention, vector] rates"`
	Limits           [][2]*float64 `json:"time_limit_list" required:"true" nonempty:"true" range:"[1e-6,1e12]" form:"[TTFT, TPOT]" unit:"ms" doc:"[TTFT, TPOT] limits in ms; null: none"`
	Search           string        `json:"search" null:"ok" enum:"plan" doc:"plan: search what the command plan searches, and take its first row; null: search the candidates of this file, behind an engine that takes no time"`
	Engine           engineName    `json:"engine" doc:"with search plan: the engine to run on; any: the best of them for each deployment; none: one that takes no time"`
	Output           string        `json:"output" required:"true" nonempty:"true" doc:"folder of the results"`
}

type fusionSection struct {
	section
	Layouts       [][3]int     `json:"parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[DP, PP, TP]" doc:"candidates [DP, PP, TP]; null: search"`
	ExpertLayouts [][3]int     `json:"moe_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[EP, MoE-TP, MoE-DP]" doc:"candidates [EP, MoE-TP, MoE-DP]; null: search"`
	Batches       [][3]int     `json:"batch_config" null:"ok" nonempty:"true" range:"[1,1e9]" form:"[global, number, size]" doc:"candidates [global, number, size]; null: search"`
	Systems       []systemName `json:"sys_list" required:"true" nonempty:"true" doc:"system files"`
}

type splitSection struct {
	section
	Pools           [][2]int     `json:"pd_num_procs_list" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[prefill, decode]" doc:"[prefill, decode] GPUs; null: search"`
	PrefillLayouts  [][3]int     `json:"p_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[DP, PP, TP]" doc:"prefill candidates [DP, PP, TP]; null: search"`
	PrefillExperts  [][3]int     `json:"p_moe_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[EP, MoE-TP, MoE-DP]" doc:"prefill candidates [EP, MoE-TP, MoE-DP]; null: search"`
	DecodeLayouts   [][3]int     `json:"d_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[DP, PP, TP]" doc:"decode candidates [DP, PP, TP]; null: search"`
	DecodeExperts   [][3]int     `json:"d_moe_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" form:"[EP, MoE-TP, MoE-DP]" doc:"decode candidates [EP, MoE-TP, MoE-DP]; null: search"`
	PrefillContexts []int        `json:"p_context_parallel_config" null:"ok" nonempty:"true" range:"[1,1000000]" doc:"parts the context is cut into in prefill (ring attention), candidates; null: 1"`
	PrefillBatches  [][3]int     `json:"p_micro_batch_size" null:"ok" nonempty:"true" range:"[1,1e9]" form:"[global, number, size]" doc:"prefill candidates [global, number, size]; null: search"`
	DecodeBatches   [][3]int     `json:"d_micro_batch_size" null:"ok" nonempty:"true" range:"[1,1e9]" form:"[global, number, size]" doc:"decode candidates [global, number, size]; null: search"`
	Systems         []systemPair `json:"sys_list" required:"true" nonempty:"true" doc:"[prefill, decode] system files, or one file for both"`
}

// engineName is the engine of a plan; empty: any.
type engineName string

func (e *engineName) DecodeDocument(v document.Value) {
	name, ok := v.String()
	if !ok {
		v.Problemf("must be the name of an engine, not %s", v.Describe())
	} else if _, err := engine.Choices(name); err != nil {
		v.Problemf("%s", err)
	}
	*e = engineName(name)
}

func (e *engineName) DocumentSchema() map[string]any {
	return map[string]any{"type": "string", "enum": engine.Names()}
}

// numbers is an integer or a range.
type numbers struct {
	given     bool
	low, high int
}

// decode reads a number, a range [low, high] or null, with numbers up to most.
func (n *numbers) decode(v document.Value, most int) {
	e := v.Elements()
	one := func(v document.Value) (int, bool) {
		n, ok := v.Int()
		if !ok || n < 0 || n > most {
			v.Problemf("must be a whole number of at least 0 and at most %d, not %s", most, v.Describe())
			return 0, false
		}
		return n, true
	}
	switch {
	case v.Kind() == document.Null:
	case v.Kind() == document.Number:
		if x, ok := one(v); ok {
			*n = numbers{true, x, x}
		}
	case v.Kind() == document.List && len(e) == 2:
		low, okLow := one(e[0])
		high, okHigh := one(e[1])
		switch {
		case !okLow || !okHigh:
		case low > high:
			v.Problemf("must be a range [low, high], but %d is more than %d", low, high)
		default:
			*n = numbers{true, low, high}
		}
	case v.Kind() == document.List:
		v.Problemf("must be a whole number, a range [low, high] or null, not a list of %d", len(e))
	default:
		v.Problemf("must be a whole number, a range [low, high] or null, not %s", v.Describe())
	}
}

func numbersSchema(most int) map[string]any {
	n := map[string]any{"type": "integer", "minimum": 0, "maximum": most}
	return map[string]any{"anyOf": []any{
		n,
		map[string]any{"type": "array", "items": n, "minItems": 2, "maxItems": 2},
		map[string]any{"type": "null"},
	}}
}

// redundancy is the redundant experts; null: the model's.
type redundancy struct{ numbers }

// maxRedundant bounds the redundant experts, since every number in a range is tried.
const maxRedundant = 65536

func (r *redundancy) DecodeDocument(v document.Value) { r.decode(v, maxRedundant) }

func (r *redundancy) DocumentSchema() map[string]any { return numbersSchema(maxRedundant) }

// drafts is the drafted tokens per step; null: up to the number of known acceptance rates, absent:
// none.
type drafts struct {
	numbers
	all bool
}

const maxDrafts = 64

func (d *drafts) DecodeDocument(v document.Value) {
	d.decode(v, maxDrafts)
	d.all = v.Kind() == document.Null
}

func (d *drafts) DocumentSchema() map[string]any { return numbersSchema(maxDrafts) }

// systemName is the system that runs both phases, or empty.
type systemName string

func (s *systemName) DecodeDocument(v document.Value) {
	if v.Kind() == document.List {
		v.Problemf("must be one system file, not a list: in %s the same GPUs do prefill and decode", Fusion)
		return
	}
	*s = systemName(fileName(v))
}

// fileName is the name of a system file, empty after a problem.
func fileName(v document.Value) string {
	name, _ := v.String()
	if name == "" {
		v.Problemf("must be a system file, not %s", v.Describe())
	}
	return name
}

func (s *systemName) DocumentSchema() map[string]any { return fileSchema() }

func fileSchema() map[string]any { return map[string]any{"type": "string", "minLength": 1} }

// systemPair is the systems of separate prefill and decode pools, or empty.
type systemPair struct{ prefill, decode string }

func (s *systemPair) DecodeDocument(v document.Value) {
	e := v.Elements()
	switch {
	case v.Kind() == document.String:
		name := fileName(v)
		*s = systemPair{name, name}
	case v.Kind() == document.List && len(e) == 2:
		prefill, decode := fileName(e[0]), fileName(e[1])
		if prefill != "" && decode != "" {
			*s = systemPair{prefill, decode}
		}
	case v.Kind() == document.List:
		v.Problemf("must be two system files [prefill, decode] or one for both, not a list of %d", len(e))
	default:
		v.Problemf("must be two system files [prefill, decode] or one for both, not %s", v.Describe())
	}
}

func (s *systemPair) DocumentSchema() map[string]any {
	return map[string]any{"anyOf": []any{
		fileSchema(),
		map[string]any{"type": "array", "items": fileSchema(), "minItems": 2, "maxItems": 2},
	}}
}

func Schema() ([]byte, error) {
	return document.Schema("Throughline runtime", "runtime.schema.json", &File{})
}
