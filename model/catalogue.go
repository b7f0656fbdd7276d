package model

import (
	"embed"
	"slices"
	"strings"

	"throughline/internal/catalogue"
	"throughline/internal/names"
	"throughline/number"
)

//go:embed catalogue/*.json
var files embed.FS

var Catalogue = catalogue.Set{What: "model", Checkpoints: true, Files: files, Aliases: map[string]string{
	"GPT-3":               "gpt_3_175b",
	"Meta-Llama-3-8B":     "llama_3_8b",
	"Meta-Llama-3-70B":    "llama_3_70b",
	"Meta-Llama-3.1-8B":   "Llama-3.1-8B",
	"Meta-Llama-3.1-70B":  "Llama-3.1-70B",
	"Meta-Llama-3.1-405B": "Llama-3.1-405B",
	// The shape of 3.3 is that of 3.1.
	"Llama-3.3-70B":    "Llama-3.1-70B",
	"Llama-4-Scout":    "Llama-4-Scout-17B-16E",
	"Llama-4-Maverick": "Llama-4-Maverick-17B-128E",
	// So are those of V3.1 and of V3.
	"DeepSeek-V3.1": "DeepSeek-V3",
	"Kimi-K2":       "Kimi-K2-Instruct",
	// Published in the formats of K2.5, without its vision tower; K2.6 is trained on from that.
	"Kimi-K2-Thinking": "Kimi-K2.5",
	"Kimi-K2.6":        "Kimi-K2.5",
	// Trained on from the shape of another.
	"DeepSeek-Coder-V2":      "DeepSeek-V2",
	"DeepSeek-V2.5":          "DeepSeek-V2",
	"DeepSeek-Coder-V2-Lite": "DeepSeek-V2-Lite",
	"DeepSeek-Math-V2":       "DeepSeek-V3.2",
	"GLM-4.6":                "GLM-4.5",
	"GLM-4.7":                "GLM-4.5",
	"GLM-5.1":                "GLM-5",
	"MiniMax-M2.1":           "MiniMax-M2.5",
	"MiniMax-M2.7":           "MiniMax-M2.5",
	"Qwen3-Coder-Next":       "Qwen3-Next-80B-A3B",
	"Qwen3-Coder-480B":       "Qwen3-Coder-480B-A35B",
	"Qwen3-480B":             "Qwen3-Coder-480B-A35B",
	"Qwen3-Coder-30B-A3B":    "Qwen3-30B-A3B",
	"Llama-3.x-70B":          "Llama-3.1-70B",
	"QwQ-32B":                "Qwen2.5-32B",
	"Qwen3-235B":             "Qwen3-235B-A22B",
	"Qwen3-30B":              "Qwen3-30B-A3B",
	"Qwen3-Next":             "Qwen3-Next-80B-A3B",
	// Variants of 1.2B for dialogue, thinking, Japanese and vision; the 450M one is 350M.
	"LFM2.5": "LFM2.5-1.2B", "LFM2.5-JP": "LFM2.5-1.2B", "LFM2.5-VL": "LFM2.5-1.2B", "LFM2.5-VL-450M": "LFM2.5-350M",
	"Laguna-S21": "Laguna-S-2.1",
	// Distilled into the shape of another.
	"DeepSeek-R1-Distill-Qwen-7B":   "Qwen2.5-7B",
	"DeepSeek-R1-Distill-Qwen-14B":  "Qwen2.5-14B",
	"DeepSeek-R1-Distill-Qwen-32B":  "Qwen2.5-32B",
	"DeepSeek-R1-Distill-Llama-8B":  "Llama-3.1-8B",
	"DeepSeek-R1-Distill-Llama-70B": "Llama-3.1-70B",
	// Names of MLPerf.
	"Llama-2-70B-99":    "Llama-2-70B",
	"Llama-2-70B-99.9":  "Llama-2-70B",
	"Llama-3.1-8B-edge": "Llama-3.1-8B",
	// Trained on from Llama.
	"Llama-3.1-Nemotron-70B":     "Llama-3.1-70B",
	"Llama-3.1-Nemotron-Nano-8B": "Llama-3.1-8B",
	"CodeLlama-7B":               "Llama-2-7B",
	"CodeLlama-13B":              "Llama-2-13B",
	"CodeLlama-70B":              "Llama-2-70B",
	// Qwen2 has the shapes of Qwen2.5; so have their trainings for code and mathematics, and the
	// language models of those for vision.
	"Qwen2-0.5B":                "Qwen2.5-0.5B",
	"Qwen2-1.5B":                "Qwen2.5-1.5B",
	"Qwen2-7B":                  "Qwen2.5-7B",
	"Qwen2-72B":                 "Qwen2.5-72B",
	"Qwen2.5-Coder-0.5B":        "Qwen2.5-0.5B",
	"Qwen2.5-Coder-1.5B":        "Qwen2.5-1.5B",
	"Qwen2.5-Coder-3B":          "Qwen2.5-3B",
	"Qwen2.5-Coder-7B":          "Qwen2.5-7B",
	"Qwen2.5-Coder-14B":         "Qwen2.5-14B",
	"Qwen2.5-Coder-32B":         "Qwen2.5-32B",
	"Qwen2.5-Math-1.5B":         "Qwen2.5-1.5B",
	"Qwen2.5-Math-7B":           "Qwen2.5-7B",
	"Qwen2.5-Math-72B":          "Qwen2.5-72B",
	"Qwen2.5-VL-3B":             "Qwen2.5-3B",
	"Qwen2.5-VL-7B":             "Qwen2.5-7B",
	"Qwen2.5-VL-32B":            "Qwen2.5-32B",
	"Qwen2.5-VL-72B":            "Qwen2.5-72B",
	"Qwen3-VL-2B":               "Qwen3-1.7B",
	"Qwen3-VL-4B":               "Qwen3-4B",
	"Qwen3-VL-8B":               "Qwen3-8B",
	"Qwen3-VL-32B":              "Qwen3-32B",
	"Qwen3-VL-30B-A3B":          "Qwen3-30B-A3B",
	"Qwen3-VL-235B-A22B":        "Qwen3-235B-A22B",
	"Qwen3.6-27B":               "Qwen3.5-27B",
	"Qwen3.6-35B-A3B":           "Qwen3.5-35B-A3B",
	"Qwen3-Omni-30B-A3B":        "Qwen3-30B-A3B",
	"DeepSeek-R1-0528-Qwen3-8B": "Qwen3-8B",
	// Mistral's, by short names, and trainings of one shape.
	"Mistral-Large":         "Mistral-Large-2",
	"Mistral-Large-3-675B":  "Mistral-Large-3",
	"Mistral-Small":         "Mistral-Small-24B",
	"Mistral-Small-3":       "Mistral-Small-24B",
	"Mistral-Small-3.1-24B": "Mistral-Small-24B",
	"Mistral-Small-3.2-24B": "Mistral-Small-24B",
	"Devstral-Small":        "Mistral-Small-24B",
	"Devstral-Small-2-24B":  "Mistral-Small-24B",
	"Magistral-Small":       "Mistral-Small-24B",
	"Mistral-Small-4":       "Mistral-Small-4-119B",
	"Devstral-2":            "Devstral-2-123B",
	"Mistral-Nemo":          "Mistral-Nemo-12B",
	// NVIDIA's, with and without the company in front.
	"NVIDIA-Nemotron-Nano-9B-v2":            "Nemotron-Nano-9B-v2",
	"NVIDIA-Nemotron-Nano-12B-v2":           "Nemotron-Nano-12B-v2",
	"NVIDIA-Nemotron-3-Nano-4B":             "Nemotron-3-Nano-4B",
	"NVIDIA-Nemotron-3-Nano-30B-A3B":        "Nemotron-3-Nano-30B-A3B",
	"NVIDIA-Nemotron-3-Super-120B-A12B":     "Nemotron-3-Super-120B-A12B",
	"NVIDIA-Nemotron-3-Ultra-550B-A55B":     "Nemotron-3-Ultra-550B-A55B",
	"NVIDIA-Nemotron-3.5-Lightning-30B-A3B": "Nemotron-3.5-Lightning-30B-A3B",
	"NVIDIA-Nemotron-Nano-12B-v2-VL":        "Nemotron-Nano-12B-v2",
	"Nemotron-3-Nano":                       "Nemotron-3-Nano-30B-A3B",
	"Nemotron-3-Super":                      "Nemotron-3-Super-120B-A12B",
	"Nemotron-3-Ultra":                      "Nemotron-3-Ultra-550B-A55B",
	"Nemotron-3.5-Lightning":                "Nemotron-3.5-Lightning-30B-A3B",
	// A longer context has no window; trainings of one shape.
	"Phi-3-mini-128k":      "Phi-3.5-mini",
	"Phi-4-reasoning-plus": "Phi-4",
	// Earlier versions of one shape.
	"SmolLM-135M":    "SmolLM2-135M",
	"SmolLM-360M":    "SmolLM2-360M",
	"SmolLM-1.7B":    "SmolLM2-1.7B",
	"Granite-3.1-2B": "Granite-3.3-2B",
	"Granite-3.1-8B": "Granite-3.3-8B",
	"Granite-3.2-2B": "Granite-3.3-2B",
	"Granite-3.2-8B": "Granite-3.3-8B",
	"CodeGemma-2B":   "Gemma-2B", "CodeGemma-1.1-2B": "Gemma-2B", "CodeGemma-7B": "Gemma-7B",
	"Kimi-Linear": "Kimi-Linear-48B-A3B",
	"GLM-4.5V":    "GLM-4.5-Air", "GLM-4.6V": "GLM-4.5-Air",
	// Trained on from the shape of another, or its language model, as their cards say.
	"INTELLECT-3": "GLM-4.5-Air", "Intern-S1": "Qwen3-235B-A22B", "Intern-S1-mini": "Qwen3-8B", "MiniMax-Text-01": "MiniMax-M1",
	"Hermes-3-Llama-3.1-8B": "Llama-3.1-8B", "Hermes-3-Llama-3.1-70B": "Llama-3.1-70B", "Hermes-3-Llama-3.1-405B": "Llama-3.1-405B", "Hermes-4-70B": "Llama-3.1-70B", "Hermes-4-405B": "Llama-3.1-405B",
	"vicuna-7b": "Llama-2-7B", "vicuna-13b": "Llama-2-13B", "Baichuan-M2-32B": "Qwen2.5-32B", "InternVL3-78B": "Qwen2.5-72B", "InternVL3-38B": "Qwen2.5-32B", "InternVL3-8B": "Qwen2.5-7B",
	"DeepSeek-R1-671B": "DeepSeek-R1", "DeepSeek-V3-671B": "DeepSeek-V3",
}, Endings: []string{
	// Trainings and versions of one shape.
	"instruct", "chat", "base", "it", "hf", "thinking", "terminus", "exp", "official", "v0.1", "v0.2", "v0.3", "v1", "v1.5", "v2",
	"pt", "sft", "rl", "preview", "reasoning",
	// Lengths of context.
	"4k", "8k", "32k", "40k", "80k", "128k", "1m",
	// Number formats of the weights.
	"bf16", "fp16", "fp8", "fp4", "nvfp4", "mxfp4", "int8", "int4", "awq", "gptq", "w4a16", "w8a8", "w4a8", "w8a16",
	"w8a8c8", "modelopt", "quarot", "mtp", "dynamic", "block", "kv", "quantized.w8a8", "quantized.w4a16", "quantized.w8a16",
	"4bit", "8bit", "bnb", "gguf", "mlx", "autoround", "marlin", "nvfp4a16", "g128",
}}

// NamedFormat is the number format that a checkpoint name, such as Llama-3.1-70B-FP8-KV, ends in.
func NamedFormat(ref string) string {
	words := strings.FieldsFunc(strings.ToLower(ref), func(r rune) bool { return strings.ContainsRune("-_ ()", r) })
	for i := len(words) - 1; i > 0 && slices.Contains(Catalogue.Endings, words[i]); i-- {
		if f, ok := number.Find(words[i]); ok {
			return f.Name
		}
		if found, ok := names.Format(strings.TrimPrefix(words[i], "quantized.")); ok && found.Name != "" {
			return found.Name
		}
	}
	return ""
}
