package model

import (
	"embed"

	"throughline/internal/catalogue"
)

//go:embed catalogue/*.json
var files embed.FS

// Catalogue is the model files that are built into the program.
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
	"Qwen3-235B":    "Qwen3-235B-A22B",
	"Qwen3-30B":     "Qwen3-30B-A3B",
	"Qwen3-Next":    "Qwen3-Next-80B-A3B",
	// Distilled into the shape of another.
	"DeepSeek-R1-Distill-Llama-8B":  "Llama-3.1-8B",
	"DeepSeek-R1-Distill-Llama-70B": "Llama-3.1-70B",
}, Endings: []string{
	// Trainings and versions of one shape.
	"instruct", "chat", "base", "it", "hf", "thinking", "terminus", "exp", "v0.1", "v0.3", "v1", "v2",
	// Number formats of the weights.
	"bf16", "fp16", "fp8", "fp4", "nvfp4", "mxfp4", "int8", "int4", "awq", "gptq", "w4a16", "w8a8", "w4a8", "w8a16",
	"modelopt", "dynamic", "block", "kv", "quantized.w8a8", "quantized.w4a16",
}}
