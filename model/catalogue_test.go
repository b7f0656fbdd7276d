package model_test

import (
	"encoding/csv"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/catalogue"
	"throughline/model"
)

// Every built-in file is sound, says where it comes from, and has a name that is not that of
// another one.
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
		// As people name them on Hugging Face, and in tables of runs.
		"mistralai/Mistral-7B-v0.1":                      "Mistral-7B-v0.1",
		"mistralai/Mistral-7B-Instruct-v0.3":             "Mistral-7B",
		"mistralai/Mistral-Large-Instruct-2411":          "Mistral-Large-2",
		"mistralai/Mistral-Large-3-675B-Instruct-2512":   "Mistral-Large-3",
		"mistralai/Devstral-Small-2507":                  "Mistral-Small-24B",
		"mistralai/Ministral-3-14B-Instruct-2512":        "Ministral-3-14B",
		"meta-llama/Llama-2-70b-hf":                      "Llama-2-70B",
		"llama2-70b-99.9":                                "Llama-2-70B",
		"meta-llama/Llama-3.1-8B-Instruct (fp8)":         "Llama-3.1-8B",
		"Qwen/Qwen2-7B":                                  "Qwen2.5-7B",
		"Qwen2-72B-Instruct-GPTQ-Int4":                   "Qwen2.5-72B",
		"qwen3-vl-235b-a22b":                             "Qwen3-235B-A22B",
		"Qwen/Qwen3-4B-Instruct-2507":                    "Qwen3-4B",
		"google/gemma-3-4b-it":                           "Gemma-3-4B",
		"microsoft/Phi-3-mini-4k-instruct":               "Phi-3-mini",
		"microsoft/Phi-3-mini-128k-instruct":             "Phi-3.5-mini",
		"microsoft/phi-4":                                "Phi-4",
		"ibm-granite/granite-4.0-h-tiny":                 "Granite-4.0-H-Tiny",
		"baidu/ERNIE-4.5-21B-A3B-PT":                     "ERNIE-4.5-21B-A3B",
		"moonshotai/Kimi-Linear-48B-A3B-Instruct":        "Kimi-Linear-48B-A3B",
		"nvidia/Nemotron-H-8B-Base-8K":                   "Nemotron-H-8B",
		"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": "Nemotron-3-Super-120B-A12B",
		"nvidia/Nemotron-3-Ultra (NVFP4)":                "Nemotron-3-Ultra-550B-A55B",
		"HuggingFaceTB/SmolLM3-3B":                       "SmolLM3-3B",
		"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B":          "Qwen3-8B",
		"llama-31-8b":                                    "",
		"llama3-18b":                                     "",
		"deepseek":                                       "",
		"":                                               "",
	} {
		if got, _ := model.Catalogue.Name(ref); got != want {
			t.Errorf("%q leads to %q, not to %q", ref, got, want)
		}
	}
}

// TestServedModels: the catalogue knows the models of a public table of serving runs by the names
// there, but for those whose configs are not published, or not to be had.
func TestServedModels(t *testing.T) {
	const table = "../../shared/measurements/fresh/serving.csv"
	file, err := os.Open(table)
	if err != nil {
		t.Skipf("%s is absent: there are no names to look up", table)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	unknown := map[string]int{}
	column := slices.Index(rows[0], "model")
	for _, row := range rows[1:] {
		if _, ok := model.Catalogue.Name(row[column]); !ok {
			unknown[row[column]]++
		}
	}
	want := map[string]int{
		"Muse Glimmer 30B (27.9B dense decoder, 52 layers, 32 q / 2 kv heads, SWA 2048 3:1)": 28,
		"inclusionAI/Ling-3.0-flash":                   4,
		"inclusionAI/Ling-2.6-1T":                      1,
		"Deci/DeciLM-7B":                               4, // heads that differ by layer
		"deepseek-ai/DeepSeek-V4-Pro-DSpark":           2, // drafts that nothing is published of
		"XiaomiMiMo/MiMo-V2.5-Pro":                     1,
		"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-$DTYPE": 1, // no name
	}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Errorf("rows of unknown models, -want +got:\n%s", diff)
	}
}
