package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
)

// Trace is the requests of a file, which is read as they are needed. Formats:
//
//	JSON lines   timestamp (ms), input_length, output_length, hash_ids of 512 tokens (Mooncake)
//	CSV          TIMESTAMP (a date), ContextTokens, GeneratedTokens (Azure)
//	CSV          arrived_at (s), num_prefill_tokens, num_decode_tokens (Vidur)
//
// An output of 0 tokens counts as 1, which a prefill always gives.
type Trace struct {
	Name string
	// Found by a first reading.
	Requests              int
	First, Last           float64 // arrivals, seconds
	MeanInput, MeanOutput float64
	Longest, LongestLine  int // input and output of a request, and its line
	Timed                 bool
	Hashed                bool

	in   *files.Door
	kept []Request // nil: they are read from the file
}

// mooncakeBlock is the tokens of a hashed block (kvcache-ai/Mooncake, FAST25-release/traces).
const mooncakeBlock = 512

// OpenTrace reads a trace once, and reports all its problems.
func OpenTrace(in *files.Door, name string) (*Trace, error) {
	t := &Trace{Name: name, Timed: true, in: in}
	r, err := t.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	var errs []error
	last := math.Inf(-1)
	for len(errs) < 20 {
		q, line, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			if line == 0 {
				break // nothing after it can be read
			}
			continue
		}
		if r.timed && q.Arrival < last {
			errs = append(errs, fmt.Errorf("%s: line %d: arrives at %g s, before the request in front of it at %g s; a trace must not go back in time", name, line, q.Arrival, last))
		}
		if t.Requests == 0 {
			t.First = q.Arrival
		}
		last = q.Arrival
		t.Last = q.Arrival
		t.Requests++
		t.MeanInput += float64(q.Input)
		t.MeanOutput += float64(q.Output)
		if n := q.Input + q.Output; n > t.Longest {
			t.Longest, t.LongestLine = n, line
		}
		t.Hashed = t.Hashed || len(q.Hashes) > 0
	}
	if len(errs) == 0 && t.Requests == 0 {
		errs = append(errs, fmt.Errorf("%s: has no requests", name))
	}
	t.Timed = r.timed
	t.MeanInput /= float64(max(1, t.Requests))
	t.MeanOutput /= float64(max(1, t.Requests))
	return t, document.Join(errs...)
}

// ReadLengths reads the lengths of the requests of a trace, with or without arrivals.
func ReadLengths(in *files.Door, name string) ([]Recorded, error) {
	t := &Trace{Name: name, in: in}
	r, err := t.open()
	if err != nil {
		return nil, err
	}
	defer r.close()
	var out []Recorded
	for {
		q, _, err := r.next()
		switch {
		case err == io.EOF && len(out) == 0:
			return nil, fmt.Errorf("%s: has no requests", name)
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, Recorded{q.Input, q.Output})
	}
}

// Rate is the requests per second of the trace.
func (t *Trace) Rate() float64 {
	if t.Last <= t.First {
		return math.Inf(1)
	}
	return float64(t.Requests-1) / (t.Last - t.First)
}

// mostKept is the most requests of a trace that are kept in memory rather than read for every run.
const mostKept = 1_000_000

// Keep reads the trace once, for all runs.
func (t *Trace) Keep() error {
	if t.Requests > mostKept {
		return nil
	}
	r, err := t.open()
	if err != nil {
		return err
	}
	defer r.close()
	for range t.Requests {
		q, _, err := r.next()
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		t.kept = append(t.kept, q)
	}
	return nil
}

// source plays the trace at a mean rate, +Inf for its own, up to a number of requests; 0: all.
func (t *Trace) source(rate float64, most int) Source {
	speed := 1.0
	if !math.IsInf(rate, 1) {
		speed = rate / t.Rate()
	}
	if !(speed > 0) {
		return &failed{err: fmt.Errorf("%s: all requests come at one time; such a trace cannot be played at a rate", t.Name)}
	}
	if most == 0 || most > t.Requests {
		most = t.Requests
	}
	p := &played{trace: t, speed: speed, most: most}
	if t.kept == nil {
		var err error
		if p.reader, err = t.open(); err != nil {
			return &failed{err: err}
		}
	}
	return p
}

type played struct {
	List   // empty: nothing follows an end
	reader *traceReader
	trace  *Trace
	speed  float64
	sent   int
	most   int
}

func (p *played) Next() (q Request, ok bool, err error) {
	switch {
	case p.sent == p.most:
		if p.reader != nil {
			p.reader.close()
		}
		return q, false, nil
	case p.reader == nil:
		q = p.trace.kept[p.sent]
	default:
		if q, _, err = p.reader.next(); err != nil {
			return Request{}, false, fmt.Errorf("%s: %w", p.trace.Name, err)
		}
	}
	p.sent++
	q.Arrival = (q.Arrival - p.trace.First) / p.speed
	return q, true, nil
}

type traceReader struct {
	file  io.Closer
	lines *csvfile.Lines
	csv   *csvfile.Reader
	width int
	at    [3]int // columns: arrival, input, output
	timed bool
	date  bool
	zero  time.Time
}

