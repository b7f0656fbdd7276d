package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A door leads to what it holds and refuses everything else alike; one of nil leads nowhere.
func TestDoors(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	var none *Door
	for _, d := range []*Door{none, Held(nil), Held(map[string][]byte{"other": nil}), none.Noted(func(string) {})} {
		for _, name := range []string{there, there + "not", filepath.Dir(there), "", ".", "other/", "./other"} {
			_, open := d.Open(name)
			_, stat := d.Stat(name)
			_, list := d.ReadDir(name)
			for _, err := range []error{open, stat, list} {
				if !errors.Is(err, ErrRefused) || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%q: %v", name, err)
				}
			}
		}
	}
	var noted []string
	for _, d := range []*Door{Held(map[string][]byte{there: []byte("text")}), Machine, Machine.Noted(func(name string) { noted = append(noted, name) })} {
		f, err := d.Open(there)
		if err != nil {
			t.Fatal(err)
		}
		src, err := io.ReadAll(f)
		info, _ := f.Stat()
		same, statErr := d.Stat(there)
		if string(src) != "text" || err != nil || info.Size() != 4 || statErr != nil || same.Size() != 4 || same.Name() != "there" || same.IsDir() {
			t.Errorf("%q, %v, %v, %v", src, err, info, same)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(noted) != 2 || noted[0] != there {
		t.Errorf("noted %q", noted)
	}
	held := Held(map[string][]byte{there: nil}) // and this machine has one of that name
	if _, err := held.ReadDir(filepath.Dir(there)); !errors.Is(err, ErrRefused) {
		t.Errorf("a folder that is not held: %v", err)
	}
	if _, err := held.ReadDir(there); err == nil || !strings.HasSuffix(err.Error(), "is no folder") {
		t.Errorf("a file is no folder: %v", err)
	}
	if about, err := held.Stat(there); err != nil || about.Mode() != 0o444 || !about.ModTime().IsZero() {
		t.Errorf("what is held is no file that may be read: %v, %v", about, err)
	}
}

// Files are held by their names with and without folders; two of one name are told.
func TestRead(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if strings.HasPrefix(name, "gone") {
			return nil, errors.New(name + ": gone")
		}
		return []byte("of " + name), nil
	}
	got, err := Read(read, []string{"a/x.json", "y.json", "y.json"})
	if err != nil || len(got) != 3 || string(got["x.json"]) != "of a/x.json" || string(got["a/x.json"]) != "of a/x.json" || string(got["y.json"]) != "of y.json" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Read(read, []string{"a/x.json", "b/x.json", "gone", "gone2"}); err == nil || !strings.Contains(err.Error(), "a/x.json and b/x.json would both be called x.json") || !strings.Contains(err.Error(), "gone2: gone") {
		t.Errorf("%v", err)
	}
}
