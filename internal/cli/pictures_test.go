package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"throughline/internal/picture"
)

// shownPicture is the command that drew a picture of the documentation, and the picture below it.
var shownPicture = regexp.MustCompile(`<!-- drawn: throughline ([^\n]*) -o (\S+) -->\n!\[([^\]]+)\]\(([^)]+)\)`)

// testPicture is a picture that another test draws and compares.
var testPicture = regexp.MustCompile(`<!-- drawn by: go test [^\n]* -o (\S+) -->\n!\[[^\]]+\]\(([^)]+)\)`)

// documents are the pages under docs, seen from the folder of this package.
func documents(t *testing.T) (out []string) {
	t.Helper()
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, names...)
	}
	return out
}

// The pictures of the documentation are those that the program draws, or the tests from a table,
// and none lies about.
func TestPictures(t *testing.T) {
	notRacing(t)
	pages := append(documents(t), "../../README.md", "../../README.zh-CN.md")
	for i, page := range pages {
		name, err := filepath.Abs(page)
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = name
	}
	t.Chdir("../..") // where commands find measurements
	shown := map[string]bool{}
	for _, page := range pages {
		src := string(readFile(t, page))
		byCommand, byTable := shownPicture.FindAllStringSubmatch(src, -1), tablePicture.FindAllStringSubmatch(src, -1)
		byTest := testPicture.FindAllStringSubmatch(src, -1)
		if n, said := strings.Count(src, "!["), len(byCommand)+len(byTable)+len(byTest); n != said {
			t.Errorf("%s shows %d pictures, and says of %d how they were drawn", page, n, said)
		}
		linked := func(file, link string) bool {
			at, err := filepath.Abs(file)
			if err != nil || at != filepath.Join(filepath.Dir(page), link) {
				t.Errorf("%s: %s is drawn, %s is shown (%v)", page, file, link, err)
			}
			defer func() { shown[file] = true }()
			return !shown[file]
		}
		for _, m := range byTest {
			linked(m[1], m[2])
		}
		for _, m := range byTable {
			if linked(m[3], m[5]) {
				comparePicture(t, m[3], drawTable(t, m[1], strings.Split(m[2], "; "), m[4]))
			}
		}
		for _, m := range byCommand {
			if !linked(m[2], m[4]) || !drawnNow(t, m[1]) {
				continue
			}
			file := filepath.Join(t.TempDir(), filepath.Base(m[2]))
			call(t, append(strings.Fields(m[1]), "-o", file)...)
			comparePicture(t, m[2], readFile(t, file))
		}
	}
	files, err := os.ReadDir("docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !shown["docs/pictures/"+f.Name()] {
			t.Errorf("no page shows docs/pictures/%s", f.Name())
		}
	}
}

// drawnNow reports whether the command of a picture can run here.
func drawnNow(t *testing.T, command string) bool {
	for _, arg := range strings.Fields(command) {
		if _, err := os.Stat(arg); strings.HasPrefix(arg, "../") && err != nil {
			t.Logf("not drawn: the measurements of %s are not beside the project", command)
			return false
		}
	}
	return true
}

// comparePicture fails unless the file holds the picture; with -update it writes the file first.
func comparePicture(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(name); err != nil || !bytes.Equal(was, got) {
		t.Errorf("%s is not current; run the test with -update and look at it", name)
	}
}

// The page has a row for every chart.
func TestChartsPage(t *testing.T) {
	page := string(readFile(t, "../../docs/charts.md"))
	rows := 0
	row := func(command, kind, doc string) {
		rows++
		if line := fmt.Sprintf("| `%s` | `%s` | %s |\n", command, kind, doc); !strings.Contains(page, line) {
			t.Errorf("docs/charts.md has no row %s", line)
		}
	}
	for _, k := range picture.StepKinds {
		row("explain", k.Name, k.Doc)
	}
	for _, k := range picture.PlanKinds {
		row("plan", k.Name, k.Doc)
	}
	for _, k := range picture.LoadKinds {
		row("simulate", k.Name, k.Doc)
	}
	for _, k := range picture.MeasuredKinds {
		row("validate", k.Name, k.Doc)
	}
	for _, k := range picture.RunKinds {
		row("run", k.Name, k.Doc)
	}
	if n := strings.Count(page, "\n| `"); n < rows {
		t.Errorf("%d rows", n)
	}
}
