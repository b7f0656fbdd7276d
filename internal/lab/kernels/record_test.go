package kernels

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/internal/test/golden"
)

// The built-in kernels and docs/calibration.md are what the fits give now: nothing that they come
// from has changed since the command wrote them, and no one has changed them by hand.
func TestCatalogueIsCurrent(t *testing.T) {
	r, err := readRecord(golden.Root)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		t.Fatal("no record of the built-in kernels: go run ./cmd/lab kernels writes it")
	}
	changed, absent, err := stale(r, golden.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range changed {
		t.Errorf("changed since the built-in kernels were fitted: %s; run go run ./cmd/lab kernels and look at the difference", what)
	}
	if len(absent) > 0 {
		t.Logf("not compared, the measurements are not there: %s", strings.Join(absent, ", "))
	}
}

// stale lists what changed since the record was written, and absent tables, which are not compared.
func stale(r *Record, folder string) (changed, absent []string, err error) {
	now, err := Inputs(folder)
	if err != nil {
		return nil, nil, err
	}
	if now.Code != r.Code {
		changed = append(changed, "the code of "+strings.Join(code, ", "))
	}
	if now.Systems != r.Systems {
		changed = append(changed, "the peaks of the chips")
	}
	for title, was := range r.Tables {
		is, ok := now.Tables[title]
		switch {
		case !ok:
			absent = append(absent, title)
		case is != was:
			changed = append(changed, "the tables of "+title)
		}
	}
	for name, was := range r.Outputs {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		if sum(content) != was {
			changed = append(changed, name+", by hand")
		}
	}
	slices.Sort(changed)
	slices.Sort(absent)
	return changed, absent, nil
}

// copied is the code of the packages in another place, and what a fit would have written there.
func copied(t *testing.T) (folder string, r *Record) {
	t.Helper()
	root := t.TempDir()
	folder = filepath.Join(root, "project")
	for _, dir := range code {
		names, err := filepath.Glob(filepath.Join(golden.Root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(folder, dir, filepath.Base(name)), string(src))
		}
	}
	put(t, filepath.Join(folder, "measure/H200/ops.csv"), "kind\n")
	put(t, filepath.Join(folder, shared, "ops/l40s_gemm.csv.gz"), "x")
	out := Output{"hardware/kernels/L40S.json", []byte("{}\n")}
	put(t, filepath.Join(folder, out.Name), string(out.Content))
	r, err := Inputs(folder)
	if err != nil {
		t.Fatal(err)
	}
	r.Add(out)
	src, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, RecordName), string(src))
	if r, err = readRecord(folder); err != nil {
		t.Fatal(err)
	}
	return folder, r
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Code, tables and files that changed are named; comments and absent tables are no change.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, folder string)
		want   string
		absent int
	}{
		{"nothing", func(*testing.T, string) {}, "", 0},
		{"code", func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, code[0], "more.go"), "package kernels\n\nconst more = 1\n")
		}, "the code of", 0},
		{"a constant", func(t *testing.T, folder string) {
			edit(t, filepath.Join(folder, code[0], "catalogue.go"), "const idle = 1.5", "const idle = 1.4")
		}, "the code of", 0},
		{"a comment", func(t *testing.T, folder string) {
			edit(t, filepath.Join(folder, code[0], "catalogue.go"), "// measured is", "// Measured is\n// something:")
		}, "", 0},
		{"a table", func(t *testing.T, folder string) { put(t, filepath.Join(folder, shared, "ops/l40s_gemm.csv.gz"), "xy") }, "the tables of L40S", 0},
		{"one more table", func(t *testing.T, folder string) { put(t, filepath.Join(folder, shared, "ops/l40s_nccl.csv.gz"), "") }, "the tables of L40S", 0},
		{"no tables", func(t *testing.T, folder string) {
			if err := os.RemoveAll(filepath.Join(folder, shared)); err != nil {
				t.Fatal(err)
			}
		}, "", 1},
		{"a file", func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, "hardware/kernels/L40S.json"), "{ }\n")
		}, "L40S.json, by hand", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, r := copied(t)
			c.change(t, folder)
			changed, absent, err := stale(r, folder)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(changed, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(absent) != c.absent {
				t.Errorf("changed %q, absent %q, want %q", got, absent, c.want)
			}
		})
	}
}

func edit(t *testing.T, name, from, to string) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(src), from) {
		t.Fatalf("%s has no %q", name, from)
	}
	put(t, name, strings.Replace(string(src), from, to, 1))
}

// readRecord is the record of the last fit, nil where there is none yet.
func readRecord(folder string) (*Record, error) {
	src, err := os.ReadFile(filepath.Join(folder, RecordName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Record
	return &r, json.Unmarshal(src, &r)
}
