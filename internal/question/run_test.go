package question

import "testing"

// TestMissingWorkers: a row without servers gives the same reason each time it is read.
func TestMissingWorkers(t *testing.T) {
	cells := map[string]string{"mode": "disagg", "isl": "1000", "osl": "100", "concurrency": "8"}
	for range 50 {
		_, err := OfRun(Default(), func(column string) string { return cells[column] })
		if want := "prefill_num_workers must be at least 1, not 0"; err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
	}
}
