package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for _, folder := range []string{"configs", "hardware", "model"} {
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
		if code := cli.Run(context.Background(), strings.Fields(args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
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

// TestDocs runs the commands that the pages under docs show with their output, and compares it.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	shown := 0
	for _, page := range pages {
		src, err := os.ReadFile(filepath.Join("docs", filepath.Base(page)))
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(src), "\n```") {
			command, want, ok := strings.Cut(strings.TrimPrefix(block, "\n"), "\n")
			args, isCommand := strings.CutPrefix(command, "$ throughline ")
			if i%2 == 0 || !ok || !isCommand {
				continue
			}
			shown++
			var out, errs bytes.Buffer
			cli.Run(context.Background(), strings.Fields(args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if diff := cmp.Diff(want+"\n", out.String()); diff != "" {
				t.Errorf("%s: %s (-shown +printed):\n%s%s", page, command, diff, &errs)
			}
		}
	}
	if shown == 0 {
		t.Error("no command with output is shown")
	}
}
