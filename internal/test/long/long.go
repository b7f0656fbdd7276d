// Package long says how thorough tests are: with THROUGHLINE_TEST_LONG set (make test-long) those that take minutes run at
// full length.
package long

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

// Mode reports whether tests run at full length.
func Mode() bool { return os.Getenv("THROUGHLINE_TEST_LONG") != "" }

// Check is rapid.Check for a property whose cases take long: of so many cases, a fifth in short mode, and at full length of as
// many as rapid draws.
func Check(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		cases = max(1, cases/5)
	}
	held, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if held >= cases && !failed && !Mode() {
			return
		}
		defer func() { failed = failed || t.Failed() }() // what shrinks a failing case needs more of them
		property(t)
		held++
	})
}
