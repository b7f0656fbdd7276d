package hardware_test

import (
	"testing"

	"throughline/hardware"
	"throughline/internal/test/fuzzing"
	"throughline/internal/test/racing"
	"throughline/model"
)

// FuzzSystem reads files that may be anything: there are problems with a place in the file, or a
// system that models can be evaluated on.
func FuzzSystem(f *testing.F) {
	if racing.Enabled {
		f.Skip("nothing runs beside")
	}
	fuzzing.AddCatalogue(f, hardware.Catalogue)
	fuzzing.AddFiles(f, "../internal/cli/testdata/bad/system/*.json")
	src, _ := hardware.Catalogue.Find("SOW-S1")
	fuzzing.AddExtremes(f, src)
	type loaded struct {
		model    *model.Model
		settings *model.Settings
	}
	var models []loaded
	for _, name := range []string{"deepseek_v3_flash_mla_absorb", "llama_3_8b"} {
		src, _ := model.Catalogue.Find(name)
		m, set, doc := model.Read(name, src)
		if err := doc.Err(); err != nil {
			f.Fatal(err)
		}
		models = append(models, loaded{m, set})
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, doc := hardware.Read("system.json", src)
		fuzzing.CheckProblems(t, src, doc.Problems())
		if (s == nil) != (doc.Err() != nil) {
			t.Fatalf("system %v with problems %v", s, doc.Err())
		}
		if s == nil || fuzzing.Skips(src) {
			return
		}
		for _, m := range models {
			fuzzing.Evaluate(t, m.model, m.settings, s)
		}
	})
}
