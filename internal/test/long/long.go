// Package long controls how thorough tests are: THROUGHLINE_TEST_LONG (make test-long) runs those
// that take minutes at full length.
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

// Properties are drawn from one seed, lest a change lands by luck; at full length, or with
// -rapid.seed, from others.
func init() {
	if !Mode() {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
}

// NotRacing skips a test of values under the race detector, except at full length: other tests make
// the same accesses.
func NotRacing(t testing.TB) {
	t.Helper()
	if racing.Enabled && !Mode() {
		t.Skip("the same without the race detector")
	}
}

// watched limits the cases under the race detector, except at full length: it checks accesses,
// which all cases share.
const watched = 5

// Some is rapid.Check with fewer cases, except at full length, for slow properties.
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

// Check is rapid.Check for a slow property.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	held, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if racing.Enabled && !Mode() && held >= watched && !failed {
			return
		}
		defer func() { failed = failed || t.Failed() }() // shrinking a failing case takes more of them
		property(t)
		held++
	})
}
