//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"throughline/internal/test/golden"
	"throughline/internal/test/long"
)

// TestSoak: a minute of it.
func TestSoak(t *testing.T) {
	if !long.Mode() {
		t.Skip("takes a minute")
	}
	t.Chdir(golden.Root)
	if err := soak(t.Context(), time.Minute, uint64(time.Now().Unix()), 2); err != nil {
		t.Error(err)
	}
}

// TestWhole: what a scan left is compared with a fresh one byte by byte; without room it may end,
// and only so.
func TestWhole(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	fresh := folder(map[string]string{"scan.json": "{}", "part-0": "abc", "part-1": "def"})
	const full = "no space left on device"
	for _, c := range []struct {
		files  map[string]string
		killed bool
		code   string
		said   string
		want   string
	}{
		{map[string]string{"scan.json": "{}", "part-0": "abc", "part-1": "def"}, false, "0", "", ""},
		{map[string]string{"scan.json": "{}", "part-1": "def"}, false, "3", full, ""},
		{nil, false, "3", full, ""},
		{map[string]string{"part-1": "de"}, false, "3", full, "part-1"},
		{map[string]string{"scan.json": "{}", "part-1.parquet": "d"}, false, "3", full, "part-1.parquet"},
		{map[string]string{"scan.json": "other", "part-1.parquet": "d"}, false, "3", full, ""}, // of other points
		{map[string]string{"part-2": ""}, true, "137", "", "part-2"},
		{map[string]string{".unfinished-1": "d", "try-0-851-5890ab9f": ""}, true, "137", "", ""},
		{map[string]string{".unfinished-1": "d"}, false, "3", full, ".unfinished-1"},
		{nil, false, "3", "no such file", "exit status 3"},
		{nil, false, "2", full, "exit status 2"},
		{nil, true, "137", "panic: here", "crashes"},
	} {
		ended := exec.Command("sh", "-c", "exit "+c.code).Run()
		err := (&commands{}).whole(folder(c.files), fresh, c.killed, ended, []byte(c.said))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
