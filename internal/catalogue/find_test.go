package catalogue_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/files"
	"throughline/model"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A reference is a file, a folder with a config.json, a built-in name, or a repository in the cache
// of Hugging Face.
func TestLocate(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HOME", "hf")
	write(t, "mine.json", "mine")
	write(t, "H200", "a file of that name")
	write(t, "checkpoints/my-7B/config.json", "my-7B")
	write(t, "DeepSeek-V3/README.md", "no config")
	write(t, "runs/beside.json", "beside")
	write(t, "hf/hub/models--acme--Unheard-7B/refs/main", "abc\n")
	write(t, "hf/hub/models--acme--Unheard-7B/snapshots/old/config.json", "old")
	write(t, "hf/hub/models--acme--Unheard-7B/snapshots/abc/config.json", "unheard")
	write(t, "elsewhere/models--acme--Other/snapshots/f00/config.json", "other")
	for _, c := range []struct{ ref, beside, name, content, checkpoint string }{
		{"mine.json", "", "mine.json", "mine", "mine.json"},
		{"checkpoints/my-7B", "", "checkpoints/my-7B/config.json", "my-7B", "checkpoints/my-7B"},
		{"checkpoints/my-7B/", "", "checkpoints/my-7B/config.json", "my-7B", "checkpoints/my-7B/"},
		{"checkpoints/my-7B/config.json", "", "checkpoints/my-7B/config.json", "my-7B", "checkpoints/my-7B"},
		{"beside.json", "runs", "runs/beside.json", "beside", "runs/beside.json"},
		{"acme/Unheard-7B", "", "hf/hub/models--acme--Unheard-7B/snapshots/abc/config.json", "unheard", "acme/Unheard-7B"},
		{"hf/hub/models--acme--Unheard-7B", "", "hf/hub/models--acme--Unheard-7B/snapshots/abc/config.json", "unheard", "acme/Unheard-7B"},
		{"hf/hub/models--acme--Unheard-7B/snapshots/old", "", "hf/hub/models--acme--Unheard-7B/snapshots/old/config.json", "old", "acme/Unheard-7B"},
		{"elsewhere/models--acme--Other", "", "elsewhere/models--acme--Other/snapshots/f00/config.json", "other", "acme/Other"},
	} {
		f, err := model.Catalogue.Locate(c.ref, catalogue.Places{In: files.Machine, Beside: c.beside})
		if err != nil || f.Name != filepath.FromSlash(c.name) || string(f.Source) != c.content || f.Checkpoint != c.checkpoint {
			t.Errorf("%s: %q, %q, %q, %v", c.ref, f.Name, f.Source, f.Checkpoint, err)
		}
	}
	// The folder of that name has no config.json; the built-in model has.
	if f, err := model.Catalogue.Locate("DeepSeek-V3", catalogue.Places{In: files.Machine}); err != nil || f.Name != "DeepSeek-V3 (built in)" {
		t.Errorf("%q, %v", f.Name, err)
	}
	if f, err := hardware.Catalogue.Locate("H200", catalogue.Places{In: files.Machine}); err != nil || string(f.Source) != "a file of that name" {
		t.Errorf("%q, %v", f.Name, err)
	}
	t.Setenv("HF_HUB_CACHE", "elsewhere")
	if f, err := model.Catalogue.Locate("acme/Other", catalogue.Places{In: files.Machine}); err != nil || string(f.Source) != "other" {
		t.Errorf("%q, %v", f.Name, err)
	}
	_, err := model.Catalogue.Locate("acme/Unheard-7B", catalogue.Places{In: files.Machine})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `"acme/Unheard-7B" is no file and no built-in model`) {
		t.Error(err)
	}
	if _, err := hardware.Catalogue.Locate("checkpoints/my-7B", catalogue.Places{In: files.Machine}); err == nil {
		t.Error("a folder is no system")
	}
}
