// Package number holds the formats of stored numbers: the bytes of an element with its share of the
// scales, and what it is multiplied with; and it formats numbers for people.
package number

import (
	"cmp"
	"slices"
)

type Format struct {
	Name    string
	Aliases []string
	// Bytes of an element, its share of the scales included.
	Bytes float64
	// Stored is the number type of the elements themselves, where kernels distinguish it.
	Stored string
	// Types are the number types at whose rate a system multiplies two such factors, best first.
	Types []string
	// Inputs are what such weights are multiplied with, best first, and 16 bits otherwise.
	Inputs []Input
	// Integer: any system unpacks such weights to multiply in 16 bits; floats only GPUs.
	Integer bool
	// Engine is the engines' name, and Kind the group it belongs to; empty: its own name.
	Engine, Kind string
	// BesideExperts is the format of other modules in expert models whose checkpoints have this one
	// in routed experts only; modules published in as many bits keep theirs. Empty: the same for
	// all.
	BesideExperts string
	// Mixture is tensors that files of this format store in another, later ones before earlier.
	Mixture []Raised
	Source  string
}

// Input is a format of activations, and the one that matrix units must support to multiply by it.
type Input struct{ Format, Needs string }

// Half is the format of what is not quantised.
const Half = "bf16"

// Formats are all that are known.
var Formats = slices.Concat(engineFormats, ggufFormats)

// engineFormats are those of checkpoints that engines of data centres read.
var engineFormats = []Format{
	{
		Name: "nvfp4", Stored: "float4", Aliases: []string{"fp4", "modelopt_fp4"}, Bytes: 0.5 + 1./16, Types: []string{"float4"}, Engine: "fp4", Kind: "fp4",
		Inputs: []Input{{"nvfp4", "nvfp4"}},
		Source: "NVIDIA, Introducing NVFP4: an FP8 scale for every 16 elements, besides one of 32 bits for the tensor",
	},
	{
		Name: "mxfp4_a4", Stored: "float4", Bytes: 0.5 + 1./32, Types: []string{"float4"}, Engine: "mxfp4", Kind: "fp4",
		Inputs: []Input{{"mxfp4_a4", "mxfp4"}},
		Source: "OCP Microscaling Formats v1.0, weights and activations alike, as AMD Quark makes checkpoints for chips that multiply MXFP4 (vllm/model_executor/kernels/linear/mxfp4/aiter.py: W4A4 on gfx950)",
	},
	{
		Name: "mxfp4", Stored: "float4", Kind: "fp4", Bytes: 0.5 + 1./32,
		Inputs: []Input{{"fp8", "mxfp4"}},
		Source: "OCP Microscaling Formats v1.0: a scale of 8 bits for every 32 elements. Multiplied with MXFP8 activations where matrix units take four bits (SGLang and TensorRT-LLM on Blackwell), in 16 bits elsewhere (Triton, Marlin)",
	},
	{
		Name: "int4", Stored: "int4", Aliases: []string{"int4_wo", "w4a16", "awq", "gptq"}, Bytes: 0.5 + 2./128, Types: []string{"int4"}, Integer: true,
		Inputs: []Input{{"int4", "int4"}},
		Source: "AWQ and GPTQ checkpoints: a scale of 16 bits for every 128 elements; zero points add 0.004",
	},
	{
		Name: "int4_g32", Stored: "int4", Bytes: 0.5 + 2./32, Integer: true, Engine: "int4", Kind: "int4",
		Source: "compressed-tensors, pack-quantized with group_size 32: a scale of 16 bits for every 32 elements (moonshotai/Kimi-K2.5 config.json)",
	},
	{
		Name: "w4a8", Stored: "int4", Aliases: []string{"w4afp8"}, Bytes: 0.5 + 2./128, Integer: true, Engine: "int4", Kind: "int4",
		Inputs: []Input{{"fp8", "fp8"}, {"int8", "int8"}}, BesideExperts: "w8a8",
		Source: "int4 weights in groups of 128, activations of 8 bits. Of models with experts in these alone: examples/quantization/quantize_mixed_precision_moe.py of TensorRT-LLM, by which DeepSeek-R1-W4AFP8 was made, leaves attention, dense layers and shared experts in FP8 blocks, and kv_cache_quant_algo None",
	},
	{
		Name: "fp8", Aliases: []string{"float8", "fp8_e4m3", "fp8_e5m2"}, Bytes: 1, Types: []string{"float8"}, Inputs: []Input{{"fp8", "fp8"}},
		Source: "a scale for a tensor or a channel",
	},
	{
		Name: "fp8_block", Bytes: 1 + 4./(128*128), Engine: "fp8", Kind: "fp8", Inputs: []Input{{"fp8", "fp8"}},
		Source: "deepseek-ai/DeepSeek-V3 config.json, weight_block_size: a scale of 32 bits for every 128 × 128 elements",
	},
	{
		Name: "mxfp8", Bytes: 1 + 1./32, Engine: "fp8", Kind: "fp8", Inputs: []Input{{"fp8", "fp8"}},
		Source: "OCP Microscaling Formats v1.0: a scale of 8 bits for every 32 elements",
	},
	{
		Name: "w8a8", Bytes: 1, Engine: "fp8", Kind: "fp8", Inputs: []Input{{"fp8", "fp8"}, {"int8", "int8"}},
		Source: "8 bits, floats where a system multiplies them, else integers",
	},
	{Name: "int8", Bytes: 1, Types: []string{"int8"}, Integer: true, Inputs: []Input{{"int8", "int8"}}, Source: "a scale for a channel"},
	{Name: "fp16", Aliases: []string{"float16", "f16"}, Bytes: 2, Types: []string{"float16", "bfloat16"}, Engine: "bf16"},
	{Name: Half, Aliases: []string{"bfloat16"}, Bytes: 2, Types: []string{"bfloat16", "float16"}},
	{Name: "fp32", Aliases: []string{"float32"}, Bytes: 4, Types: []string{"float32"}},
}

func init() {
	for i := range Formats {
		f := &Formats[i]
		f.Engine, f.Kind = cmp.Or(f.Engine, f.Name), cmp.Or(f.Kind, f.Name)
	}
}

func Find(name string) (*Format, bool) {
	for i := range Formats {
		if f := &Formats[i]; f.Name == name || slices.Contains(f.Aliases, name) {
			return f, true
		}
	}
	return nil, false
}

func Names() []string {
	var out []string
	for i := range Formats {
		out = append(out, Formats[i].Name)
	}
	return out
}

// Words are the names of all formats and their aliases.
func Words() []string { return words(func(*Format) bool { return true }) }

// ElementWords are those without formats of GGUF files, which are of weights alone.
func ElementWords() []string { return words(func(f *Format) bool { return f.Kind != GGUF }) }

func words(of func(*Format) bool) (names []string) {
	var aliases []string
	for i := range Formats {
		if f := &Formats[i]; of(f) {
			names, aliases = append(names, f.Name), append(aliases, f.Aliases...)
		}
	}
	return append(names, aliases...)
}
