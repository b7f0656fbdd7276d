package lab

import (
	"os"
	"testing"
)

// TestDoubts: each doubt is of rows of the table that it was found in, by the names that the table
// has.
func TestDoubts(t *testing.T) {
	const name = "../../../shared/measurements/silicon/serving.csv"
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	table, err := Import(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range doubts {
		found := 0
		for _, r := range table.rows {
			if doubts[i].matches(r.named) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%v is of no row: %s", doubts[i].where, doubts[i].why)
		}
	}
}
