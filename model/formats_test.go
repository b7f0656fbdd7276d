package model_test

import (
	"math"
	"testing"

	"throughline/model"
)

func builtIn(t *testing.T, name string) *model.Model {
	t.Helper()
	src, ok := model.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	m, _, doc := model.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPublished: weights by module in their formats, scales included, against the sizes of
// published checkpoints.
func TestPublished(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name, format string
		bytes        float64
		off          float64
	}{
		// Model card of gpt-oss, table 1: checkpoints of 60.8 and 12.8 GiB.
		{"gpt-oss-120b", "mxfp4 experts, rest bf16", 60.8 * gib, 0.003},
		{"gpt-oss-20b", "mxfp4 experts, rest bf16", 12.8 * gib, 0.003},
		// The files of DeepSeek-V3 have 688,586,727,753 bytes, of which the draft module has 14 B
		// parameters less its copies of embedding and head; one expert layer of 256 + 1 experts and
		// attention is 11.5 B.
		{"DeepSeek-V3", "fp8_block", 688586727753 - 11.5e9 - 2*2*129280*7168, 0.005},
		// Kimi-K2-Thinking, the same formats: about 594 GB.
		{"Kimi-K2.5", "int4_g32 experts, rest bf16", 594e9, 0.002},
		{"Llama-3.1-8B", "bf16", 16.06e9, 0.001},
		{"DeepSeek-V4-Flash", "mxfp4 experts, rest fp8_block", 0, 0},
	} {
		m := builtIn(t, c.name)
		if got := m.DescribeFormats(); got != c.format {
			t.Errorf("%s: %s, want %s", c.name, got, c.format)
		}
		if got := m.Published(); c.bytes > 0 && math.Abs(got/c.bytes-1) > c.off {
			t.Errorf("%s: %.5g GB, published are %.5g", c.name, got/1e9, c.bytes/1e9)
		}
	}
}

// TestQuantizationConfigs: which modules are quantised, and how, as configs say it.
func TestQuantizationConfigs(t *testing.T) {
	const (
		shape = `{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128,
			"moe_intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_experts": 8, "num_experts_per_tok": 2,
			"decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 100, "torch_dtype": "bfloat16", "quantization_config": `
		attention, experts = model.AttentionModule, model.ExpertModule
	)
	for _, c := range []struct {
		config             string
		attention, experts string
		cache              string
	}{
		{`{"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.gate"]}`, "fp8_block", "fp8_block", ""},
		{`{"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["model.layers.9.self_attn.q_proj", "model.layers.9.self_attn.o_proj"]}`, "bf16", "fp8", ""},
		{`{"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head", "*self_attn*"]}`, "bf16", "nvfp4", "fp8"},
		{`{"quant_method": "modelopt", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}}, "ignore": ["lm_head"]}`, "nvfp4", "nvfp4", ""},
		{`{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "block"}}}, "kv_cache_scheme": {"num_bits": 8}}`, "fp8_block", "fp8_block", "fp8"},
		{`{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}}, "ignore": ["re:.*self_attn.*"]}`, "bf16", "int4_g32", ""},
		{`{"quant_method": "gptq", "bits": 4, "group_size": 128}`, "int4", "int4", ""},
		{`{"quant_method": "awq", "bits": 8}`, "int8", "int8", ""},
		{`{"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}`, "bf16", "mxfp4", ""},
		{`{"quant_method": "quip"}`, "bf16", "bf16", ""},
	} {
		m, _, doc := model.Read("config.json", []byte(shape+c.config+"}"))
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		f := &m.Formats
		if f.Of(attention).Name != c.attention || f.Of(experts).Name != c.experts || f.Of(model.EndModule).Name != "bf16" || f.Cache != c.cache {
			t.Errorf("%s: %+v", c.config, f)
		}
	}
}

func TestNamedFormat(t *testing.T) {
	for ref, want := range map[string]string{
		"Llama-3.1-70B": "", "nvidia/Llama-3.1-70B-Instruct-FP8-KV": "fp8", "Qwen3-235B-A22B-NVFP4": "nvfp4", "DeepSeek-V3.1-BF16": "bf16",
		"Qwen3-32B-w8a8": "w8a8", "DeepSeek-R1-0528": "", "gpt-oss-120b": "", "Qwen3-30B-A3B-GPTQ-Int4": "int4",
	} {
		if got := model.NamedFormat(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}
