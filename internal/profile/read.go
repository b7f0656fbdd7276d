package profile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
)

// columns are the names that summaries give to what is read, in lower case, the best first.
var columns = struct{ name, calls, time, share []string }{
	name:  []string{"name", "kernel", "kernel name", "kernel_name"},
	calls: []string{"instances", "calls", "# of calls", "count"},
	time:  []string{"total time", "self cuda", "cuda total", "total_time", "duration", "time", "time_us", "time_ms", "time_ns"},
	share: []string{"time (%)", "self cuda %", "share", "percent", "percentage", "%"},
}

// units of time in microseconds.
var units = map[string]float64{"ns": 1e-3, "nsec": 1e-3, "us": 1, "μs": 1, "µs": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}

// most is the limits of a summary: far beyond any.
var most = csvfile.Limits{Row: 1 << 20, Rows: 100_000, Bytes: 64 << 20}

// Read reads a summary: the CSV of nsys stats (cuda_gpu_kern_sum), the table of PyTorch's profiler (key_averages().table()), any
// CSV with a column of names and one of times or shares, or lines with a name and a percentage.
func Read(file string) ([]Kernel, error) {
	f, err := csvfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	s := csvfile.NewLines(f, most)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	out, err := parse(lines)
	if err != nil {
		return nil, err
	}
	return out, share(out)
}

// parse reads the lines of a summary. In front of a header there may be anything.
func parse(lines []string) ([]Kernel, error) {
	for i, line := range lines {
		for _, split := range []func(string) []string{splitCSV, splitTable} {
			if h, ok := headerOf(split(line)); ok {
				return h.rows(lines[i+1:], i+2, split)
			}
		}
	}
	return percentages(lines)
}

func splitCSV(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes = true
	cells, err := r.Read()
	if err != nil || len(cells) < 2 {
		return nil
	}
	return cells
}

var gaps = regexp.MustCompile(`\s{2,}|\t`)

// splitTable cuts a line of a table of text, whose columns have two spaces between them.
func splitTable(line string) []string {
	cells := gaps.Split(strings.TrimSpace(line), -1)
	if len(cells) < 2 {
		return nil
	}
	return cells
}

// header is where a summary has what.
type header struct {
	width, name, calls, time, share int
	unit                            float64 // of times without one; 0: not known
}

// headerOf reads the names of columns. A unit may stand behind the name of a time.
func headerOf(cells []string) (h header, ok bool) {
	plain := make([]string, len(cells))
	for i, c := range cells {
		plain[i] = strings.ToLower(strings.TrimSpace(c))
	}
	find := func(names []string) int {
		for _, n := range names {
			for i, c := range plain {
				if c == n || strings.HasPrefix(c, n+" (") && n != "time" || n == "time" && strings.HasPrefix(c, "time (") && c != "time (%)" {
					return i
				}
			}
		}
		return -1
	}
	h = header{width: len(cells), name: find(columns.name), calls: find(columns.calls), time: find(columns.time), share: find(columns.share)}
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

// rows reads what follows a header.
func (h *header) rows(lines []string, first int, split func(string) []string) ([]Kernel, error) {
	var out []Kernel
	var problems []error
	for i, line := range lines {
		cells := split(line)
		if len(cells) != h.width || strings.Trim(cells[h.name], "- ") == "" {
			continue // rules, sums below the table, other tables
		}
		k := Kernel{Name: strings.TrimSpace(cells[h.name])}
		var err error
		switch {
		case h.time >= 0:
			k.Time, err = h.micros(cells[h.time])
		default:
			k.Share, err = percentOf(cells[h.share])
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", first+i, err))
			continue
		}
		if h.calls >= 0 {
			k.Calls, _ = strconv.ParseFloat(strings.TrimSpace(cells[h.calls]), 64)
		}
		if k.Time > 0 || k.Share > 0 {
			out = append(out, k)
		}
	}
	return out, errors.Join(problems...)
}

// number is one with a unit behind it, or without.
var number = regexp.MustCompile(`^\s*([0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zμµ%]*)\s*$`)

func (h *header) micros(cell string) (float64, error) {
	m := number.FindStringSubmatch(cell)
	if m == nil {
		return 0, fmt.Errorf("%q is not a time", cell)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
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

func percentOf(cell string) (float64, error) {
	m := number.FindStringSubmatch(cell)
	if m == nil || m[2] != "" && m[2] != "%" {
		return 0, fmt.Errorf("%q is not a percentage", cell)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err
}

// named is a line with a name and a percentage, as reports write them.
var named = regexp.MustCompile("([A-Za-z_][\\w:<>~.-]*[\\w>])`?[^0-9A-Za-z%]*?([0-9]+(?:\\.[0-9]+)?)\\s*%")

func percentages(lines []string) ([]Kernel, error) {
	var out []Kernel
	for _, line := range lines {
		if m := named.FindStringSubmatch(line); m != nil {
			v, err := strconv.ParseFloat(m[2], 64)
			if err == nil {
				out = append(out, Kernel{Name: m[1], Share: v})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no kernels: there is no header with a column named one of %s and one named one of %s, and no line with a name and a percentage",
			strings.Join(columns.name, ", "), strings.Join(slices.Concat(columns.time, columns.share), ", "))
	}
	return out, nil
}

// share makes times shares of all times, and percentages shares: those of a whole add up to no more than that.
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