func (t *Trace) open() (*traceReader, error) {
	f, err := csvfile.Open(t.in, t.Name)
	if err != nil {
		return nil, document.Unreadable(t.in, t.Name, err)
	}
	r, err := newTraceReader(t.Name, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return r, nil
}

// newTraceReader reads lines of JSON or CSV, as the name of the file says.
func newTraceReader(name string, f io.ReadCloser) (*traceReader, error) {
	r := &traceReader{file: f, timed: true}
	if ext := filepath.Ext(strings.TrimSuffix(name, ".gz")); ext == ".jsonl" || ext == ".json" {
		r.lines = csvfile.NewLines(f, csvfile.Streamed)
		return r, nil
	}
	r.csv = csvfile.NewReader(f, csvfile.Streamed)
	return r, r.header()
}

func (r *traceReader) close() { r.file.Close() }

// columnNames are those of arrivals, inputs and outputs, in lower case.
var columnNames = [3][]string{
	{"arrived_at", "timestamp", "arrival", "arrival_time"},
	{"input_length", "num_prefill_tokens", "contexttokens", "prompt_tokens", "isl", "input"},
	{"output_length", "num_decode_tokens", "generatedtokens", "completion_tokens", "osl", "output"},
}

func (r *traceReader) header() error {
	header, err := r.csv.Header()
	if err != nil {
		return err
	}
	r.width = len(header)
	for i, names := range columnNames {
		r.at[i] = slices.IndexFunc(header, func(h string) bool { return slices.Contains(names, strings.ToLower(h)) })
		if r.at[i] < 0 && i > 0 {
			return fmt.Errorf("line 1: no column is named one of %s", strings.Join(names, ", "))
		}
		if i == 0 {
			r.timed = r.at[0] >= 0
			r.date = r.timed && strings.EqualFold(header[r.at[0]], "timestamp")
		}
	}
	return nil
}

// next is the next request and its line, or io.EOF.
func (r *traceReader) next() (Request, int, error) {
	if r.csv != nil {
		return r.nextRow()
	}
	for r.lines.Scan() {
		if len(strings.TrimSpace(r.lines.Text())) == 0 {
			continue
		}
		q, timed, err := parseLine(r.lines.Bytes())
		r.timed = r.timed && timed
		if err != nil {
			return q, r.lines.Line(), fmt.Errorf("line %d: %w", r.lines.Line(), err)
		}
		return q, r.lines.Line(), nil
	}
	if err := r.lines.Err(); err != nil {
		return Request{}, 0, err
	}
	return Request{}, r.lines.Line(), io.EOF
}

// parseLine reads a request in Mooncake's or a similar format; timed: it has an arrival.
func parseLine(line []byte) (q Request, timed bool, err error) {
	var f struct {
		Timestamp *float64 `json:"timestamp"`
		Input     *float64 `json:"input_length"`
		Output    *float64 `json:"output_length"`
		Hashes    []uint64 `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return q, false, err
	}
	if f.Input == nil || f.Output == nil {
		if f.Input, f.Output, err = otherLengths(line); err != nil {
			return q, false, err
		}
	}
	if q.Hashes = f.Hashes; len(q.Hashes) > 0 {
		q.HashTokens = mooncakeBlock
	}
	if timed = f.Timestamp != nil; timed {
		q.Arrival = *f.Timestamp / 1e3
	}
	return q, timed, q.setLengths(*f.Input, *f.Output)
}

// otherLengths finds lengths by other names.
func otherLengths(line []byte) (input, output *float64, err error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, nil, err
	}
	for i, to := range []**float64{&input, &output} {
		for _, name := range columnNames[1+i] {
			if v, ok := fields[name].(float64); ok && *to == nil {
				*to = &v
			}
		}
		if *to == nil {
			return nil, nil, fmt.Errorf("no number is named one of %s", strings.Join(columnNames[1+i], ", "))
		}
	}
	return input, output, nil
}

// latest is the last valid arrival, in seconds from 1970.
const latest = 1e12

func (q *Request) setLengths(input, output float64) error {
	if !(input >= 1 && input <= 1e9) || !(output >= 0 && output <= 1e9) {
		return fmt.Errorf("an input must be 1 to 1e9 tokens and an output 0 to 1e9, not %g and %g", input, output)
	}
	if !(q.Arrival >= 0 && q.Arrival <= latest) {
		return fmt.Errorf("an arrival must be a time from 0 to %g s, not %g s", latest, q.Arrival)
	}
	q.Input, q.Output = int(input), max(1, int(output))
	return nil
}

func (r *traceReader) nextRow() (Request, int, error) {
	row, err := r.csv.Read()
	if err == io.EOF {
		return Request{}, 0, io.EOF
	}
	if err != nil {
		return Request{}, 0, err
	}
	line := r.csv.Line()
	var q Request
	if len(row) != r.width {
		return q, line, fmt.Errorf("line %d: %d cells, the header has %d", line, len(row), r.width)
	}
	if r.timed {
		if q.Arrival, err = r.arrival(strings.TrimSpace(row[r.at[0]])); err != nil {
			return q, line, fmt.Errorf("line %d: %w", line, err)
		}
	}
	var lengths [2]float64
	for i := range lengths {
		text := strings.TrimSpace(row[r.at[1+i]])
		if lengths[i], err = strconv.ParseFloat(text, 64); err != nil {
			return q, line, fmt.Errorf("line %d: %q is not a length", line, text)
		}
	}
	if err := q.setLengths(lengths[0], lengths[1]); err != nil {
		return q, line, fmt.Errorf("line %d: %w", line, err)
	}
	return q, line, nil
}

// arrival reads seconds, or a date relative to the first one.
func (r *traceReader) arrival(text string) (float64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, nil
	}
	if r.date {
		for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00", time.RFC3339Nano} {
			if at, err := time.Parse(layout, text); err == nil {
				if r.zero.IsZero() {
					r.zero = at
				}
				d := at.Sub(r.zero).Seconds()
				if d < 0 {
					return 0, fmt.Errorf("%q is before the first request; a trace must not go back in time", text)
				}
				return d, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no time: seconds, or a date like 2023-11-16 18:17:03.979", text)
}
