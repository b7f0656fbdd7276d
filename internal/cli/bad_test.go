package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A problem has a position, and what is wrong after it.
var positioned = regexp.MustCompile(`^[^:]+\.json:[1-9][0-9]*:[1-9][0-9]*: .`)

// TestBadInput runs the program on every file of testdata/bad. What it says is in the .txt file
// beside it.
func TestBadInput(t *testing.T) {
	notRacing(t)
	t.Chdir(filepath.Join("testdata", "bad"))
	files, err := filepath.Glob(filepath.Join("*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	tested, withSeveral := 0, 0
	for _, file := range files {
		kind := filepath.Dir(file)
		if kind == "parts" {
			continue // files that others refer to
		}
		tested++
		t.Run(file, func(t *testing.T) {
			said := refused(t, "check", file)
			if kind == "runtime" {
				if diff := cmp.Diff(said, refused(t, "run", "-c", file)); diff != "" {
					t.Errorf("check and run disagree (-check +run):\n%s", diff)
				}
			}
			if problems(t, said) >= 3 {
				withSeveral++
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(said), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), said); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
	if tested < 100 || withSeveral < 15 {
		t.Errorf("%d files, %d of them with three problems or more", tested, withSeveral)
	}
}

// refused runs the program, which must refuse its input and leave no trace, and returns what it
// says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	if code != exitBadInput {
		t.Errorf("%v: exit code %d", args, code)
	}
	if stdout.Len() > 0 {
		t.Errorf("%v: wrote to stdout:\n%s", args, &stdout)
	}
	if _, err := os.Stat("outputs"); err == nil {
		t.Errorf("%v: the output folder exists", args)
	}
	return stderr.String()
}

// problems counts the problems among what the program said, each of which must have a position.
func problems(t *testing.T, said string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(said) {
		switch {
		case strings.HasPrefix(line, "throughline: "), strings.HasPrefix(line, "warning: "):
		case positioned.MatchString(line):
			n++
		default:
			t.Errorf("no position: %s", line)
		}
	}
	return n
}
