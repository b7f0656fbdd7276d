package structure

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostLinesOfFile = 600
	mostColumns     = 100 // of a comment, a tab being four
)

// wideComments are packages that still have wider comments.
var wideComments = []string{
	"internal/lab/kernels",
}

// TestReadable: files hold one idea each, and comments fit beside code. What no longer needs an exception has none.
func TestReadable(t *testing.T) {
	wide := map[string]string{}
	for _, f := range files(t) {
		lines := strings.Split(strings.TrimSuffix(string(read(t, root+"/"+f.path)), "\n"), "\n")
		if len(lines) > mostLinesOfFile {
			t.Errorf("%s has %d lines, at most %d are allowed", f.path, len(lines), mostLinesOfFile)
		}
		for i, line := range lines {
			line = strings.ReplaceAll(line, "\t", "    ")
			if !strings.HasPrefix(strings.TrimSpace(line), "// ") || utf8.RuneCountInString(line) <= mostColumns {
				continue
			}
			if wide[f.pkg] = f.path; !slices.Contains(wideComments, f.pkg) {
				t.Errorf("%s:%d: a comment of more than %d columns", f.path, i+1, mostColumns)
			}
		}
	}
	for _, pkg := range wideComments {
		if wide[pkg] == "" {
			t.Errorf("%s has no wide comment: take it off the list", pkg)
		}
	}
}
