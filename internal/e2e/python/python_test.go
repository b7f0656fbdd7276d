// Package python tests the Python package with the interpreter that is installed.
package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// asProgram makes the test binary the program that the package runs.
const asProgram = "THROUGHLINE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// TestPackage runs the tests of the package; what of them skips is said.
func TestPackage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the Python package is not tested")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", filepath.FromSlash("../../../python/tests/test_throughline.py"), "-v")
	cmd.Env = append(os.Environ(), asProgram+"=1", "THROUGHLINE_PROGRAM="+program)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "skipped") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
