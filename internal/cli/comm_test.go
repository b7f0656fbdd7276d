package cli

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommCalibrates: calibrate fits what measure/comm.py writes, and the system it makes predicts
// every row of it.
func TestCommCalibrates(t *testing.T) {
	notRacing(t)
	table := filepath.Join("..", "measurement", "testdata", "comm.csv")
	dir := t.TempDir()
	mine, predicted := filepath.Join(dir, "mine.json"), filepath.Join(dir, "predicted.csv")
	out := call(t, "calibrate", "--system", "H800", "--measurements", table, "-o", mine)
	for _, kernel := range []string{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "dispatch", "combine", "low-latency dispatch", "low-latency combine"} {
		if !strings.Contains(out, "│ "+kernel+" ") {
			t.Errorf("no %s is fitted:\n%s", kernel, out)
		}
	}
	call(t, "validate", "ops", table, "--system", mine, "--out", predicted)
	f, err := os.Open(predicted)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if reason := row[len(row)-1]; reason != "" || row[len(row)-2] == "" {
			t.Errorf("%v", row)
		}
	}
}
