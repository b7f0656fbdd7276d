package lab

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/internal/test/racing"
	"throughline/internal/validate"
)

// TestOfflineThroughput: runs without times of tokens are told by output tokens per second and GPU.
// Dense models of MLPerf, tuned and full, are within 12% in the median, and those of Argonne on
// A100, with the engines of 2024, within 20%. Nothing was fitted to either.
func TestOfflineThroughput(t *testing.T) {
	long.NotRacing(t)
	if racing.Enabled {
		t.Skip("predictions of thousands of runs take long under the race detector")
	}
	table, err := os.Open(besideProject(t, "../shared/measurements/fresh/serving.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	r, err := validate.Trial{Waiting: true}.Serving(t.Context(), "serving.csv", table, question.Default())
	if err != nil {
		t.Fatal(err)
	}
	at := func(column string) int { return slices.Index(r.Header, column) }
	source, model, system := at("source"), at("model"), at("system")
	figure := slices.Index(r.Figures, "output/s/GPU")
	for _, c := range []struct {
		source, system string
		models         []string
		rows           int
		within         float64
	}{
		{"MLPerf", "", []string{"llama2-70b", "llama3.1-8b", "llama3.1-405b"}, 90, 0.12},
		{"Argonne", "a100", []string{"meta-llama/"}, 250, 0.20},
	} {
		var off []float64
		for _, row := range r.Rows {
			f := &row.Figures[figure]
			if strings.Contains(row.Cells[source], c.source) && strings.Contains(row.Cells[system], c.system) && f.Measured > 0 && f.Predicted > 0 &&
				slices.ContainsFunc(c.models, func(m string) bool { return strings.HasPrefix(row.Cells[model], m) }) {
				off = append(off, math.Abs(f.Error()))
			}
		}
		if len(off) < c.rows {
			t.Errorf("%s: %d rows are predicted, not %d", c.source, len(off), c.rows)
		} else if slices.Sort(off); off[len(off)/2] > c.within {
			t.Errorf("%s: off by %.1f%% in the median, more than %.0f%%", c.source, 100*off[len(off)/2], 100*c.within)
		} else {
			t.Logf("%s: %d rows, off by %.1f%% in the median", c.source, len(off), 100*off[len(off)/2])
		}
	}
}
