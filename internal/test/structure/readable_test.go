package structure

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostLinesOfFile = 600
	mostColumns     = 100 // of a comment, a tab being four
)

// TestReadable: files are short enough to hold one idea, and comments fit beside code.
func TestReadable(t *testing.T) {
	for _, f := range files(t) {
		lines := strings.Split(strings.TrimSuffix(string(read(t, root+"/"+f.path)), "\n"), "\n")
		if len(lines) > mostLinesOfFile {
			t.Errorf("%s has %d lines, at most %d are allowed", f.path, len(lines), mostLinesOfFile)
		}
		for i, line := range lines {
			line = strings.ReplaceAll(line, "\t", "    ")
			if strings.HasPrefix(strings.TrimSpace(line), "// ") && utf8.RuneCountInString(line) > mostColumns {
				t.Errorf("%s:%d: a comment of more than %d columns", f.path, i+1, mostColumns)
			}
		}
	}
}
