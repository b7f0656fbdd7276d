package model

import (
	"embed"
	"slices"
	"strings"

	"throughline/internal/catalogue"
	"throughline/number"
)

//go:embed catalogue/*.json
var files embed.FS

// Catalogue is the built-in model files.
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
	// Variants of 1.2B for dialogue, thinking, Japanese and vision; the 450M one is 350M with
	// vision.
	"LFM2.5": "LFM2.5-1.2B", "LFM2.5-JP": "LFM2.5-1.2B", "LFM2.5-VL": "LFM2.5-1.2B", "LFM2.5-VL-450M": "LFM2.5-350M",
	"Laguna-S21": "Laguna-S-2.1",
	// Distilled into the shape of another.
	"DeepSeek-R1-Distill-Qwen-7B":   "Qwen2.5-7B",
	"DeepSeek-R1-Distill-Qwen-14B":  "Qwen2.5-14B",
	"DeepSeek-R1-Distill-Qwen-32B":  "Qwen2.5-32B",
	"DeepSeek-R1-Distill-Llama-8B":  "Llama-3.1-8B",
	"DeepSeek-R1-Distill-Llama-70B": "Llama-3.1-70B",
}, Endings: []string{
	// Trainings and versions of one shape.
	"instruct", "chat", "base", "it", "hf", "thinking", "terminus", "exp", "official", "v0.1", "v0.3", "v1", "v2",
	// Number formats of the weights.
	"bf16", "fp16", "fp8", "fp4", "nvfp4", "mxfp4", "int8", "int4", "awq", "gptq", "w4a16", "w8a8", "w4a8", "w8a16",
	"w8a8c8", "modelopt", "quarot", "mtp", "dynamic", "block", "kv", "quantized.w8a8", "quantized.w4a16",
}}

// NamedFormat is the number format that a checkpoint name ends in, such as Llama-3.1-70B-FP8-KV, if
// any.
func NamedFormat(ref string) string {
	words := strings.FieldsFunc(strings.ToLower(ref), func(r rune) bool { return r == '-' || r == '_' })
	for i := len(words) - 1; i > 0 && slices.Contains(Catalogue.Endings, words[i]); i-- {
		if f, ok := number.Find(words[i]); ok {
			return f.Name
		}
	}
	return ""
}
