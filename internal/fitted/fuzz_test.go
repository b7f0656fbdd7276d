package fitted

import (
	"testing"

	"throughline/internal/test/damage"
	"throughline/internal/test/fuzzing"
)

// FuzzFile: a file of corrections is read, or has problems with a place in it.
func FuzzFile(f *testing.F) {
	damage.Add(f, `{"format": "fitted", "deployments": [{"model": "Llama-3.1-8B", "system": "H200", "ttft": 1.1, "tpot": 0.9, "runs": 12}]}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, doc := Read("fitted.json", src)
		fuzzing.CheckProblems(t, src, doc.Problems())
		if (file == nil) != (doc.Err() != nil) {
			t.Fatalf("file %v with problems %v", file, doc.Err())
		}
	})
}
