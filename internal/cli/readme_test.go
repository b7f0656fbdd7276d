package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// TestReadme runs every command line of the README, and compares the table it shows with what comes out.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(src)
	t.Chdir(t.TempDir())
	for _, folder := range []string{"configs", "hardware", "measure", "model"} {
		if err := os.Symlink(filepath.Join(root, folder), folder); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	for line := range strings.Lines(readme) {
		line = strings.TrimSpace(line)
		args, ok := strings.CutPrefix(line, "./throughline ")
		first := false
		if !ok {
			args, first = strings.CutPrefix(line, "go run ./cmd/throughline ")
		}
		if !ok && !first {
			continue
		}
		commands++
		var out, errs bytes.Buffer
		if code := cli.Run(context.Background(), strings.Fields(args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 120}); code != 0 {
			t.Errorf("%s: exit code %d: %s", line, code, &errs)
		}
		if first && !strings.Contains(readme, "\n```\n"+out.String()+"```\n") {
			t.Errorf("the README does not show what %q prints:\n%s", line, &out)
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands found in the README", commands)
	}
}
