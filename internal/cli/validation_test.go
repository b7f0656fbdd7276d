package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

var generated = regexp.MustCompile("(?s)<!-- run: ([^\n]*) -->\n.*?<!-- end -->\n")

// longTables are those whose measurements take most of a minute to simulate or fit; they are compared at full length, and written anew with
// all others.
var longTables = []string{"silicon/labelled.csv", "--from-one-point"}

// docs/validation.md shows what the program says of measurements. Where the public ones are not beside the project, their
// tables stay as they are.
func TestValidation(t *testing.T) {
	if racing.Enabled {
		t.Skip("fits take minutes under the race detector")
	}
	const doc = "docs/validation.md"
	t.Chdir("../..")
	mine := t.TempDir() + "/mine.json"
	call(t, "calibrate", "--system", "H200", "--measurements", "measure/H200/ops.csv", "--sustained", "0.96", "-o", mine)
	src, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	absent, left := 0, 0
	blocks := generated.FindAllStringSubmatch(string(src), -1)
	t.Run("tables", func(t *testing.T) { // which ends when all of them are there
		for i, block := range blocks {
			line := block[1]
			args := strings.Fields(strings.ReplaceAll(line, "mine.json", mine))
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
				blocks[i][0] = "<!-- run: " + line + " -->\n" + call(t, args...) + "<!-- end -->\n"
			})
		}
	})
	next := 0
	got := generated.ReplaceAllStringFunc(string(src), func(string) string {
		next++
		return blocks[next-1][0]
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
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("-shown +printed; run with -update and look at the difference:\n%s", diff)
	}
}
