package model_test

import (
	"testing"

	"throughline/hardware"
	"throughline/internal/fuzzing"
	"throughline/model"
)

// FuzzModel reads files that may be anything: there are problems with a place in the file, or a model that can be
// evaluated.
func FuzzModel(f *testing.F) {
	fuzzing.AddCatalogue(f, model.Catalogue)
	fuzzing.AddFiles(f, "../internal/cli/testdata/bad/model/*.json")
	for _, name := range model.Catalogue.Names() {
		src, _ := model.Catalogue.Find(name)
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
		if m != nil {
			fuzzing.Evaluate(t, m, set, system)
		}
	})
}
