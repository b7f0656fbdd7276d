// Package long says how thorough tests are: with THROUGHLINE_TEST_LONG set (make test-long) those that take minutes run at
// full length.
package long

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/test/racing"
)

// Mode reports whether tests run at full length.
func Mode() bool { return os.Getenv("THROUGHLINE_TEST_LONG") != "" }

// Properties are drawn from one seed, lest a change lands by luck; at full length, or with -rapid.seed, from others.
func init() {
	if !Mode() {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
}

// NotRacing skips a test of values, which are the same without the race detector, but at full length: others make the same accesses.
func NotRacing(t testing.TB) {
	t.Helper()
	if racing.Enabled && !Mode() {
		t.Skip("the same without the race detector")
	}
}

// watched is the cases that the race detector watches, but at full length: it looks for accesses, which all cases have alike.
const watched = 5

// Some is rapid.Check for a property whose cases take so long that a few must do, but at full length.
func Some(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	held, failed := 0, false
	Check(t, func(t *rapid.T) {
		if !Mode() && held >= cases && !failed {
			return
		}
		defer func() { failed = failed || t.Failed() }()
		property(t)
		held++
	})
}

// Check is rapid.Check for a property whose cases take long.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	held, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if racing.Enabled && !Mode() && held >= watched && !failed {
			return
		}
		defer func() { failed = failed || t.Failed() }() // to shrink a failing case takes more of them
		property(t)
		held++
	})
}
