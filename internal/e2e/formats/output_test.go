package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/test/golden"
	"throughline/op"
)

// docs/output.md has the fields of the registry, by category: what a program reads is what is
// documented.
func TestFieldsAreDocumented(t *testing.T) {
	name := filepath.Join(golden.Root, "docs", "output.md")
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(src)
	for _, c := range categories() {
		doc = replaced(t, doc, "fields: "+string(c), fieldRows(c))
	}
	doc = replaced(t, doc, "long", longRows())
	doc = replaced(t, doc, "operators", operatorRows())
	for _, command := range []string{"plan", "estimate"} {
		doc = replaced(t, doc, "keys: "+command, keyRows(command))
	}
	golden.File(t, name, []byte(doc))
}

// replaced puts a table between the marks of a part.
func replaced(t *testing.T, doc, part, table string) string {
	t.Helper()
	start, end := "<!-- "+part+" -->\n", "<!-- / -->\n"
	before, rest, ok := strings.Cut(doc, start)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/output.md has no part %s", part)
	}
	return before + start + table + end + after
}

// categories of the wide tables, in their order.
func categories() []result.Category {
	var out []result.Category
	for _, table := range result.Tables(result.Costs, result.OpDetails) {
		for i := range table.Rows {
			if c := table.Category(&table.Rows[i]); !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// fieldRow is a row of the page.
type fieldRow struct {
	label, doc string
	unit       result.Unit
	tables     []string
}

// fieldRows are the fields of a category. A star stands for the phases where both have a field of
// the same meaning.
func fieldRows(c result.Category) string {
	var rows []fieldRow
	for _, table := range result.Tables(result.Costs, result.OpDetails) {
		short := strings.TrimSuffix(table.Name, "_best")
		for i := range table.Rows {
			r := &table.Rows[i]
			if table.Category(r) != c {
				continue
			}
			label := starred(r)
			at := slices.IndexFunc(rows, func(d fieldRow) bool { return d.label == label && d.doc == r.Doc })
			if at < 0 {
				at, rows = len(rows), append(rows, fieldRow{label, r.Doc, r.Unit, nil})
			}
			if !slices.Contains(rows[at].tables, short) {
				rows[at].tables = append(rows[at].tables, short)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| Field | Unit | Tables | Meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.label, r.unit, strings.Join(r.tables, ", "), r.doc)
	}
	return b.String()
}

// starred is the label of a row, with a star for the phase where both phases have it.
func starred(r *result.Row) string {
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		label, ok := strings.CutPrefix(r.Label, result.Prefix(phase))
		name, own := strings.CutPrefix(r.Name, result.Prefix(phase))
		if !ok || !own {
			continue
		}
		other, ok := result.Lookup(result.Prefix(1-phase) + name)
		if ok && other.Doc == r.Doc {
			return "*_" + label
		}
	}
	return r.Label
}

// longRows are the columns of the long table that no wide table has under their name.
func longRows() string {
	var b strings.Builder
	b.WriteString("| Column | Unit | Meaning |\n|---|---|---|\n")
	for _, f := range result.Long(result.OpDetails) {
		known := false
		for _, table := range result.Tables(result.Costs, result.OpDetails) {
			known = known || slices.ContainsFunc(table.Rows, func(r result.Row) bool { return r.Field == f && r.Label == f.Name })
		}
		if !known {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, f.Unit, f.Doc)
		}
	}
	return b.String()
}

// operatorRows are the columns of the table of operators.
func operatorRows() string {
	var b strings.Builder
	b.WriteString("| Column | Unit | Meaning |\n|---|---|---|\n")
	for _, c := range report.OpColumns {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.Unit, c.Doc)
	}
	return b.String()
}

func keyRows(command string) string {
	var b strings.Builder
	b.WriteString("| Key | Unit | Meaning |\n|---|---|---|\n")
	for _, k := range report.Keys(command) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Path, k.Unit, k.Doc)
	}
	return b.String()
}

// Every field says what it is, and every one of a table has a category of its own.
func TestFieldsAreDescribed(t *testing.T) {
	for _, f := range result.Fields() {
		if f.Doc == "" || f.Category == "" || strings.ContainsAny(f.Doc, "\n|") {
			t.Errorf("%s: category %q, doc %q", f.Name, f.Category, f.Doc)
		}
		if open, unit, ok := strings.Cut(f.Name, "("); ok && f.Unit == result.None {
			t.Errorf("%s(%s has no unit", open, unit)
		}
	}
}
