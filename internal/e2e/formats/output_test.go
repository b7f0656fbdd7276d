package formats

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/internal/report"
)

var (
	fieldTable = regexp.MustCompile(`(?m)^<!-- fields: (.*) -->\n\| Field .*\n\|[-|]+\|\n((?:\|.*\n)+)`)
	fieldRow   = regexp.MustCompile(`^\| ([^|]+) \| [^|]+ \|$`)
	quoted     = regexp.MustCompile("`([^`]+)`")
)

// prefixes of the phases in the names of fields, by table. A star in docs/output.md stands for them.
var prefixes = map[string][]string{
	"prefill_best": {"prefill_"}, "decoder_best": {"decoder_"}, "result_best": {"prefill_", "decoder_"},
}

// documentedFields is the fields of each table that docs/output.md lists.
func documentedFields(t *testing.T, text string) map[string]map[string]bool {
	t.Helper()
	tables := map[string]map[string]bool{}
	for _, m := range fieldTable.FindAllStringSubmatch(text, -1) {
		for _, table := range strings.Fields(m[1]) {
			if tables[table] == nil {
				tables[table] = map[string]bool{}
			}
			for line := range strings.SplitSeq(strings.TrimSpace(m[2]), "\n") {
				cells := fieldRow.FindStringSubmatch(line)
				if cells == nil {
					t.Errorf("this row is not of the form fields, meaning: %s", line)
					continue
				}
				for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
					for _, field := range expand(name[1], prefixes[table]) {
						if tables[table][field] {
							t.Errorf("%s: %s is documented twice", table, field)
						}
						tables[table][field] = true
					}
				}
			}
		}
	}
	return tables
}

func expand(name string, prefixes []string) []string {
	rest, generic := strings.CutPrefix(name, "*_")
	if !generic {
		return []string{name}
	}
	var out []string
	for _, p := range prefixes {
		out = append(out, p+rest)
	}
	return out
}

// docs/output.md lists exactly the fields that the tables have, and their categories.
func TestEveryFieldIsDocumented(t *testing.T) {
	text := readDoc(t, "output.md")
	documented := documentedFields(t, text)
	for _, table := range report.Tables() {
		var csv bytes.Buffer
		if err := writeTable(&csv, table); err != nil {
			t.Fatal(err)
		}
		missing := maps.Clone(documented[table.Name])
		for _, line := range strings.Split(strings.TrimSpace(csv.String()), "\n")[1:] {
			category, field, _ := strings.Cut(line, ",")
			if !strings.Contains(text, "\n## `"+category+"`\n") {
				t.Errorf("docs/output.md lacks the category %s", category)
			}
			if !documented[table.Name][field] {
				t.Errorf("docs/output.md lacks %s of %s", field, table.Name)
			}
			delete(missing, field)
		}
		if len(missing) > 0 {
			t.Errorf("docs/output.md lists fields that %s does not have: %v", table.Name, slices.Sorted(maps.Keys(missing)))
		}
	}
}
