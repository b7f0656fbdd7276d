package lab

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/validate"
)

// besideProject is the path of a table of measurements from here; without it the test is skipped.
func besideProject(t *testing.T, table string) string {
	t.Helper()
	table = "../../" + table
	if _, err := os.Stat(table); err != nil {
		t.Skip("the measurements are not beside the project: ", err)
	}
	return table
}

// tableOf is a table as somebody wrote it.
func tableOf(t *testing.T, src io.Reader) *Table {
	t.Helper()
	table, err := read(t.Context(), "made.csv", src)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// predictedBy is what the program says of a table as somebody wrote it.
func predictedBy(t *testing.T, text string) *validate.Report {
	t.Helper()
	r, err := tableOf(t, strings.NewReader(text)).predict(t.Context(), question.Default(), validate.Trial{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// predict predicts all rows, as the program does.
func (t *Table) predict(ctx context.Context, q question.Question, trial validate.Trial) (*validate.Report, error) {
	return trial.Serving(ctx, t.Name, bytes.NewReader(t.text), q)
}
