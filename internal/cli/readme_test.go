package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// readmes are the same in two languages.
var readmes = []string{"README.md", "README.zh-CN.md"}

// disappointing is what no first example should say.
var disappointing = regexp.MustCompile(`not steady|too short|no value between[^\n]*`)

// TestReadmeErrors: the READMEs say how far off the built-in kernels are on average, as the example
// beside it prints it.
func TestReadmeErrors(t *testing.T) {
	notRacing(t)
	out := call(t, "validate", "forward", "../../measure/H200/forward.csv", "--system", "H200", "--by", "kind")
	mean := func(phase string) string {
		found := regexp.MustCompile(`│ ` + phase + ` +│ +\d+ │ +\d+ │ ([\d.]+)%`).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("no mean of %s in\n%s", phase, out)
		}
		v, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%.0f%%", v)
	}
	for name, format := range map[string]string{"README.md": "prefill is off by %s on average and decode by %s", "README.zh-CN.md": "预填充 %s、解码 %s"} {
		text := strings.Join(strings.Fields(string(readFile(t, filepath.Join("../..", name)))), " ")
		if want := fmt.Sprintf(format, mean("prefill"), mean("decode")); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
}

// TestReadmeQuotes: the table of errors is that of docs/validation.md, and both READMEs have its
// figures.
func TestReadmeQuotes(t *testing.T) {
	page := string(readFile(t, "../../docs/validation.md"))
	figure := regexp.MustCompile(`\d[\d.,]*%?`)
	var figures [2][]string
	for i, name := range readmes {
		rows := 0
		for line := range strings.Lines(string(readFile(t, filepath.Join("../..", name)))) {
			if !strings.HasPrefix(line, "| ") || !strings.Contains(line, "%") {
				continue
			}
			rows++
			figures[i] = append(figures[i], figure.FindAllString(line, -1)...)
			if i == 0 && !strings.Contains(page, line) {
				t.Errorf("docs/validation.md has no row %s", line)
			}
		}
		if rows == 0 {
			t.Errorf("%s has no table of errors", name)
		}
	}
	if !slices.Equal(figures[0], figures[1]) {
		t.Errorf("%q and %q", figures[0], figures[1])
	}
}

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
					if said := disappointing.FindString(call(t, strings.Fields(args)...)); said != "" {
						t.Errorf("%s says %q", args, said)
					}
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

// TestReadmesAgree: the READMEs have the same commands and outputs, the same number of sections,
// and lead to the same files, which exist.
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
