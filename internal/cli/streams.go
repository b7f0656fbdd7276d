package cli

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"throughline/internal/report"
)

// Streams are the standard streams of the program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Width is the columns that tables for people may take. 0: as many as the terminal has, or COLUMNS says; as many as
	// they need where no one looks at them.
	Width int

	// data is standard output for documents that other programs read, which get every byte as it is. Out is for people:
	// control characters in names and cells of foreign files do not reach it.
	data io.Writer
	// watched is standard error as it was given, for the line of a progress bar.
	watched io.Writer
	// terminal: Out is one.
	terminal bool
}

// guarded is streams for commands: no output is lost unnoticed, and no control character reaches a terminal.
func guarded(s Streams) (Streams, *sink, *sink) {
	out, err := &sink{w: s.Out}, &sink{w: s.Err}
	g := Streams{In: s.In, Out: &cleaner{w: out}, Err: &cleaner{w: err}, data: out, watched: s.Err, Width: s.Width}
	if g.Width == 0 {
		g.Width = terminalWidth(s.Out)
	}
	if g.terminal = isTerminal(s.Out); g.terminal {
		g.data = g.Out
	}
	return g, out, err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is what COLUMNS says or a terminal has, 0 where there is neither.
func terminalWidth(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// viewOptions are the flags of commands that show tables.
type viewOptions struct {
	wide    bool
	columns []string
}

func (o *viewOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.wide, "wide", false, "show all columns of the tables, also where they do not fit the terminal")
}

// of is how tables are shown.
func (o viewOptions) of(s Streams) report.View {
	v := report.View{Width: s.Width, Columns: o.columns}
	if o.wide {
		v.Width = 0
	}
	return v
}

// sink is a standard stream that remembers its first failure, so that lost output is not taken for success by those who
// do not look. Once shut it takes nothing more.
type sink struct {
	mu   sync.Mutex
	w    io.Writer
	err  error
	shut bool
}

var errShut = errors.New("the program has been interrupted")

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shut:
		return 0, errShut
	case s.err != nil:
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

func (s *sink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
}

// cleaner replaces what would steer a terminal instead of being shown: control characters but for new lines and tabs,
// characters that turn the direction of writing, and bytes that are no text.
type cleaner struct {
	w    io.Writer
	rest []byte // the start of a character whose end has not come
}

func (c *cleaner) Write(p []byte) (int, error) {
	text := p
	if len(c.rest) > 0 {
		text = append(c.rest, p...)
		c.rest = nil
	}
	clean := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(text):
			c.rest = append([]byte(nil), text...)
			n = len(text)
		case r == utf8.RuneError || steers(r):
			clean = utf8.AppendRune(clean, utf8.RuneError)
		default:
			clean = append(clean, text[:n]...)
		}
		text = text[n:]
	}
	if _, err := c.w.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
