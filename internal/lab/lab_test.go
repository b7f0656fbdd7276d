package lab

import (
	"io"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/validate"
)

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
