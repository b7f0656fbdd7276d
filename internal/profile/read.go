package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"throughline/internal/csvfile"
	"throughline/internal/files"
)

// Summary is the kernels of a file, each name once, and what was left out.
type Summary struct {
	Kernels []Kernel
	LeftOut []LeftOut
}

// LeftOut is a place in a file without the time of a kernel.
type LeftOut struct {
	Place  string `json:"place"`
	Reason string `json:"reason"`
}

func (l LeftOut) String() string { return l.Place + " (" + l.Reason + ")" }

// leave records a place that is left out.
func (s *Summary) leave(reason, place string, at int) {
	s.LeftOut = append(s.LeftOut, LeftOut{Place: fmt.Sprintf("%s %d", place, at), Reason: reason})
}

// most limits summaries, far beyond any.
var most = csvfile.Limits{Row: 1 << 20, Rows: 100_000, Bytes: 64 << 20}

const allowed = "a summary is the CSV of nsys stats (cuda_gpu_kern_sum), the table or the trace (JSON) of PyTorch's profiler, " +
	"a table separated by commas, semicolons, tabs or bars with a column of names and one of times or shares, a JSON list of objects with these, " +
	"or lines with a name and a percentage"

// Read reads such a file; a name ending in ".gz" is decompressed.
func Read(in *files.Door, file string) (Summary, error) {
	f, err := csvfile.Open(in, file)
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	return readFrom(f)
}

func readFrom(f io.Reader) (out Summary, err error) {
	src := bufio.NewReaderSize(f, 1<<16)
	switch first(src) {
	case '{', '[':
		out, err = readJSON(src)
	default:
		out, err = readText(src)
	}
	if err != nil {
		return Summary{}, err
	}
	out.Kernels = merge(out.Kernels)
	return out, share(out.Kernels)
}

// first returns the first character after spaces and a byte order mark, or 0.
func first(src *bufio.Reader) byte {
	if mark, _ := src.Peek(3); string(mark) == "\uFEFF" {
		_, _ = src.Discard(3)
	}
	head, _ := src.Peek(1 << 12)
	if head = []byte(strings.TrimSpace(string(head))); len(head) > 0 {
		return head[0]
	}
	return 0
}

func readText(src io.Reader) (Summary, error) {
	var lines []string
	s := csvfile.NewLines(src, most)
	for s.Scan() {
		line := s.Text()
		if !utf8.ValidString(line) || strings.ContainsFunc(line, isControl) {
			return Summary{}, fmt.Errorf("line %d is not text in UTF-8: %s", s.Line(), allowed)
		}
		lines = append(lines, line)
	}
	if err := s.Err(); err != nil {
		return Summary{}, err
	}
	return parse(lines)
}

func isControl(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\f", r) }

// merge joins kernels of the same name at the first of them: profilers list launches, too.
func merge(all []Kernel) []Kernel {
	at := map[string]int{}
	return slices.DeleteFunc(all, func(k Kernel) bool {
		first, again := at[k.Name]
		if !again {
			at[k.Name] = len(at)
			return false
		}
		all[first].Calls += k.Calls
		all[first].Time += k.Time
		all[first].Share += k.Share
		return true
	})
}

// share turns times and percentages into shares; percentages add up to at most 100.
func share(all []Kernel) error {
	var time, percent float64
	for i := range all {
		time += all[i].Time
		percent += all[i].Share
	}
	switch {
	case time > 0:
		for i := range all {
			all[i].Share = all[i].Time / time
		}
	case percent > 101:
		return fmt.Errorf("the shares of the kernels add up to %.4g%%", percent)
	case percent > 0:
		for i := range all {
			all[i].Share /= 100
		}
	default:
		return errors.New("no kernel has a time")
	}
	return nil
}
