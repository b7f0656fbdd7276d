package structure

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"throughline/internal/test/long"
)

// servers is packages that listen, start processes or talk to machines; the library needs none of
// them.
var servers = []string{"internal/cli", "internal/mcp", "internal/emulate", "internal/matrix", "internal/bench", "internal/watch"}

// TestLibraryInBrowser: the library is free of servers and processes, and compiles for a browser;
// that takes a minute of one processor where it has not been done before, so that short runs only
// look for packages that have no files there.
func TestLibraryInBrowser(t *testing.T) {
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	deps := strings.Fields(run("list", "-deps", "."))
	if len(deps) < 100 {
		t.Fatalf("only %d packages", len(deps))
	}
	for _, pkg := range servers {
		if slices.Contains(deps, module+pkg) {
			t.Errorf("the library needs %s", pkg)
		}
	}
	if long.Mode() {
		run("build", "-o", os.DevNull, ".")
	}
}
