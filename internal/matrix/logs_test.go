package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writes(t *testing.T, name, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFollow: a line is found however it is cut when it is looked for, in the log or in a file of
// the server's own, whose earlier content is not the server's, also after it was begun anew.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	log, own := filepath.Join(dir, "log"), filepath.Join(dir, "own")
	writes(t, own, "ready, in a run before\n", os.O_TRUNC)
	f := follow(log, own, "ready")
	for i, step := range []struct {
		name, text string
		flag       int
		seen       bool
	}{{log, "starts, re", os.O_APPEND, false}, {log, "a", os.O_APPEND, false}, {log, "dy", os.O_APPEND, true}, {log, "\nmore", os.O_APPEND, true}} {
		writes(t, step.name, step.text, step.flag)
		if f.seen() != step.seen {
			t.Errorf("%d: %q is seen %v", i, step.text, !step.seen)
		}
	}
	f = follow(filepath.Join(dir, "other"), own, "ready")
	writes(t, own, "almost rea", os.O_APPEND)
	if f.seen() {
		t.Error("a run before was ready")
	}
	writes(t, own, "-", os.O_TRUNC) // shorter than it was: begun anew
	if f.seen() {
		t.Error("a new file is ready")
	}
	writes(t, own, " ready", os.O_APPEND)
	if !f.seen() {
		t.Error("the line is not seen")
	}
	if got := tail(filepath.Join(dir, "other")); got != "almost rea- ready" {
		t.Errorf("copied: %q", got)
	}
	if follow(log, "", "").seen() {
		t.Error("no line is wanted, and one is seen")
	}
}

// TestShownLogs: the beginning of a log with how much is left out, its end, its last line.
func TestShownLogs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if head(name, 4)+tail(name) != "" {
		t.Error("a log that is not there has a text")
	}
	writes(t, name, "0123456789", os.O_TRUNC)
	if got := head(name, 10); got != "0123456789" {
		t.Errorf("all of it: %q", got)
	}
	if got := head(name, 4); got != "0123\n… 6 more bytes in "+name+"\n" {
		t.Errorf("four bytes: %q", got)
	}
	writes(t, name, strings.Repeat("a", mostShown)+"end", os.O_TRUNC)
	if got := tail(name); len(got) != mostShown || !strings.HasSuffix(got, "aend") {
		t.Errorf("the end has %d bytes", len(got))
	}
	r := &Runner{}
	for text, want := range map[string]string{
		"": "", "\n\n": "", "one\ntwo \r\n\n": "; its last words: two", "x\n" + strings.Repeat("é", 200): "; its last words: " + strings.Repeat("é", 200),
		strings.Repeat("é", 201): "; its last words: " + strings.Repeat("é", 199) + "…",
	} {
		writes(t, name, text, os.O_TRUNC)
		if got := r.lastLine(name); got != want {
			t.Errorf("%.20q: %q", text, got)
		}
	}
}
