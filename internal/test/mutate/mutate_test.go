package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutate: of a small module, the mutants that its tests notice are killed, by the package
// itself or by one that imports it, and the others survive; the files stay as they are.
func TestMutate(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"go.mod": "module throughline\n\ngo 1.26.0\n",
		"a/a.go": "package a\n\nfunc Add(x, y int) int { return x + y }\n\nfunc Less(x, y int) bool { return x < y }\n\n" +
			"func Twice(x int) int { return x * 2 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Error()\n\t}\n}\n",
		"b/b.go":      "package b\n\nimport \"throughline/a\"\n\nfunc Four() int { return a.Twice(2) }\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif Four() != 4 {\n\t\tt.Error()\n\t}\n}\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
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
	for name, text := range files {
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s was changed: %s %v", name, got, err)
		}
	}
	if err := run(t.Context(), []string{"c"}, 1, 1, "none", 1, "out.csv"); err == nil || !strings.Contains(err.Error(), "no package c") {
		t.Errorf("%v", err)
	}
}
