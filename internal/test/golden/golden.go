// Package golden compares output with files in the repository, which the flag -update rewrites.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the expected files anew")

// Updating reports whether expected files are written.
func Updating() bool { return *update }

// Root is the folder of the module, seen from a package three levels below it.
const Root = "../../.."

// File fails the test unless the file equals got; with -update it writes the file first.
func File(t *testing.T, name string, got []byte) {
	t.Helper()
	if want := Content(t, name, got); !bytes.Equal(got, want) {
		t.Errorf("%s is not current; run the test with -update and look at the difference", name)
	}
}

// Content returns the file, for tests that compare in their own way; with -update, got.
func Content(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	return want
}
