package profile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// columns are lower-case names in summaries, best first.
var columns = struct{ name, calls, time, share, host []string }{
	name:  []string{"name", "kernel", "kernel name", "kernel_name"},
	calls: []string{"instances", "calls", "# of calls", "count", "launches", "invocations"},
	time:  []string{"total time", "self cuda", "cuda total", "total_time", "total_ms", "total_us", "total_ns", "duration", "gpu time", "time", "time_us", "time_ms", "time_ns", "cuda_time_us"},
	share: []string{"time (%)", "self cuda %", "share", "percent", "percentage", "%"},
	host:  []string{"self cpu"},
}

// units of time in microseconds.
var units = map[string]float64{"ns": 1e-3, "nsec": 1e-3, "us": 1, "μs": 1, "µs": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}

// layout is how a table writes its rows.
type layout struct {
	split        func(string) []string
	decimalComma bool // spreadsheets separate by semicolons where numbers have commas
}

var layouts = []layout{
	{split: separated(',')},
	{split: separated(';'), decimalComma: true},
	{split: separated('\t')},
	{split: splitBars},
	{split: splitTable},
}

// parse reads the lines of a summary; anything may precede a header.
func parse(lines []string) (Summary, error) {
	for i, line := range lines {
		for _, l := range layouts {
			if h, ok := headerOf(l.split(line)); ok {
				h.layout = l
				return h.rows(lines[i+1:], i+2)
			}
		}
	}
	return percentages(lines)
}

func separated(comma rune) func(string) []string {
	return func(line string) []string {
		r := csv.NewReader(strings.NewReader(line))
		r.LazyQuotes, r.Comma = true, comma
		cells, err := r.Read()
		if err != nil || len(cells) < 2 {
			return nil
		}
		return cells
	}
}

// splitBars cuts a line of a table with bars between columns, as in Markdown.
func splitBars(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) < 2 {
		return nil
	}
	return cells
}

var gaps = regexp.MustCompile(`\s{2,}|\t`)

// splitTable cuts a line of a text table with two spaces between columns.
func splitTable(line string) []string {
	cells := gaps.Split(strings.TrimSpace(line), -1)
	if len(cells) < 2 {
		return nil
	}
	return cells
}

// header is the indices of columns; -1: absent.
type header struct {
	layout
	width, name, calls, time, share int
	host                            int     // host time, which kernels do not take
	unit                            float64 // of times without one; 0: unknown
}

// headerOf reads the names of columns; a unit may follow the name of a time.
func headerOf(cells []string) (h header, ok bool) {
	plain := make([]string, len(cells))
	for i, c := range cells {
		plain[i] = strings.NewReplacer("[", "(", "]", ")").Replace(strings.ToLower(strings.TrimSpace(c)))
	}
	find := func(names []string) int {
		for _, n := range names {
			for i, c := range plain {
				if c == n || strings.HasPrefix(c, n+" (") && c != "time (%)" {
					return i
				}
			}
		}
		return -1
	}
	h = header{width: len(cells), name: find(columns.name), calls: find(columns.calls), time: find(columns.time), share: find(columns.share), host: find(columns.host)}
	if h.name < 0 || h.time < 0 && h.share < 0 {
		return h, false
	}
	if h.time >= 0 {
		name := strings.NewReplacer("(", " ", ")", " ", "_", " ").Replace(plain[h.time])
		words := strings.Fields(name)
		h.unit = units[words[len(words)-1]]
	}
	return h, true
}

// decoration matches rules, and the sums below the table of PyTorch's profiler.
var decoration = regexp.MustCompile(`^[\s\-=+|:─━┼│]*$|^\s*Self \w+ time total:`)

