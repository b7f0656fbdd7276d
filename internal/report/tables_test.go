package report

import (
	"io"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/internal/explain"
	"throughline/internal/jobfile"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/model"
	"throughline/op"
	"throughline/serving"
	"throughline/serving/simulate"
)

// TestEffects: numbers without an effect have no row, those behind them have.
func TestEffects(t *testing.T) {
	out := Sensitivity([]explain.Effect{
		{Parameter: "first", Step: -0.01}, {Parameter: "nothing"}, {Parameter: "last", Batch: 3, NewBatch: 4},
	}).Render(table.View{})
	if !strings.Contains(out, "first") || strings.Contains(out, "nothing") || !strings.Contains(out, "3 → 4") {
		t.Errorf("rows:\n%s", out)
	}
}

// TestRunRows: the first row of a run has its name and model, the second the request rate, if both
// phases have a plan.
func TestRunRows(t *testing.T) {
	side := func(p op.Phase) *result.Side { return &result.Side{Phase: p, System: &hardware.System{Name: "chip"}} }
	r := &result.Record{Number: 7, Mode: jobfile.Split, Model: &model.Model{Name: "small"}, Prediction: serving.Prediction{Requests: 12.3456}, Cards: 2}
	r.Sides[op.Prefill], r.Sides[op.Decode] = side(op.Prefill), side(op.Decode)
	runs, err := NewRuns(table.View{})
	if err != nil {
		t.Fatal(err)
	}
	for whole, rate := range map[bool]string{false: "", true: "12.35"} {
		r.Complete = whole
		var lines [][]string
		runs.table([]*result.Record{r}).Each(func(cells []table.Cell) {
			var line []string
			for _, c := range cells {
				line = append(line, c.Text)
			}
			lines = append(lines, line)
		})
		if len(lines) != 2 || lines[0][0] != "split 7" || lines[0][1] != "small" || lines[1][0] != "" || lines[1][len(lines[1])-1] != rate {
			t.Errorf("rows %q, want a rate of %q", lines, rate)
		}
	}
}

// TestLeftOut: a trace says what it has no room for: requests beyond 512 at a time, events beyond
// two million.
func TestLeftOut(t *testing.T) {
	w := NewSimulationTrace(io.Discard, &simulate.Options{})
	if got := w.LeftOut(); got != "" {
		t.Errorf("at first %q", got)
	}
	for id := range int64(mostSlots + 1) {
		w.Request(&simulate.Ended{ID: id, Finish: 1})
	}
	if got, want := w.LeftOut(), "the trace leaves out 1 requests beyond 512 at a time, and 0 events beyond 2000000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.w.LeftOut = 1 // as many as requests
	if got := w.LeftOut(); !strings.Contains(got, "1 events beyond") {
		t.Errorf("with an event left out %q", got)
	}
	w.skipped = 0
	if got := w.LeftOut(); got == "" {
		t.Error("nothing of an event that was left out")
	}
}
