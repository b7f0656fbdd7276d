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
)

// call runs the program and returns what it prints.
func call(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// The examples in the help of the commands for single points run.
func TestExamplesOfPoints(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("points.csv", []byte("batch\n1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, cmd := range newRoot(Streams{}).Commands() {
		if cmd.Name() != "estimate" && cmd.Name() != "explain" {
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			call(t, strings.Fields(line)[1:]...)
			examples++
		}
	}
	if examples != 8 {
		t.Errorf("%d examples", examples)
	}
	if _, err := os.Stat("results.csv"); err != nil {
		t.Error(err)
	}
}

var (
	shown = regexp.MustCompile("(?s)```\n\\$ throughline ([^\n]*)\n(.*?)```\n")
	kept  = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```[a-z]*\n(.*?)```\n")
)

// What docs/explain.md shows is what the program prints.
func TestDocsOfPoints(t *testing.T) {
	doc, err := filepath.Abs("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
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
	commands := 0
	got := shown.ReplaceAllStringFunc(string(src), func(block string) string {
		commands++
		line := shown.FindStringSubmatch(block)[1]
		return "```\n$ throughline " + line + "\n" + call(t, strings.Fields(line)...) + "```\n"
	})
	if commands < 4 {
		t.Errorf("%d commands", commands)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/explain.md (-shown +printed):\n%s", diff)
	}
}
