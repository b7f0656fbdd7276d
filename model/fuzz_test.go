package model_test

import (
	"os"
	"testing"

	"throughline/hardware"
	"throughline/internal/test/fuzzing"
	"throughline/model"
)

// FuzzModel reads files that may be anything: there are problems with a place in the file, or a
// model that can be evaluated.
func FuzzModel(f *testing.F) {
	fuzzing.AddCatalogue(f, model.Catalogue)
	fuzzing.AddFiles(f, "../internal/cli/testdata/bad/model/*.json")
	fuzzing.AddFiles(f, "testdata/configs/*.json")
	for _, name := range []string{"deepseek_v3_flash_mla_absorb", "llama_3_8b", "DeepSeek-V4-Flash"} {
		src, _ := model.Catalogue.Find(name)
		fuzzing.AddExtremes(f, src)
	}
	for _, name := range []string{"kimi_linear_low_rank_gate", "heads_of_sliding_layers"} {
		src, err := os.ReadFile("testdata/configs/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		fuzzing.AddExtremes(f, src)
	}
	src, _ := hardware.Catalogue.Find("H800_IB")
	system, _ := hardware.Read("system.json", src)
	f.Fuzz(func(t *testing.T, src []byte) {
		m, set, doc := model.Read("model.json", src)
		fuzzing.CheckProblems(t, src, doc.Problems())
		if (m == nil) != (doc.Err() != nil) {
			t.Fatalf("model %v with problems %v", m, doc.Err())
		}
		if m != nil && !fuzzing.Skips(src) {
			fuzzing.Evaluate(t, m, set, system)
		}
	})
}
