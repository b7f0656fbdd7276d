package matrix

import (
	"errors"
	"testing"

	"throughline/internal/document"
	"throughline/internal/test/damage"
	"throughline/internal/test/fuzzing"
)

// FuzzFile: a file is read, or has problems with a place in it.
func FuzzFile(f *testing.F) {
	fuzzing.AddFiles(f, "../../configs/matrix/*.yaml")
	damage.Add(f, "servers:\n- {name: s, command: [sh, -c, x], url: 'http://127.0.0.1:8000', environment: {A: b}}\nclients: [{name: c, command: 'true'}]\n",
		`{"clients": [{"name": "c", "command": "bench", "deployment": {"model": "Llama-3.1-8B", "system": "H200", "tp": 2}}]}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, warnings, err := Read("matrix.yaml", src)
		fuzzing.CheckProblems(t, src, warnings)
		var problems *document.Error
		switch {
		case errors.As(err, &problems):
			fuzzing.CheckProblems(t, src, problems.Problems)
		case err != nil:
			t.Errorf("an error without a place: %v", err)
		case len(file.Clients) == 0:
			t.Error("neither clients nor a problem")
		}
	})
}
