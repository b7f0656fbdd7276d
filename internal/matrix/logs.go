package matrix

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const mostShown = 4 << 20

// following searches a growing log for a line, and copies what another file gains into it.
type following struct {
	log, other   string
	line         []byte
	at, otherAt  int64
	tail         []byte // the end of what was searched
	found, wants bool
}

func follow(log, other, line string) *following {
	f := &following{log: log, other: other, line: []byte(line), wants: line != ""}
	if info, err := os.Stat(other); err == nil {
		f.otherAt = info.Size() // earlier content is not of this server
	}
	return f
}

// seen reports whether the line has come.
func (f *following) seen() bool {
	f.copy()
	if !f.wants || f.found {
		return f.found
	}
	text, next := since(f.log, f.at)
	f.at = next
	text = append(f.tail, text...)
	f.found = bytes.Contains(text, f.line)
	f.tail = bytes.Clone(text[max(0, len(text)-len(f.line)+1):])
	return f.found
}

// copy takes over what the server has written to its own file.
func (f *following) copy() {
	if f.other == "" {
		return
	}
	if info, err := os.Stat(f.other); err == nil && info.Size() < f.otherAt {
		f.otherAt = 0 // it was truncated
	}
	text, next := since(f.other, f.otherAt)
	if f.otherAt = next; len(text) == 0 {
		return
	}
	if log, err := os.OpenFile(f.log, os.O_APPEND|os.O_WRONLY|os.O_CREATE, ownersOnly); err == nil {
		log.Write(text)
		log.Close()
	}
}

// since is the content of a file from an offset on, and the offset of its end.
func since(name string, at int64) ([]byte, int64) {
	f, err := os.Open(name)
	if err != nil {
		return nil, at
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return nil, at
	}
	text, err := io.ReadAll(io.LimitReader(f, mostShown))
	if err != nil {
		return nil, at
	}
	return text, at + int64(len(text))
}

// head is the beginning of a file, with how much is left out.
func head(name string, most int) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)))
	if err != nil {
		return ""
	}
	if info, err := f.Stat(); err == nil && info.Size() > int64(len(text)) {
		return fmt.Sprintf("%s\n… %d more bytes in %s\n", text, info.Size()-int64(len(text)), name)
	}
	return string(text)
}

// tail is the end of a file.
func tail(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	text, _ := since(name, max(0, info.Size()-mostShown))
	return string(text)
}

// lastLine is the last line of a log, to end a message with.
func (r *Runner) lastLine(name string) string {
	const most, shown = 64 << 10, 200
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	text, _ := since(name, max(0, info.Size()-most))
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "?"), " \r\n\t"), "\n")
	line := r.hidden(strings.TrimSpace(lines[len(lines)-1])) // before it is cut
	if line == "" {
		return ""
	}
	if r := []rune(line); len(r) > shown {
		line = string(r[:shown-1]) + "…"
	}
	return "; its last words: " + line
}