// rows reads what follows a header.
func (h *header) rows(lines []string, first int) (out Summary, err error) {
	var problems []error
	for i, line := range lines {
		if decoration.MatchString(line) {
			continue
		}
		cells := h.split(line)
		if len(cells) != h.width {
			out.leave(fmt.Sprintf("%d cells, the header has %d", max(1, len(cells)), h.width), "line", first+i)
			continue
		}
		k, why, err := h.kernel(cells)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("line %d: %w", first+i, err))
		case why != "":
			out.leave(why, "line", first+i)
		case k.Time > 0 || k.Share > 0:
			out.Kernels = append(out.Kernels, k)
		}
	}
	return out, errors.Join(problems...)
}

// kernel reads a row, or tells why it has none.
func (h *header) kernel(cells []string) (k Kernel, why string, err error) {
	k.Name = strings.TrimSpace(cells[h.name])
	value := h.share
	if h.time >= 0 {
		value = h.time
	}
	switch {
	case k.Name == "":
		return k, "no name", nil
	case isEmpty(cells[value]):
		return k, "no time", nil
	case value == h.time:
		k.Time, err = h.micros(cells[value])
	default:
		k.Share, err = h.percent(cells[value])
	}
	if err == nil && h.host >= 0 {
		// PyTorch's profiler lists the launch of a kernel with the kernel's time, besides the
		// kernel.
		if host, wrong := h.micros(cells[h.host]); wrong == nil && host > 0 {
			return k, "runs on the host", nil
		}
	}
	if err == nil && h.calls >= 0 {
		k.Calls, _ = h.value(strings.TrimSpace(cells[h.calls]))
	}
	return k, "", err
}

// isEmpty reports whether a cell means nothing.
func isEmpty(cell string) bool {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "", "-", "--", "n/a", "na", "nan", "none", "null":
		return true
	}
	return false
}

// number matches one with or without a unit.
var number = regexp.MustCompile(`^\s*([0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zμµ%]*)\s*$`)

// thousands matches numbers with commas between thousands.
var thousands = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?$`)

// value reads a number as the layout writes it.
func (l *layout) value(text string) (float64, error) {
	switch {
	case l.decimalComma && strings.LastIndex(text, ",") > strings.LastIndex(text, "."):
		text = strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", ".")
	case thousands.MatchString(text):
		text = strings.ReplaceAll(text, ",", "")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
		err = strconv.ErrRange
	}
	return v, err
}

func (h *header) micros(cell string) (float64, error) {
	m := number.FindStringSubmatch(cell)
	if m == nil {
		return 0, fmt.Errorf("%q is not a time", cell)
	}
	v, err := h.value(m[1])
	unit := h.unit
	if m[2] != "" {
		unit = units[strings.ToLower(m[2])]
	} else if unit == 0 {
		unit = 1 // all alike: only shares count
	}
	if err != nil || unit == 0 {
		return 0, fmt.Errorf("%q is not a time", cell)
	}
	return v * unit, nil
}

func (h *header) percent(cell string) (float64, error) {
	m := number.FindStringSubmatch(cell)
	if m == nil || m[2] != "" && m[2] != "%" {
		return 0, fmt.Errorf("%q is not a percentage", cell)
	}
	return h.value(m[1])
}

// named matches a name and a percentage in a line of a report.
var named = regexp.MustCompile("([A-Za-z_][\\w:<>~.-]*[\\w>])`?[^0-9A-Za-z%]*?([0-9]+(?:\\.[0-9]+)?)\\s*%")

// percentages reads lines without a header. Any text may have a word before a percentage: one name
// at least is of a kernel.
func percentages(lines []string) (out Summary, err error) {
	found := false
	for i, line := range lines {
		m := named.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) != "" {
				out.leave("no percentage", "line", i+1)
			}
			continue
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err == nil {
			out.Kernels = append(out.Kernels, Kernel{Name: m[1], Share: v})
			found = found || ClassOf(m[1]) != unknown
		}
	}
	if !found {
		return Summary{}, fmt.Errorf("no kernels: there is no header with a column named one of %s and one named one of %s, and no line with the name of a known kernel and a percentage: %s",
			strings.Join(columns.name, ", "), strings.Join(slices.Concat(columns.time, columns.share), ", "), allowed)
	}
	return out, nil
}
