package structure

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"throughline/internal/test/golden"
)

var (
	exact = regexp.MustCompile(`^\d+\.\d+\.\d+(-[\w.]+)?$`)
	runs  = regexp.MustCompile(`\b(npx [^\n]*?[\w-]+@(\S+)|npm (install|i) )`)
)

// TestPinned: what npm brings for tests is of one version each, by a lock that names no server;
// nothing else asks npm for a range.
func TestPinned(t *testing.T) {
	packages, err := filepath.Glob(filepath.Join(golden.Root, "internal/e2e/*/package.json"))
	if err != nil || len(packages) == 0 {
		t.Fatalf("%d packages: %v", len(packages), err)
	}
	for _, name := range packages {
		var p struct{ Dependencies map[string]string }
		if err := json.Unmarshal(read(t, name), &p); err != nil {
			t.Fatal(err)
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity string }
		}
		src := read(t, filepath.Join(filepath.Dir(name), "package-lock.json"))
		if err := json.Unmarshal(src, &lock); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(src, []byte("://")) {
			t.Errorf("the lock of %s names a server; write it with --omit-lockfile-registry-resolved", name)
		}
		for of, version := range p.Dependencies {
			if at := lock.Packages["node_modules/"+of]; !exact.MatchString(version) || at.Version != version || at.Integrity == "" {
				t.Errorf("%s: %s is of version %s, locked to %+v", name, of, version, at)
			}
		}
	}
	for _, name := range []string{"Makefile", "scripts/browser.sh"} {
		for _, found := range runs.FindAllStringSubmatch(string(read(t, filepath.Join(golden.Root, name))), -1) {
			if !exact.MatchString(found[2]) {
				t.Errorf("%s: %s takes no exact version", name, found[0])
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
