package published

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"testing"

	"throughline/internal/question"
	"throughline/internal/validate"
)

// TestCanonical: what the laboratory writes of rows that one question states, the program reads and
// predicts to all digits that are written. The small table has eight such rows: seven of bare
// steps, but for ratios and simulated drafts, and one of a request.
func TestCanonical(t *testing.T) {
	table := readSmall(t)
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkCanonical(t, table, 8)
}

// TestPublicCanonical: the same of the public tables, of which the program predicts more than a
// hundred and sixty rows.
func TestPublicCanonical(t *testing.T) {
	table := public(t)
	table.Rows = slices.DeleteFunc(table.Rows, func(r Row) bool {
		if r.plain || r.Class != Target {
			return true
		}
		list, err := sides(inputs{r.Cells}, r.asks)
		return err != nil || !list[0].stated()
	})
	if err := table.Predict(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkCanonical(t, table, 164)
}

func checkCanonical(t *testing.T, table *Table, fewest int) {
	t.Helper()
	var written bytes.Buffer
	if err := table.WriteCSV(&written); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(written.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cell := func(row int, column string) string { return rows[row+1][slices.Index(rows[0], column)] }
	r, err := validate.Published(t.Context(), "canonical.csv", &written, question.DefaultOf(question.Published))
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	for i := range r.Rows {
		f := &r.Rows[i].Figures[0]
		if why := cell(i, "unpredictable"); why != f.Reason {
			t.Errorf("row %d: %q, want %q", i+1, f.Reason, why)
		}
		if f.Reason != "" {
			continue
		}
		want, err := strconv.ParseFloat(cell(i, "lab_predicted"), 64)
		if err != nil || math.Abs(f.Predicted/want-1) > 1e-8 {
			t.Errorf("row %d, %s: %v, the laboratory has %v (%v)", i+1, r.Rows[i].Label, f.Predicted, want, err)
		}
		both++
	}
	if both < fewest {
		t.Errorf("%d rows are predicted by both, at least %d are stated", both, fewest)
	}
}
