package model

import (
	"cmp"
	"regexp"
	"strings"

	"throughline/internal/document"
)

// dtypes are the formats of unquantised checkpoints except 16 bits.
var dtypes = map[string]string{"float16": "fp16", "float32": "fp32", "float8_e4m3fn": "fp8"}

// formats of the published checkpoint by module, except 16 bits, and the quantisation method.
func (c *config) formats() (out map[string]string, method string) {
	dtype, expert := c.word("torch_dtype", "dtype"), c.word("expert_dtype")
	if v, ok := c.find("quantization_config"); ok {
		return c.quantized(v, expert)
	}
	out = map[string]string{}
	if f := dtypes[dtype]; f != "" {
		for _, key := range moduleNames {
			out[key] = f
		}
	}
	return out, dtype
}

// present are the formats of the modules that a file has.
func (f *File) present(formats map[string]string) map[string]string {
	m := f.shape()
	for module, key := range moduleNames {
		if !m.has(Module(module)) {
			delete(formats, key)
		}
	}
	if len(formats) == 0 {
		return nil
	}
	return formats
}

type quantization struct {
	method, format string
	cache          string
	experts        bool // only those are quantised
}

// quantized reads how a checkpoint is quantised: all linear layers except those named. One layer
// per module tells whether it stays in 16 bits.
func (c *config) quantized(v raw, expert string) (out map[string]string, method string) {
	if v.Kind() != document.Object {
		v.Problemf("must be an object, not %s", v.Describe())
		return nil, ""
	}
	values := membersOf(v)
	q := quantization{method: "unknown"}
	if m, ok := values["quant_method"]; ok {
		q.method = text(m)
	}
	q.read(values)
	out, method = map[string]string{}, q.method
	if q.format == "" {
		c.doc.Warnf(v.Path(), "the format of weights quantized by %q is not known: taken for 16 bits", q.method)
	} else {
		var kept []string
		for _, key := range []string{"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"} {
			kept = append(kept, textsOf(values[key])...)
		}
		for module, layers := range quantisedLayers {
			if (!q.experts || Module(module) == ExpertModule) && !keeps(kept, layers) {
				out[moduleNames[module]] = q.format
			}
		}
	}
	if expert == "fp4" {
		// Four bits in blocks of 32 with 8-bit scales; the other scales are powers of two, too.
		out[moduleNames[ExpertModule]], method = "mxfp4", method+", experts fp4"
	}
	if q.cache != "" {
		out[cacheKey] = q.cache
	}
	return out, method
}

// quantisedLayers names a quantised layer of each module, as checkpoints spell it.
var quantisedLayers = [EndModule][]string{
	AttentionModule:   {"model.layers.9.self_attn.o_proj", "model.layers.9.self_attn.out_proj"},
	FeedForwardModule: {"model.layers.9.mlp.down_proj"},
	ExpertModule:      {"model.layers.9.mlp.experts.9.down_proj", "model.layers.9.block_sparse_moe.experts.9.w2"},
	SharedModule:      {"model.layers.9.mlp.shared_experts.down_proj", "model.layers.9.mlp.shared_expert.down_proj"},
}

// keeps reports whether one of the layers is excluded from quantisation: by a part of its name,
// with * as a wildcard, or after re: by a regular expression.
func keeps(kept, layers []string) bool {
	for _, name := range kept {
		pattern, isRegexp := strings.CutPrefix(name, "re:")
		if !isRegexp {
			pattern = strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*")
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			continue // not a valid expression
		}
		for _, layer := range layers {
			if re.MatchString(layer) {
				return true
			}
		}
	}
	return false
}

// read finds the format by the method.
func (q *quantization) read(values map[string]raw) {
	bits, group := intOf(values["bits"]), intOf(values["group_size"])
	switch q.method {
	case "fp8", "fbgemm_fp8":
		q.format = "fp8"
		if _, blocks := values["weight_block_size"]; blocks {
			q.format = "fp8_block"
		}
	case "mxfp4":
		q.format, q.experts = "mxfp4", true
	case "gptq", "awq":
		q.format = packed("int", bits, group)
	case "compressed-tensors", "modelopt":
		q.group(values)
	}
	if algo := textOf(values["quant_algo"]); q.format == "" {
		q.format = map[string]string{"NVFP4": "nvfp4", "FP8": "fp8", "FP8_PB_WO": "fp8_block", "MXFP4": "mxfp4", "W4A16_AWQ": "int4", "W4A8_AWQ": "w4a8"}[algo]
	}
	if textOf(values["kv_cache_quant_algo"]) == "FP8" || intOf(membersOf(values["kv_cache_scheme"])["num_bits"]) == 8 {
		q.cache = "fp8"
	}
}

// group reads the weights of the first group of config_groups.
func (q *quantization) group(values map[string]raw) {
	groups := membersOf(values["config_groups"])
	for _, name := range sortedKeys(groups) {
		w := membersOf(membersOf(groups[name])["weights"])
		bits := intOf(w["num_bits"])
		if bits == 0 {
			continue
		}
		q.format = packed(cmp.Or(textOf(w["type"]), "int"), bits, intOf(w["group_size"]))
		if q.format == "fp8" && textOf(w["strategy"]) == "block" {
			q.format = "fp8_block"
		}
		return
	}
}

// packed is the format of weights of this many bits that share a scale in groups; empty: unknown.
func packed(kind string, bits, group int) string {
	switch {
	case kind == "float" && bits == 8:
		return "fp8"
	case kind == "float" && bits == 4 && group == 16:
		return "nvfp4"
	case kind == "float" && bits == 4:
		return "mxfp4"
	case kind == "int" && bits == 8:
		return "int8"
	case kind == "int" && bits == 4 && group == 32:
		return "int4_g32"
	case kind == "int" && bits == 4:
		return "int4"
	}
	return ""
}

func membersOf(v raw) map[string]raw {
	out := map[string]raw{}
	if v.Value != (document.Value{}) && v.Kind() == document.Object {
		v.Decode(&out)
	}
	return out
}

// textOf and intOf are a string and a number, or empty.
func textOf(v raw) string {
	if v.Value == (document.Value{}) {
		return ""
	}
	s, _ := v.String()
	return s
}

func textsOf(v raw) (out []string) {
	if v.Value == (document.Value{}) || v.Kind() != document.List {
		return nil
	}
	for _, e := range v.Elements() {
		if s, ok := e.String(); ok {
			out = append(out, s)
		}
	}
	return out
}

func intOf(v raw) int {
	if v.Value == (document.Value{}) {
		return 0
	}
	n, _ := v.Int()
	return n
}
