package cli

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"throughline/internal/report"
	"throughline/internal/table"
)

// Streams are the standard streams of the program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Width limits tables for people. 0: COLUMNS or the terminal's; unlimited if it is no terminal.
	Width int
	// Bars are drawn beside numbers. 0: on terminals, of characters that they have.
	Bars table.Bars

	// data is standard output for other programs, byte for byte; Out is for people and drops
	// control characters in foreign names and cells.
	data io.Writer
	// watched is the unwrapped standard error, for progress lines.
	watched  io.Writer
	terminal bool
	painted  bool // it shows bold text and colours
	// linger asks for additional time to end after a signal.
	linger func(time.Duration)
}

// guardStreams returns streams for commands: no output is lost unnoticed, and no control character
// reaches a terminal.
func guardStreams(s Streams) (Streams, *sink, *sink) {
	out, err := &sink{w: s.Out}, &sink{w: s.Err}
	g := Streams{In: s.In, Out: &cleaner{w: out}, data: out, watched: s.Err, Width: s.Width, Bars: s.Bars}
	if g.Width == 0 {
		g.Width = terminalWidth(s.Out)
	}
	g.Err = &wrapper{w: &cleaner{w: err}, view: table.View{Width: cmp.Or(s.Width, terminalWidth(s.Err))}}
	if g.terminal = isTerminal(s.Out); g.terminal {
		g.data = g.Out
		g.Bars = barsOf(os.Getenv)
		if g.painted = showsColours(os.Getenv); g.painted {
			g.Out = &cleaner{w: painter{out}}
		}
	}
	return g, out, err
}

// showsColours reports whether a terminal may be sent colours: https://no-color.org.
func showsColours(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "" && env("TERM") != "dumb"
}

// painter translates marks of bold text, and gives ✓ and ✗ their colours.
type painter struct{ w io.Writer }

var paint = strings.NewReplacer(table.BoldOn, "\x1b[1m", table.BoldOff, "\x1b[22m", "✓", "\x1b[32m✓\x1b[39m", "✗", "\x1b[31m✗\x1b[39m")

func (p painter) Write(text []byte) (int, error) {
	if _, err := paint.WriteString(p.w, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// barsOf returns the bars a terminal can show: blocks in UTF-8 locales.
func barsOf(env func(string) string) table.Bars {
	locale := cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG"))
	name := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	if strings.Contains(name, "utf8") && env("TERM") != "dumb" {
		return table.BlockBars
	}
	return table.ASCIIBars
}

// terminalWidth returns COLUMNS or the width of the terminal, 0 if neither.
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
	wide     bool
	markdown bool
	columns  []string
}

// help reports whether a list of the fields is requested in place of columns.
func (o *viewOptions) help() bool {
	return len(o.columns) == 1 && o.columns[0] == report.HelpOfColumns
}

func (o *viewOptions) listFields(s Streams) error { return failed(report.WriteFields(s.Out, o.of(s))) }

func (o viewOptions) of(s Streams) table.View {
	v := table.View{Width: s.Width, Columns: o.columns, All: " (--wide shows all)", Bars: s.Bars, Markdown: o.markdown, Bold: s.painted && !o.markdown}
	if o.wide || o.markdown {
		v.Width = 0
	}
	return v
}

// wrapper breaks the lines of messages, each written at once, to fit the terminal.
type wrapper struct {
	w    io.Writer
	view table.View
}

func (r *wrapper) Write(p []byte) (int, error) {
	if _, err := io.WriteString(r.w, r.view.Wrap(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sink is a standard stream that remembers its first failure, so that lost output is not taken for
// success. Once shut it takes nothing more.
type sink struct {
	mu   sync.Mutex
	w    io.Writer
	err  error
	shut atomic.Bool // not under the lock, which a write holds as long as no one reads
}

var errShut = errors.New("the program has been interrupted")

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shut.Load():
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

func (s *sink) close() { s.shut.Store(true) }

// cleaner replaces what would steer a terminal: control characters except new lines and tabs,
// bidirectional overrides, and invalid bytes.
type cleaner struct {
	w    io.Writer
	rest []byte // an incomplete character
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
		case r == utf8.RuneError || isControl(r):
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

func isControl(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
