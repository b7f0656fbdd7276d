package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/test/long"
)

var update = flag.Bool("update", false, "write the pages anew")

var generated = regexp.MustCompile("(?s)<!-- lab: ([^\n]*) -->\n.*?<!-- end -->\n")

// TestPages: the pages under docs/validation show what the laboratory prints. What was held out
// takes a minute.
func TestPages(t *testing.T) {
	t.Chdir("../..")
	pages, err := filepath.Glob("docs/validation/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		src, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		got := generated.ReplaceAllStringFunc(string(src), func(block string) string {
			blocks++
			line := generated.FindStringSubmatch(block)[1]
			args := strings.Fields(line)
			if slices.ContainsFunc(args, func(arg string) bool {
				_, err := os.Stat(arg)
				return strings.HasPrefix(arg, "../shared") && err != nil
			}) {
				t.Logf("%s is not checked: its measurements are not beside the project", line)
				return block
			}
			if args[0] == "heldout" && !long.Mode() && !*update {
				t.Logf("%s is compared by make test-long", line)
				return block
			}
			var out, errs bytes.Buffer
			if run(args, &out, &errs) != 0 {
				t.Fatalf("%s: %s", line, &errs)
			}
			return "<!-- lab: " + line + " -->\n" + out.String() + "<!-- end -->\n"
		})
		if *update {
			if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(src), got); diff != "" {
			t.Errorf("%s: -shown +printed; run with -update and look at the difference:\n%s", page, diff)
		}
	}
	if blocks == 0 {
		t.Error("no page shows what the laboratory prints")
	}
}

// TestPicture: the picture of published figures is that which the laboratory draws.
func TestPicture(t *testing.T) {
	t.Chdir("../..")
	const tables, shown = "../shared/measurements/published", "docs/pictures/published_errors.svg"
	if _, err := os.Stat(tables); err != nil {
		t.Skip("the public figures are not beside the project")
	}
	if !long.Mode() && !*update {
		t.Skip("drawn by make test-long: it takes half a minute")
	}
	file := filepath.Join(t.TempDir(), "errors.svg")
	if *update {
		file = shown
	}
	var out, errs bytes.Buffer
	if run([]string{"published", tables, "--picture", file}, &out, &errs) != 0 {
		t.Fatal(&errs)
	}
	drawn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if was, err := os.ReadFile(shown); err != nil || !bytes.Equal(was, drawn) {
		t.Errorf("%s is not current; run the test with -update and look at it (%v)", shown, err)
	}
}

// TestHelp: every command says what it does, and one that is not there is refused.
func TestHelp(t *testing.T) {
	for _, name := range []string{"import", "heldout", "bands", "kernels", "published"} {
		var out, errs bytes.Buffer
		if code := run([]string{name, "--help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "lab "+name) {
			t.Errorf("%s: exit code %d: %s%s", name, code, &out, &errs)
		}
	}
	var out, errs bytes.Buffer
	for _, wrong := range [][]string{{"heldot"}, {"heldout", "serving", "x.csv", "--by", "pear"}} {
		errs.Reset()
		if code := run(wrong, &out, &errs); code != 2 || !strings.Contains(errs.String(), wrong[len(wrong)-1]) {
			t.Errorf("%v: exit code %d: %s", wrong, code, &errs)
		}
	}
}
