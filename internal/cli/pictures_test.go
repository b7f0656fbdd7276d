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

// The pictures of the documentation are those that the program draws, and none lies about.
func TestPictures(t *testing.T) {
	notRacing(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, page := range append(pages, root+"/README.md", root+"/README.zh-CN.md") {
		src := string(readFile(t, page))
		found := shownPicture.FindAllStringSubmatch(src, -1)
		if n := strings.Count(src, "!["); n != len(found) {
			t.Errorf("%s shows %d pictures, and says of %d how they were drawn", page, n, len(found))
		}
		for _, m := range found {
			if link := filepath.Join(filepath.Dir(page), m[4]); link != filepath.Join(root, m[2]) {
				t.Errorf("%s: %s is drawn, %s is shown", page, m[2], m[4])
			}
			if shown[m[2]] {
				continue
			}
			shown[m[2]] = true
			file := filepath.Join(t.TempDir(), filepath.Base(m[2]))
			call(t, append(strings.Fields(m[1]), "-o", file)...)
			kept, got := filepath.Join(root, m[2]), readFile(t, file)
			if *update {
				if err := os.WriteFile(kept, got, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if was, err := os.ReadFile(kept); err != nil || !bytes.Equal(was, got) {
				t.Errorf("%s is not current; run the test with -update and look at it", m[2])
			}
		}
	}
	files, err := os.ReadDir(root + "/docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !shown["docs/pictures/"+f.Name()] {
			t.Errorf("no page shows docs/pictures/%s", f.Name())
		}
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
