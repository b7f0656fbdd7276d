// Package long says how thorough tests are. Property tests and searches by trying everything get a budget in which they
// find gross mistakes; with THROUGHLINE_TEST_LONG set (make test-long) they run at full length.
package long

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Mode reports whether tests run at full length.
func Mode() bool { return os.Getenv("THROUGHLINE_TEST_LONG") != "" }

// Of is a number of things to try: all of them at full length, otherwise a budget.
func Of(budget, all int) int {
	if Mode() {
		return all
	}
	return budget
}

// Checks sets how many cases a property test of package rapid draws, until the test ends: its usual hundred at full length,
// otherwise a budget. A number that was given on the command line stays.
func Checks(t testing.TB, budget int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if Mode() || f == nil || f.Value.String() != f.DefValue {
		return
	}
	old := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(budget)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(old) })
}
