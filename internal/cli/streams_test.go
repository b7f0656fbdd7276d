package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"throughline/internal/sentence"
	"throughline/internal/table"
)

// TestCleaner: what steers a terminal is replaced, what is shown stays, wherever the text is cut.
func TestCleaner(t *testing.T) {
	const dirty = "a\x1b[31mb\x07\rc\x7f\u009bd\u202ee\u2066f\xff\xfeg\n\tdp1·pp2 ±3% 模型 │"
	const clean = "a�[31mb��c��d�e�f��g\n\tdp1·pp2 ±3% 模型 │"
	for size := 1; size <= len(dirty); size++ {
		var out bytes.Buffer
		c := &cleaner{w: &out}
		for rest := []byte(dirty); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			part := rest[:min(size, len(rest))]
			if n, err := c.Write(part); n != len(part) || err != nil {
				t.Fatalf("%d of %d bytes, %v", n, len(part), err)
			}
		}
		if out.String() != clean {
			t.Errorf("in parts of %d: %q, want %q", size, &out, clean)
		}
	}
}

// TestLostOutput: a failure that a command does not look at is remembered, and nothing is written
// behind a gap.
func TestLostOutput(t *testing.T) {
	var out bytes.Buffer
	s, sink, _ := guardStreams(Streams{Out: &limitedWriter{w: &out, left: 5}, Err: &out})
	s.Out.Write([]byte("12345"))
	s.Out.Write([]byte("6"))
	s.data.Write([]byte("7"))
	if out.String() != "12345" || !errors.Is(sink.failure(), errNoRoom) {
		t.Errorf("wrote %q, %v", &out, sink.failure())
	}
	for _, err := range []error{nil, exitError{exitNoPlan}, errNoRoom} {
		var messages bytes.Buffer
		if code := finish(t.Context(), Streams{Err: &messages}, nil, lostOutput(err, sink)); code != exitFailed || !strings.Contains(messages.String(), "standard output: no room") {
			t.Errorf("after %v: exit code %d, said %q", err, code, &messages)
		}
	}
}

var errNoRoom = errors.New("no room")

type limitedWriter struct {
	w    *bytes.Buffer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errNoRoom
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// TestInterruptedWhileWaiting: a command that waits for input ends with its context, and says
// nothing afterwards.
func TestInterruptedWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waiting, release := make(chan bool), make(chan bool)
	in := readerFunc(func([]byte) (int, error) {
		close(waiting)
		<-release
		return 0, iotest.ErrTimeout
	})
	var out, messages bytes.Buffer
	go func() { <-waiting; cancel() }()
	code := Run(ctx, []string{"models", "import", "-"}, Streams{In: in, Out: &out, Err: &messages})
	said := messages.String()
	close(release)
	if code != exitInterrupted || said != "throughline: interrupted; what was written before is complete\n" || out.Len() > 0 {
		t.Errorf("exit code %d, said %q, wrote %q", code, said, &out)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestInterruptedWhileNoOneReads: who has stopped reading the output, or the messages, does not
// hold up the end.
func TestInterruptedWhileNoOneReads(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, out := io.Pipe()
	_, messages := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- Run(ctx, []string{"schema", "runtime"}, Streams{Out: out, Err: messages}) }()
	select {
	case c := <-code:
		t.Fatalf("ended by itself with %d", c)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	select {
	case c := <-code:
		if c != exitInterrupted {
			t.Errorf("exit code %d", c)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waits for its reader")
	}
}

// TestPainted: answers are bold and marks have colours where a terminal shows them, and NO_COLOR is
// obeyed.
func TestPainted(t *testing.T) {
	for env, want := range map[string]bool{"TERM=xterm": true, "TERM=dumb": false, "": false, "TERM=xterm NO_COLOR=1": false} {
		if got := showsColours(func(name string) string {
			for pair := range strings.FieldsSeq(env) {
				if key, value, _ := strings.Cut(pair, "="); key == name {
					return value
				}
			}
			return ""
		}); got != want {
			t.Errorf("%q: painted %v", env, got)
		}
	}
	var b strings.Builder
	text := sentence.Text(table.View{Bold: true}, []string{"✓ it holds"})
	if n, err := (&cleaner{w: painter{&b}}).Write([]byte(text)); n != len(text) || err != nil || b.String() != "\x1b[1m\x1b[32m✓\x1b[39m it holds\x1b[22m\n" {
		t.Errorf("%d %v %q", n, err, b.String())
	}
	if plain := sentence.Text(table.View{}, []string{"✓ it holds"}); strings.ContainsAny(plain, table.BoldOn+table.BoldOff) {
		t.Errorf("%q", plain)
	}
}
