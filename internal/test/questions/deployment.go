package questions

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Layout is the instances of a pool and how each is split, as in the JSON of plan.
type Layout struct {
	Instances, DP, PP, TP int
	EP                    int // 0: a dense model
	MoETP                 int `json:"moe_tp"`
	MoEDP                 int `json:"moe_dp"`
	Redundant             int `json:"redundant_experts"`
	Overlap               string
}

// GPUs counts those of all instances.
func (l *Layout) GPUs() int { return l.Instances * l.DP * l.PP * l.TP }

// overlapWords are the overlaps in the words of plans.
var overlapWords = map[string]string{"two-batch": " tbo", "single-batch": " sbo"}

// plan is the layout in the words of prefill-plan and decode-plan.
func (l *Layout) plan(drafts string) string {
	text := fmt.Sprintf("%dx dp%d·pp%d·tp%d", l.Instances, l.DP, l.PP, l.TP)
	if l.EP > 0 {
		text += fmt.Sprintf(" ep%d·etp%d·edp%d", l.EP, l.MoETP, l.MoEDP)
	}
	if l.Redundant > 0 {
		text += fmt.Sprintf(" +%d", l.Redundant)
	}
	if drafts != "" {
		text += " mtp" + drafts
	}
	return text + overlapWords[l.Overlap]
}

// settings are the layout of GPUs that run both phases.
func (l *Layout) settings() Settings {
	var out Settings
	for _, size := range []struct {
		name string
		n    int
	}{{"tp", l.TP}, {"pp", l.PP}, {"dp", l.DP}, {"ep", l.EP}, {"moe-tp", l.MoETP}, {"moe-dp", l.MoEDP}} {
		if size.n > 0 {
			out = append(out, Setting{size.name, strconv.Itoa(size.n)})
		}
	}
	return out
}

// Deployment is one deployment and its load.
type Deployment struct {
	Settings         // all but the layouts
	Prefill  *Layout // nil: the GPUs of Decode run both phases
	Decode   Layout
	// Simulated are further settings of simulate.
	Simulated Settings
}

// AllSettings returns all settings of the deployment, for estimate, explain, compare and matrix.
func (d *Deployment) AllSettings() Settings {
	if d.Prefill != nil {
		return d.Without("drafts").With("prefill-plan", d.Prefill.plan("")).With("decode-plan", d.Decode.plan(d.Get("drafts")))
	}
	out := append(d.Settings[:len(d.Settings):len(d.Settings)], d.Decode.settings()...)
	return out.With("redundant", positive(d.Decode.Redundant)).With("overlap", d.Decode.Overlap)
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// ToSimulate returns the settings for simulate, whose requests are drawn one by one.
func (d *Deployment) ToSimulate() Settings {
	return append(d.AllSettings().Without("batch", "concurrency", "prefix", "prefix-hit"), d.Simulated...)
}

// Clients returns those of the question, or those that fill its batches.
func (d *Deployment) Clients() int {
	number := func(name string) int { n, _ := strconv.Atoi(d.Get(name)); return n }
	return max(1, cmp.Or(number("concurrency"), number("batch")*d.Decode.DP*d.Decode.Instances))
}

// engineSettings are the engine settings that tables of serving runs have columns for.
var engineSettings = []string{"step-tokens", "max-running-requests", "poll-steps", "wait-steps", "balance-steps", "captured-batch", "captured-prompts", "attention-backend"}

// ServingTable is the deployment as a table of serving runs without measurements.
func (d *Deployment) ServingTable() string {
	var header, cells []string
	add := func(name, value string) { header, cells = append(header, name), append(cells, value) }
	for _, c := range [][2]string{{"model_path", "model"}, {"system", "system"}, {"backend", "engine"}, {"precision", "weights"}, {"kv_cache", "cache"}, {"isl", "isl"}, {"osl", "osl"}, {"drafts", "drafts"}} {
		add(c[0], d.Get(c[1]))
	}
	add("concurrency", strconv.Itoa(d.Clients()))
	side := func(prefix string, l *Layout) {
		for _, c := range []struct {
			name string
			n    int
		}{{"tp_size", l.TP}, {"pp_size", l.PP}, {"attention_dp_size", l.DP}, {"moe_tp_size", l.MoETP}, {"moe_ep_size", l.EP}, {"redundant_experts", l.Redundant}} {
			add(prefix+c.name, strconv.Itoa(c.n))
		}
		add(prefix+"overlap", l.Overlap)
	}
	if d.Prefill == nil {
		add("mode", "agg")
		add("num_gpus", strconv.Itoa(d.Decode.GPUs()))
		side("", &d.Decode)
	} else {
		add("mode", "disagg")
		add("num_gpus", strconv.Itoa(d.Prefill.GPUs()+d.Decode.GPUs()))
		side("prefill_", d.Prefill)
		side("decode_", &d.Decode)
		add("prefill_num_workers", strconv.Itoa(d.Prefill.Instances))
		add("decode_num_workers", strconv.Itoa(d.Decode.Instances))
	}
	for _, w := range d.Only(engineSettings...) {
		add(w.Name, w.Value)
	}
	return strings.Join(header, ",") + "\n" + strings.Join(cells, ",") + "\n"
}

// runtimeTypes are the bytes of weights, activations, cache and communication and the number types
// of runtime files.
var runtimeTypes = map[string]struct {
	bytes [4]float64
	types [3]string
}{
	"bf16": {[4]float64{2, 2, 2, 2}, [3]string{"bfloat16", "bfloat16", "bfloat16"}},
	"fp8":  {[4]float64{1, 1, 1, 2}, [3]string{"float8", "bfloat16", "bfloat16"}},
	"int8": {[4]float64{1, 1, 2, 2}, [3]string{"int8", "bfloat16", "bfloat16"}},
	"int4": {[4]float64{0.5, 2, 2, 2}, [3]string{"bfloat16", "bfloat16", "bfloat16"}},
	"w4a8": {[4]float64{0.5, 1, 2, 2}, [3]string{"float8", "bfloat16", "bfloat16"}},
	"fp4":  {[4]float64{0.5, 0.5, 1, 2}, [3]string{"float4", "bfloat16", "bfloat16"}},
}

// runtimeFormats are the types of runtime files nearest to a format of weights.
var runtimeFormats = map[string]string{
	"fp8": "fp8", "fp8_block": "fp8", "mxfp8": "fp8", "int8": "int8", "w8a8": "int8", "int4": "int4", "w4a8": "w4a8", "nvfp4": "fp4", "mxfp4": "fp4",
}

// RuntimeFile has the layout and formats, but not the engine or batches, which are searched.
func (d *Deployment) RuntimeFile() map[string]any {
	t := runtimeTypes[cmp.Or(runtimeFormats[d.Get("weights")], "bf16")]
	if strings.HasPrefix(d.Get("system"), "SOW") { // which has no rate for bfloat16
		t.types = [3]string{t.types[0], "float16", "float16"}
	}
	atoi := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(d.Get(name)); err == nil {
			return n
		}
		return otherwise
	}
	section := map[string]any{
		"model_list": []string{d.Get("model")}, "sequence_length_list": [][2]int{{atoi("isl", 1024), atoi("osl", 1024)}},
		"wac_bytes_list": [][4]float64{t.bytes}, "flops_type_list": [][3]string{t.types}, "time_limit_list": [][2]any{{nil, nil}},
		"num_redundant_experts_config": d.Decode.Redundant, "decode_mtp_token_config": atoi("drafts", 0), "output": "run",
	}
	layout := func(key string, l *Layout) {
		section[key+"parallel_config"] = [][3]int{{l.DP, l.PP, l.TP}}
		section[key+"moe_parallel_config"] = nil
		if l.EP > 0 && l.PP == 1 { // not for several stages
			section[key+"moe_parallel_config"] = [][3]int{{l.EP, l.MoETP, l.MoEDP}}
		}
	}
	one := func(l Layout) int { l.Instances = 1; return l.GPUs() }
	if d.Prefill == nil {
		section["num_procs_list"], section["sys_list"] = []int{one(d.Decode)}, []string{d.Get("system")}
		layout("", &d.Decode)
		return map[string]any{"pd-fusion": section}
	}
	pools := [2]int{one(*d.Prefill), one(d.Decode)}
	section["num_procs_list"], section["pd_num_procs_list"] = []int{pools[0] + pools[1]}, [][2]int{pools}
	section["sys_list"] = [][2]string{{d.Get("system"), cmp.Or(d.Get("decode-system"), d.Get("system"))}}
	layout("p_", d.Prefill)
	layout("d_", &d.Decode)
	return map[string]any{"pd-split-request-optimal": section}
}

