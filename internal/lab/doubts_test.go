package lab

import (
	"os"
	"testing"
)

// TestDoubts: each doubt is of rows of a table, by the names that the table has.
func TestDoubts(t *testing.T) {
	var rows []run
	for _, name := range []string{"silicon/serving.csv", "fresh/serving.csv"} {
		name = "../../../shared/measurements/" + name
		if _, err := os.Stat(name); err != nil {
			t.Skip(err)
		}
		table, err := Import(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, table.rows...)
	}
	for i := range doubts {
		found := 0
		for _, r := range rows {
			if doubts[i].matches(r.named) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%v is of no row: %s", doubts[i].where, doubts[i].why)
		}
	}
}
