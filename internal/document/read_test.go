package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/files"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.json")
	large := filepath.Join(dir, "large.json")
	for name, size := range map[string]int64{config: 2, large: maxSize + 1} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
	}
	if src, err := ReadFile(files.Machine, config); err != nil || len(src) != 2 {
		t.Errorf("ReadFile = %q, %v", src, err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "confg.json"):      `there is no such file; did you mean "config.json"?`,
		filepath.Join(dir, "x", "confg.json"): `there is no such file`,
		dir:                                   `is a folder; name a file in it`,
		large:                                 `is larger than 64 MiB; this is no file of this program`,
		filepath.Join(config, "x"):            `not a directory`,
	} {
		_, err := ReadFile(files.Machine, path)
		if err == nil {
			t.Errorf("ReadFile(%s) succeeded", path)
			continue
		}
		if got := Unreadable(files.Machine, path, err).Error(); !strings.HasSuffix(got, ": "+want) {
			t.Errorf("problem %q, want %q", got, want)
		}
	}
}
