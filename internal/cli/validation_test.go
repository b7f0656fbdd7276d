package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

var generated = regexp.MustCompile("(?s)<!-- run: ([^\n]*) -->\n.*?<!-- end -->\n")

// longTables are those whose measurements take most of a minute to simulate or fit; they are
// compared at full length, and written anew with all others.
var longTables = []string{"silicon/labelled.csv"}

// evidence is a page that shows what the program says of measurements.
type evidence struct {
	name   string
	src    string
	blocks [][]string // what a command printed, and the command
}

// fewestTables is how many tables the pages had when they became several.
const fewestTables = 18

// docs/validation shows what the program says of measurements. Where the public ones are not beside
// the project, their tables stay as they are.
func TestValidation(t *testing.T) {
	if racing.Enabled {
		t.Skip("fits take minutes under the race detector")
	}
	t.Chdir("../..")
	mine := t.TempDir() + "/mine.json"
	call(t, "calibrate", "--system", "H200", "--measurements", "measure/H200/ops.csv", "-o", mine)
	powered := filepath.Join(filepath.Dir(mine), "mine_power.json")
	call(t, "calibrate", "power", "measure/H200_power/power.csv", "--system", mine, "-o", powered)
	files := strings.NewReplacer("mine.json", mine, "mine_power.json", powered)
	pages, tables := evidencePages(t)
	if tables < fewestTables {
		t.Errorf("the pages have %d tables, fewer than %d", tables, fewestTables)
	}
	absent, left := 0, 0
	t.Run("tables", func(t *testing.T) { // which ends when all of them are there
		for _, page := range pages {
			for _, block := range page.blocks {
				line := block[1]
				args := strings.Fields(files.Replace(line))
				// The table, or the folder of tables: what no flag is named.
				table := slices.IndexFunc(args[2:], func(a string) bool { return !strings.HasPrefix(a, "-") })
				if _, err := os.Stat(args[2+table]); err != nil {
					absent++
					continue
				}
				if !long.Mode() && !*update && slices.ContainsFunc(longTables, func(part string) bool { return strings.Contains(line, part) }) {
					left++
					continue
				}
				t.Run(line, func(t *testing.T) {
					t.Parallel()
					block[0] = "<!-- run: " + line + " -->\n" + call(t, args...) + "<!-- end -->\n"
				})
			}
		}
	})
	if absent > 0 {
		t.Logf("%d tables are not checked: their measurements are not beside the project", absent)
	}
	if left > 0 {
		t.Logf("%d tables are compared by make test-long", left)
	}
	if t.Failed() {
		return // a command did, and said why
	}
	for _, page := range pages {
		page.compare(t)
	}
}

// evidencePages reads docs/validation.md and the pages under docs/validation, and counts their
// tables.
func evidencePages(t *testing.T) (pages []evidence, tables int) {
	t.Helper()
	names, err := filepath.Glob("docs/validation/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "docs/validation.md") {
		src := string(readFile(t, name))
		blocks := generated.FindAllStringSubmatch(src, -1)
		pages = append(pages, evidence{name, src, blocks})
		tables += len(blocks)
	}
	return pages, tables
}

// compare fails unless the page shows what the commands printed; with -update it writes the page
// first.
func (e *evidence) compare(t *testing.T) {
	t.Helper()
	next := 0
	got := generated.ReplaceAllStringFunc(e.src, func(string) string {
		next++
		return e.blocks[next-1][0]
	})
	if *update {
		if err := os.WriteFile(e.name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(e.src, got); diff != "" {
		t.Errorf("%s: -shown +printed; run with -update and look at the difference:\n%s", e.name, diff)
	}
}
