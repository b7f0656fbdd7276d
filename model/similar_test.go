package model

import "testing"

// TestSimilar: a checkpoint that is not built in has a neighbour of its family and size, or one of
// its size, or none.
func TestSimilar(t *testing.T) {
	for name, want := range map[string]string{
		"Qwen/Qwen1.5-72B-Chat": "Qwen2.5-72B", "01-ai/Yi-34B": "CodeLlama-34B", "mistralai/Mixtral-8x7B-Instruct-v0.9": "Mixtral-8x7B", "Qwen3-Turbo-30B-A3B": "Qwen3-30B-A3B",
		"someone/llama-65b": "Llama-2-70B", "inclusionAI/Ling-1T": "Kimi-K2-Instruct", "tencent/Hunyuan-A13B-Instruct": "GLM-4.5-Air", "databricks/dbrx-instruct": "Mixtral-8x22B",
		"Mistral-Medium-3.5-128B": "Mistral-Large-2", "internlm/internlm2-chat-20b": "Mistral-Small-24B", "Step-3.7-flash": "", "LongCat-Flash-Chat": "Qwen3-Coder-480B-A35B",
		"gpt-5": "", "Giant-9000B": "", "Qwen9-235B-A1B": "",
	} {
		if got, _ := Similar(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
