package model_test

import (
	"testing"

	"throughline/internal/catalogue"
	"throughline/model"
)

// Every built-in file is sound, says where it comes from, and has a name that is not that of another one.
func TestCatalogue(t *testing.T) {
	taken := map[string]string{}
	claim := func(name, of string) {
		key := catalogue.Fold(name)
		if other, ok := taken[key]; ok {
			t.Errorf("%s could be %s and %s", name, other, of)
		}
		taken[key] = of
	}
	for _, name := range model.Catalogue.Names() {
		claim(name, name)
		src, _ := model.Catalogue.Find(name)
		l, doc := model.Load(name, src)
		if err := doc.Err(); err != nil {
			t.Error(err)
			continue
		}
		if len(doc.Warnings()) > 0 {
			t.Errorf("%s: %v", name, doc.Warnings())
		}
		if l.File.Sources["*"] == "" {
			t.Errorf("%s has no source", name)
		}
		if l.Model.Vocab == 0 {
			t.Errorf("%s has no vocabulary", name)
		}
	}
	for alias, name := range model.Catalogue.Aliases {
		claim(alias, name)
		if got, ok := model.Catalogue.Name(alias); !ok || got != name {
			t.Errorf("%s leads to %q, not to %s", alias, got, name)
		}
		if _, ok := model.Catalogue.Find(name); !ok {
			t.Errorf("%s leads to %s, which is not there", alias, name)
		}
	}
}

func TestNames(t *testing.T) {
	for ref, want := range map[string]string{
		"llama3-8b":                  "llama_3_8b",
		"llama-3-8B":                 "llama_3_8b",
		"meta-llama/Llama-3.1-8B":    "Llama-3.1-8B",
		"llama3.1-8b":                "Llama-3.1-8B",
		"./models/llama_3_1_8b.json": "Llama-3.1-8B",
		`models\qwen3_32b.json`:      "Qwen3-32B",
		"qwen3-32b-flash":            "qwen3_32b_flash",
		"deepseek-v3":                "DeepSeek-V3",
		"deepseek_v3_2":              "DeepSeek-V3.2",
		"DEEPSEEK V4 PRO":            "DeepSeek-V4-Pro",
		"gpt-2":                      "gpt2",
		"gpt3":                       "gpt_3_175b",
		"GPT-3-175B":                 "gpt_3_175b",
		"kimi-k2":                    "Kimi-K2-Instruct",
		"kimi-k2.5":                  "Kimi-K2.5",
		"gptoss120b":                 "gpt-oss-120b",
		"llama-31-8b":                "",
		"llama3-18b":                 "",
		"deepseek":                   "",
		"":                           "",
	} {
		if got, _ := model.Catalogue.Name(ref); got != want {
			t.Errorf("%q leads to %q, not to %q", ref, got, want)
		}
	}
}
