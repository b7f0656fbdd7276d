package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// call runs the program and returns what it prints.
func call(t *testing.T, args ...string) string {
	t.Helper()
	return callWith(t, "", args...)
}

// callWith runs the program on the content of a file as its standard input.
func callWith(t *testing.T, input string, args ...string) string {
	t.Helper()
	var in []byte
	if input != "" {
		var err error
		if in, err = os.ReadFile(input); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := Run(context.Background(), args, Streams{In: bytes.NewReader(in), Out: &out, Err: &errs}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// The examples in the help of all commands run.
func TestExamples(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "configs"), "configs"); err != nil {
		t.Fatal(err)
	}
	// The files that examples speak of.
	for name, from := range map[string]string{
		"scan.json": "configs/reference_sample.json", "my_scan.json": "configs/reference_sample.json",
		"systems/my_chip.json": "hardware/catalogue/H200.json", "models/my_model.json": "model/catalogue/llama_3_8b.json",
		"config.json": "model/testdata/configs/sliding_window_everywhere.json", "DeepSeek-V3/config.json": "model/testdata/configs/sliding_window_everywhere.json",
	} {
		src, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, src, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("points.csv", []byte("batch\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	examples := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			// What a shell does with the output is not the program's business.
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			line, _, _ = strings.Cut(line, " > ")
			line, input, _ := strings.Cut(line, " < ")
			if args := strings.Fields(line); len(args) > 0 && cmd.Name() != "completion" {
				if args[1] == "init" && len(args) == 3 {
					os.Remove(args[2])
				}
				callWith(t, input, args[1:]...)
				examples++
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(Streams{}))
	if examples < 25 {
		t.Errorf("only %d examples", examples)
	}
}

var (
	shown = regexp.MustCompile("(?s)```\n\\$ throughline ([^\n]*)\n(.*?)```\n")
	kept  = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```[a-z]*\n(.*?)```\n")
)

// What the pages under docs show is what the program prints.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range pages {
		doc, err := filepath.Abs(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) { commands += checkDoc(t, doc) })
	}
	if commands < 5 {
		t.Errorf("%d commands are shown with their output", commands)
	}
}

// checkDoc runs the commands that a page shows with their output, on the files that it shows, and counts them.
func checkDoc(t *testing.T, doc string) (commands int) {
	src, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, f := range kept.FindAllStringSubmatch(string(src), -1) {
		if err := os.WriteFile(f[1], []byte(f[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := shown.ReplaceAllStringFunc(string(src), func(block string) string {
		commands++
		line := shown.FindStringSubmatch(block)[1]
		return "```\n$ throughline " + line + "\n" + call(t, strings.Fields(line)...) + "```\n"
	})
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("-shown +printed:\n%s", diff)
	}
	return commands
}
