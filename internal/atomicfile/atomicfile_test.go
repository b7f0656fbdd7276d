package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// holds checks the content of a file, or that there is none.
func holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	switch {
	case want == "" && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("%s is there: %q, %v", name, got, err)
	case want != "" && (err != nil || string(got) != want):
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

// names are what a folder holds.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func put(t *testing.T, name, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "new", "a.csv")
	for _, content := range []string{"first", "second"} {
		if err := Write(t.Context(), name, text(content)); err != nil {
			t.Fatal(err)
		}
		holds(t, name, content)
	}
	if got := names(t, filepath.Dir(name)); got != "a.csv" {
		t.Errorf("left %q", got)
	}
}

// TestFailure: whatever goes wrong, the file stays as it was and nothing lies beside it.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	put(t, name, "before", 0o644)
	cancelled, cancel := context.WithCancel(t.Context())
	broken := errors.New("broken")
	cases := map[string]struct {
		ctx   context.Context
		write func(io.Writer) error
		want  error
	}{
		"writing fails": {t.Context(), func(w io.Writer) error { io.WriteString(w, "half"); return broken }, broken},
		"cancelled while writing": {cancelled, func(w io.Writer) error {
			cancel()
			_, err := io.WriteString(w, "whole")
			return err
		}, context.Canceled},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			if err := Write(c.ctx, name, c.write); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			holds(t, name, "before")
			if got := names(t, dir); got != "a.csv" {
				t.Errorf("left %q", got)
			}
		})
	}
	if err := Write(t.Context(), dir, text("x")); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("over a folder: %v", err)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.json")
	if err := Create(t.Context(), name, text("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), name, text("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	// It appears while the content is being written.
	other := filepath.Join(dir, "b.json")
	err := Create(t.Context(), other, func(w io.Writer) error {
		put(t, other, "theirs", 0o644)
		return text("ours")(w)
	})
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file that came in between: %v", err)
	}
	holds(t, name, "first")
	holds(t, other, "theirs")
	if got := names(t, dir); got != "a.json b.json" {
		t.Errorf("left %q", got)
	}
}

func TestSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o777); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"link": "real/there", "chain": "link", "dangling": "real/new", "folder": "real", "round": "round"}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	put(t, filepath.Join(real, "there"), "before", 0o644)
	for name, target := range map[string]string{"chain": "there", "dangling": "new", "folder/deeper": "deeper"} {
		if err := Write(t.Context(), filepath.Join(dir, name), text(name)); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(real, target), name)
	}
	for name, to := range links {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != to {
			t.Errorf("the link %s: %q, %v", name, got, err)
		}
	}
	if err := Write(t.Context(), filepath.Join(dir, "round"), text("x")); err == nil {
		t.Error("written to a link to itself")
	}
}

// TestSet: if one of several files cannot be put in its place, the others are as they were.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("a"), "old a", 0o644)
	write := func(names ...string) error {
		var s Set
		defer s.Discard()
		for _, n := range names {
			if err := s.Add(t.Context(), at(n), text("new "+n)); err != nil {
				return err
			}
			if n == "c" {
				// A folder takes the place of the file after it was written.
				if err := os.MkdirAll(at("c/x"), 0o777); err != nil {
					return err
				}
			}
		}
		return s.Commit(t.Context())
	}
	if err := write("a", "b", "c"); err == nil {
		t.Fatal("a file replaced a folder")
	}
	holds(t, at("a"), "old a")
	holds(t, at("b"), "")
	if got := names(t, dir); got != "a c" {
		t.Errorf("left %q", got)
	}
	if err := write("a", "b"); err != nil {
		t.Fatal(err)
	}
	holds(t, at("a"), "new a")
	holds(t, at("b"), "new b")
	if got := names(t, dir); got != "a b c" {
		t.Errorf("left %q", got)
	}
}

// TestAbandon: a process that ends while it writes leaves nothing.
func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := Write(ctx, filepath.Join(dir, "a"), func(w io.Writer) error {
		cancel()
		Abandon()
		if got := names(t, dir); got != "" {
			t.Errorf("left %q", got)
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := Write(ctx, filepath.Join(dir, "b"), text("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("a file begun after that: %v", err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left %q", got)
	}
}

func TestLongName(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("é", 125))
	if err := Write(t.Context(), name, text("x")); err != nil {
		t.Error(err)
	}
	holds(t, name, "x")
}

// TestBackups: a file that is replaced alone needs no second name; of a pair the first keeps one
// until the other has its own, and is put back when that fails.
func TestBackups(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "old", 0o644)
	var seen []string
	published = func() { seen = append(seen, names(t, dir)) }
	defer func() { published = func() {} }()
	if err := Write(t.Context(), filepath.Join(dir, "a"), text("new")); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0] != "a" {
		t.Errorf("beside a file that is replaced: %q", seen)
	}
	var s Set
	defer s.Discard()
	for _, n := range []string{"a", "b"} {
		if err := s.Add(t.Context(), filepath.Join(dir, n), text("newest")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "b", "x"), 0o777); err != nil { // takes the place of the second
		t.Fatal(err)
	}
	if err := s.Commit(t.Context()); err == nil {
		t.Fatal("a file replaced a folder")
	}
	holds(t, filepath.Join(dir, "a"), "new")
}
