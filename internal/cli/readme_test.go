package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// readmes are the same in two languages.
var readmes = []string{"README.md", "README.zh-CN.md"}

// TestReadme: what the READMEs show is what the program prints, and their other commands work.
func TestReadme(t *testing.T) {
	notRacing(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range readmes {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(root, name)
			if shown := checkDoc(t, path); shown < 1 {
				t.Error("no command is shown with its output")
			}
			for _, folder := range []string{"configs", "hardware", "measure", "model"} {
				if err := os.Symlink(filepath.Join(root, folder), folder); err != nil {
					t.Fatal(err)
				}
			}
			commands := 0
			for line := range strings.Lines(string(readFile(t, path))) {
				if args, ok := strings.CutPrefix(strings.TrimSpace(line), "./throughline "); ok {
					call(t, strings.Fields(args)...)
					commands++
				}
			}
			if commands < 5 {
				t.Errorf("only %d commands", commands)
			}
		})
	}
}

var (
	verbatim = regexp.MustCompile("(?ms)^```\n.*?^```\n|^    .*?$")
	link     = regexp.MustCompile(`\]\(([^)]*)\)`)
)

// TestReadmesAgree: the READMEs have the same commands and outputs, the same number of sections, and lead to the same files,
// which exist.
func TestReadmesAgree(t *testing.T) {
	var code, links [2][]string
	var sections [2]int
	for i, name := range readmes {
		text := string(readFile(t, filepath.Join("../..", name)))
		code[i] = verbatim.FindAllString(text, -1)
		sections[i] = strings.Count(text, "\n## ")
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(readmes, l[1]) {
				links[i] = append(links[i], l[1])
			}
			if _, err := os.Stat(filepath.Join("../..", l[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if other := readmes[1-i]; !strings.Contains(strings.Join(strings.SplitN(text, "\n", 5)[:4], "\n"), "("+other+")") {
			t.Errorf("%s does not lead to %s at its top", name, other)
		}
	}
	if diff := cmp.Diff(code[0], code[1]); diff != "" {
		t.Errorf("commands and outputs differ:\n%s", diff)
	}
	if diff := cmp.Diff(links[0], links[1]); diff != "" {
		t.Errorf("links differ:\n%s", diff)
	}
	if sections[0] != sections[1] {
		t.Errorf("%d sections and %d", sections[0], sections[1])
	}
}

// TestAnswers: CONTRIBUTING.md says of every command which package answers it.
func TestAnswers(t *testing.T) {
	_, table, found := strings.Cut(string(readFile(t, "../../CONTRIBUTING.md")), "### Which package answers which command")
	if !found {
		t.Fatal("there is no table of commands")
	}
	for _, c := range newRoot(Streams{}).Commands() {
		if c.IsAvailableCommand() && !regexp.MustCompile("(?m)^\\| [^|]*`"+c.Name()+"`").MatchString(table) {
			t.Errorf("there is no row for %s", c.Name())
		}
	}
}

// TestFirstScreen: what a README shows first fits a terminal of 80 columns.
func TestFirstScreen(t *testing.T) {
	const columns = 80
	for _, name := range readmes {
		text := string(readFile(t, filepath.Join("../..", name)))
		block := shown.FindString(text)
		if at := strings.Index(text, block); block == "" || strings.Count(text[:at], "\n") > 15 {
			t.Errorf("%s: no command with its output on the first screen", name)
		}
		for line := range strings.Lines(block) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
	}
}
