// Package long says how thorough tests are: with THROUGHLINE_TEST_LONG set (make test-long) those that take minutes run at
// full length.
package long

import "os"

// Mode reports whether tests run at full length.
func Mode() bool { return os.Getenv("THROUGHLINE_TEST_LONG") != "" }
