package model

import (
	"slices"
	"strings"
	"testing"
)

// Every built-in model and alias has a repository, but those that none is known of.
func TestRepositories(t *testing.T) {
	unknown := []string{"gpt_3_175b", "GPT-3", "LFM2.5-350M", "LFM2.5-8B-A1B", "LFM2.5", "LFM2.5-JP", "LFM2.5-VL", "LFM2.5-VL-450M", "Laguna-S-2.1", "Laguna-S21", "Llama-3.x-70B"}
	names := Catalogue.Names()
	for alias := range Catalogue.Aliases {
		names = append(names, alias)
	}
	for _, name := range names {
		got, ok := Repository(name)
		if ok == slices.Contains(unknown, name) {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
		if ok && strings.Count(got, "/") != 1 {
			t.Errorf("%s: %q is no organisation and name", name, got)
		}
	}
	for name := range repositories {
		if _, ok := Catalogue.Name(name); !ok {
			t.Errorf("%s is no built-in model", name)
		}
	}
	for ref, want := range map[string]string{
		"Llama-3.1-8B-Instruct":       "meta-llama/Llama-3.1-8B-Instruct",
		"DeepSeek-V3-0324":            "deepseek-ai/DeepSeek-V3-0324",
		"Kimi-K2-Instruct-0905":       "moonshotai/Kimi-K2-Instruct-0905",
		"Llama-3.3-70B-Instruct":      "meta-llama/Llama-3.3-70B-Instruct",
		"Mixtral-8x7B-v0.1":           "mistralai/Mixtral-8x7B-v0.1",
		"nvidia/DeepSeek-R1-0528-FP4": "nvidia/DeepSeek-R1-0528-FP4",
		"Llama-3.1-70B-FP8-KV":        "", // amd/…, not of meta-llama
		"./Llama-3.1-8B":              "",
	} {
		if got, ok := Repository(ref); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", ref, got, ok, want)
		}
	}
}
