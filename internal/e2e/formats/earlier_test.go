package formats

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// TestEarlierFiles: files that were written for an earlier version are read, without a warning.
func TestEarlierFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q: %v", files, err)
	}
	for _, name := range files {
		var out, messages bytes.Buffer
		code := cli.Run(t.Context(), []string{"check", name}, cli.Streams{Out: &out, Err: &messages})
		if code != 0 || messages.Len() > 0 || !strings.Contains(out.String(), "no problems") {
			t.Errorf("%s: exit code %d: %s%s", name, code, &out, &messages)
		}
	}
	used := []string{"estimate", "--model", "testdata/0.1/model.json", "--system", "testdata/0.1/system.json", "--batch", "8"}
	var out, messages bytes.Buffer
	if code := cli.Run(t.Context(), used, cli.Streams{Out: &out, Err: &messages}); code != 0 || !strings.Contains(out.String(), "decode step") {
		t.Errorf("exit code %d: %s%s", code, &out, &messages)
	}
}