// MatrixFile is the deployment as a server that only reports that it is ready, and a client that
// prints a recorded result, which leaves the prediction.
func (d *Deployment) MatrixFile() map[string]any {
	words := map[string]string{}
	for _, w := range d.AllSettings().Without("isl", "osl", "concurrency", "batch") {
		words[w.Name] = w.Value
	}
	number := func(name string) int { n, _ := strconv.Atoi(d.Get(name)); return n }
	const requests = 200
	printed := fmt.Sprintf(`Max request concurrency: %d
Successful requests: %d
Total input tokens: %d
Total generated tokens: %d
Output token throughput (tok/s): 1000
Mean TTFT (ms): 1000
Mean TPOT (ms): 20
`, d.Clients(), requests, requests*cmp.Or(number("isl"), 1024), requests*cmp.Or(number("osl"), 1024))
	return map[string]any{
		"servers": []any{map[string]any{
			"name": "server", "command": "echo ready; exec sleep 600", "ready": map[string]string{"line": "ready", "timeout": "60s"},
			"stop": map[string]string{"signal": "SIGKILL"}, "deployment": words,
		}},
		"clients": []any{map[string]any{"name": "client", "command": []string{"printf", "%s", printed}}},
	}
}

// searched are the settings that plan takes as they are.
var searched = []string{"model", "system", "decode-system", "engine", "weights", "cache", "activations", "isl", "osl", "lengths", "prefix-hit", "drafts", "popularity",
	"step-tokens", "max-running-requests", "poll-steps", "wait-steps", "captured-batch", "attention-backend", "gpus-per-node"}

// Plan is the question to plan that the deployment is one of the answers to.
func (d *Deployment) Plan() Settings {
	out := d.Only(searched...)
	gpus, mode := d.Decode.GPUs(), "agg"
	if d.Prefill != nil {
		gpus, mode = gpus+d.Prefill.GPUs(), "disagg"
	}
	return out.With("gpus", strconv.Itoa(gpus)).With("mode", mode).With("redundant", positive(d.Decode.Redundant)).With("overlap", d.Decode.Overlap)
}
