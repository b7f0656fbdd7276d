package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
)

// Spread changes fixed lengths to those of a distribution, given in words:
//
//	fixed           every request is as long as the lengths say
//	uniform:R       lengths are spread evenly between R times the given one and the given one
//	lognormal:S     lengths have the given mean and a standard deviation of S of their logarithm
//	trace:FILE      lengths are those of the requests in a file
//
// What follows uses the mean lengths. Attention of a prompt grows with its square, so the mean square of the inputs
// is kept besides.
func (l Lengths) Spread(words string) (Lengths, error) {
	kind, value, given := strings.Cut(words, ":")
	switch {
	case kind == "trace" && value == "":
		return l, errors.New("trace:FILE needs a file of requests")
	case kind == "fixed" && given:
		return l, fmt.Errorf("fixed takes no number, but there is %q", value)
	}
	switch kind {
	case "", "fixed":
		return l, nil
	case "uniform":
		r, err := strconv.ParseFloat(value, 64)
		if err != nil || !(r >= 0) || r > 1 {
			return l, fmt.Errorf("uniform:R needs a ratio between 0 and 1, not %q", value)
		}
		// Between r and 1 the mean is (1+r)/2, the mean square (1+r+r²)/3.
		mean, square := (1+r)/2, (1+r+r*r)/3
		out := l.scaled(mean, square/(mean*mean))
		out.LongestInput, out.Longest = l.Input, l.Final()
		return out, nil
	case "lognormal":
		s, err := strconv.ParseFloat(value, 64)
		if err != nil || !(s >= 0) || s > 3 {
			return l, fmt.Errorf("lognormal:S needs a deviation between 0 and 3, not %q", value)
		}
		// A log-normal variable has a mean square of e^(s²) times the square of its mean.
		out := l.scaled(1, math.Exp(s*s))
		// Its logarithm has the mean log(mean) - s²/2.
		rare := math.Exp(rarest*s - s*s/2)
		out.LongestInput = int(math.Ceil(rare * float64(l.Input)))
		out.Longest = out.LongestInput + int(math.Ceil(rare*float64(l.Output)))
		return out, nil
	case "trace":
		return l.fromTrace(value)
	}
	return l, fmt.Errorf("length distribution %q is not one of fixed, uniform:R, lognormal:S, trace:FILE", words)
}

// rarest is the deviations above the mean that one length in ten thousand of a normal distribution exceeds: log-normal lengths
// have no longest.
const rarest = 3.719

// CheckSpread tells what is wrong with the words of a distribution, whatever is in the file that they may name.
func CheckSpread(words string) error {
	if file, ok := strings.CutPrefix(words, "trace:"); ok && file != "" {
		return nil
	}
	_, err := Lengths{Input: 1, Output: 1}.Spread(words)
	return err
}

// scaled multiplies the mean lengths, and sets how much more the mean square of the inputs is than that of their mean.
func (l Lengths) scaled(mean, squares float64) Lengths {
	part := float64(l.Cached) / float64(max(1, l.Input))
	l.Input = max(1, int(math.Round(mean*float64(l.Input))))
	l.Output = max(1, int(math.Round(mean*float64(l.Output))))
	l.Cached = int(part * float64(l.Input))
	l.Squares = squares
	return l
}

// TraceColumns are the names under which traces give the lengths of a request, input and output, in lower case.
var TraceColumns = [2][]string{
	{"input_length", "num_prefill_tokens", "contexttokens", "prompt_tokens", "isl", "input"},
	{"output_length", "num_decode_tokens", "generatedtokens", "completion_tokens", "osl", "output"},
}

// FindColumn is the column of a table that has one of some names, in any case; -1: none. A table may start with the mark of
// its encoding.
func FindColumn(header, names []string) int {
	return slices.IndexFunc(header, func(h string) bool {
		return slices.Contains(names, strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\uFEFF"))))
	})
}

// fromTrace takes the mean lengths of the requests in a CSV or JSONL file.
func (l Lengths) fromTrace(name string) (Lengths, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return l, err
	}
	defer f.Close()
	var n, in, out, squares, prompt, longest float64
	add := func(i, o float64) {
		prompt, longest = max(prompt, i), max(longest, i+o)
		n++
		in += i
		out += o
		squares += i * i
	}
	read := readCSV
	if ext := filepath.Ext(strings.TrimSuffix(name, ".gz")); ext == ".jsonl" || ext == ".json" {
		read = readJSONL
	}
	if err := read(f, add); err != nil {
		return l, fmt.Errorf("%s: %w", name, err)
	}
	if n == 0 || in == 0 {
		return l, fmt.Errorf("%s: has no requests", name)
	}
	part := float64(l.Cached) / float64(max(1, l.Input))
	l.Input, l.Output = max(1, int(math.Round(in/n))), max(1, int(math.Round(out/n)))
	l.Cached = int(part * float64(l.Input))
	l.Squares = squares / n / (in / n * in / n)
	l.LongestInput, l.Longest = int(prompt), int(longest)
	return l, nil
}

func readCSV(r io.Reader, add func(in, out float64)) error {
	c := csvfile.NewReader(r, csvfile.Streamed)
	header, err := c.Read()
	if err == io.EOF {
		return errors.New("is empty: its first row names the columns")
	} else if err != nil {
		return err
	}
	width := len(header)
	var columns [2]int
	for i, names := range TraceColumns {
		columns[i] = FindColumn(header, names)
		if columns[i] < 0 {
			return fmt.Errorf("line 1: no column is named one of %s", strings.Join(names, ", "))
		}
	}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) != width {
			return fmt.Errorf("line %d: %d cells, the header has %d", c.Line(), len(row), width)
		}
		var lengths [2]float64
		for i, col := range columns {
			if lengths[i], err = strconv.ParseFloat(row[col], 64); err != nil || !isLength(lengths[i]) {
				return fmt.Errorf("line %d: %q is not a length", c.LineOf(col), row[col])
			}
		}
		add(lengths[0], lengths[1])
	}
}

// isLength tells a number of tokens from what only is a number.
func isLength(v float64) bool { return v >= 0 && v <= 1e9 }

func readJSONL(r io.Reader, add func(in, out float64)) error {
	s := csvfile.NewLines(r, csvfile.Streamed)
	for s.Scan() {
		line := s.Line()
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(s.Bytes(), &fields); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		var lengths [2]float64
		for i, names := range TraceColumns {
			at := slices.IndexFunc(names, func(n string) bool { _, ok := fields[n].(float64); return ok })
			if at < 0 {
				return fmt.Errorf("line %d: no number is named one of %s", line, strings.Join(names, ", "))
			}
			if lengths[i] = fields[names[at]].(float64); !isLength(lengths[i]) {
				return fmt.Errorf("line %d: %g is not a length", line, lengths[i])
			}
		}
		add(lengths[0], lengths[1])
	}
	return s.Err()
}
