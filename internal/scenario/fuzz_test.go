package scenario

import (
	"errors"
	"testing"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/test/damage"
	"throughline/internal/test/fuzzing"
)

// FuzzFile: a scenario is read, or has problems with a place in it.
func FuzzFile(f *testing.F) {
	fuzzing.AddFiles(f, "../../configs/gpt2_scenario.json")
	damage.Add(f, `{"model": "gpt2", "prefill": [{"system": "H200"}], "decode": [{"system": "H100_SXM"}], "isl": [128], "osl": [64], "batch": [1, 2]}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		q, warnings, err := Read(files.Held(nil), "scenario.json", src)
		fuzzing.CheckProblems(t, src, warnings)
		var problems *document.Error
		switch {
		case errors.As(err, &problems):
			fuzzing.CheckProblems(t, src, problems.Problems)
		case err == nil && q == nil:
			t.Error("neither a question nor a problem")
		}
	})
}
