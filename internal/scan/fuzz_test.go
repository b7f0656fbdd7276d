package scan

import (
	"errors"
	"testing"

	"throughline/internal/document"
	"throughline/internal/test/damage"
	"throughline/internal/test/fuzzing"
)

// FuzzFile: a scan is read, or has problems with a place in it.
func FuzzFile(f *testing.F) {
	damage.Add(f, `{"command": "estimate", "settings": {"model": "Llama-3.1-8B", "system": "H200", "batch": "1:1k:x2", "tp": "1,2"}, "where": ["tp<=batch"]}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		_, err := ReadFile("scan.json", src)
		var problems *document.Error
		switch {
		case errors.As(err, &problems):
			fuzzing.CheckProblems(t, src, problems.Problems)
		case err != nil:
			t.Errorf("an error without a place: %v", err)
		}
	})
}

// FuzzCondition: what is read as a condition says why it holds or not, and is read again from its
// words.
func FuzzCondition(f *testing.F) {
	damage.Add(f, "tp*pp<=gpus", "isl+osl<=32k", "system=H200", "tp!=3")
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := ParseCondition(string(src)); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
