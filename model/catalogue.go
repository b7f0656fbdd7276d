package model

import (
	"embed"

	"throughline/internal/catalogue"
)

//go:embed catalogue/*.json
var files embed.FS

// Catalogue is the model files that are built into the program.
var Catalogue = catalogue.Set{Files: files, Aliases: map[string]string{
	"GPT-3":                  "gpt_3_175b",
	"Meta-Llama-3-8B":        "llama_3_8b",
	"Meta-Llama-3-70B":       "llama_3_70b",
	"Meta-Llama-3.1-8B":      "Llama-3.1-8B",
	"Meta-Llama-3.1-70B":     "Llama-3.1-70B",
	"Meta-Llama-3.1-405B":    "Llama-3.1-405B",
	"Llama-3.1-8B-Instruct":  "Llama-3.1-8B",
	"Llama-3.1-70B-Instruct": "Llama-3.1-70B",
	// The shape of 3.3 is that of 3.1.
	"Llama-3.3-70B":          "Llama-3.1-70B",
	"Llama-3.3-70B-Instruct": "Llama-3.1-70B",
	"Llama-4-Scout":          "Llama-4-Scout-17B-16E",
	"Llama-4-Maverick":       "Llama-4-Maverick-17B-128E",
	"DeepSeek-V3-0324":       "DeepSeek-V3",
	"DeepSeek-R1-0528":       "DeepSeek-R1",
	"Kimi-K2":                "Kimi-K2-Instruct",
	"Qwen3-235B":             "Qwen3-235B-A22B",
	"Qwen3-30B":              "Qwen3-30B-A3B",
	"Qwen3-Next":             "Qwen3-Next-80B-A3B",
	"Mixtral-8x7B-v0.1":      "Mixtral-8x7B",
	"Mixtral-8x22B-v0.1":     "Mixtral-8x22B",
}}
