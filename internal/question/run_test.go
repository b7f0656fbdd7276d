package question

import "testing"

// TestOneProblemOfPools: a row without sizes of its pools always gives the same reason.
func TestOneProblemOfPools(t *testing.T) {
	for range 50 {
		_, err := OfRun(Default(), func(column string) string {
			return map[string]string{"mode": "disagg", "model": "Llama-3.1-8B", "system": "H200", "isl": "100", "osl": "10", "concurrency": "4"}[column]
		})
		if want := "prefill_num_workers must be at least 1, not 0"; err == nil || err.Error() != want {
			t.Fatalf("%v, not %s", err, want)
		}
	}
}
