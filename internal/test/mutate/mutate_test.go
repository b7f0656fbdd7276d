//go:build unix

package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// small is a module whose tests notice some changes.
var small = map[string]string{
	"go.mod": "module throughline\n\ngo 1.26.0\n",
	"a/a.go": "package a\n\nfunc Add(x, y int) int { return x + y }\n\nfunc Less(x, y int) bool { return x < y }\n\n" +
		"func Twice(x int) int { return x * 2 }\n",
	"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Error()\n\t}\n}\n",
	"b/b.go":      "package b\n\nimport \"throughline/a\"\n\nfunc Four() int { return a.Twice(2) }\n",
	"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif Four() != 4 {\n\t\tt.Error()\n\t}\n}\n",
}

// inside puts files into a folder of their own, and goes there.
func inside(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMutate: of a small module, the mutants that its tests notice are killed, by the package
// itself or by one that imports it, and the others survive; the files stay as they are.
func TestMutate(t *testing.T) {
	inside(t, small)
	if err := run(t.Context(), []string{"a"}, 100, 1, "all", 2, "out.csv"); err != nil {
		t.Fatal(err)
	}
	const want = `file,line,mutation,status
a/a.go,3,x + y => x - y,killed
a/a.go,5,x < y => x <= y,survived
a/a.go,5,x < y => x >= y,survived
a/a.go,7,x * 2 => x / 2,killed
a/a.go,7,2 => (2 + 1),killed
`
	if got, err := os.ReadFile("out.csv"); err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	for name, text := range small {
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s was changed: %s %v", name, got, err)
		}
	}
	if err := run(t.Context(), []string{"c"}, 1, 1, "none", 1, "out.csv"); err == nil || !strings.Contains(err.Error(), "no package c") {
		t.Errorf("%v", err)
	}
}

// TestBroken: tests that fail without a change kill no mutant, be they those of a package that
// imports the changed one.
func TestBroken(t *testing.T) {
	files := maps.Clone(small)
	files["b/b_test.go"] = strings.Replace(files["b/b_test.go"], "!= 4", "!= 5", 1)
	inside(t, files)
	if err := run(t.Context(), []string{"a"}, 100, 1, "all", 1, "out.csv"); err == nil || !strings.Contains(err.Error(), "b fails without a change") {
		t.Errorf("%v", err)
	}
}

// TestInterrupted: what was judged before an interruption is in the table, and no test runs on.
func TestInterrupted(t *testing.T) {
	files := maps.Clone(small)
	files["a/a_test.go"] = "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(1) == 2 {\n\t\treturn\n\t}\n" +
		"\tfor {\n\t\tif os.WriteFile(\"../beat\", nil, 0o666) != nil {\n\t\t\treturn\n\t\t}\n\t\ttime.Sleep(time.Millisecond)\n\t}\n}\n"
	inside(t, files)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, []string{"a"}, 100, 1, "none", 1, "out.csv") }()
	for _, err := os.Stat("beat"); err != nil; _, err = os.Stat("beat") { // a mutant that never ends
		select {
		case err := <-ended:
			t.Fatalf("ended without a mutant that never ends: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile("out.csv"); err != nil || !strings.HasPrefix(string(got), "file,line,mutation,status\n") {
		t.Errorf("%s %v", got, err)
	}
	if err := os.Remove("beat"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat("beat"); err == nil {
		t.Error("a test runs on after the interruption")
	}
}
