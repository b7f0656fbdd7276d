package point

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/result"
)

// resultColumns are the registry fields added to each row of points, in the units of their names.
var resultColumns = []struct {
	name, field string
	unit        result.Unit
}{
	{"served_by", "engine", result.None}, {"clients", "concurrency", result.None},
	{"ttft_ms", "TTFT(s)", result.Millis}, {"tpot_ms", "TPOT(s)", result.Millis}, {"step_ms", "row_step(s)", result.Millis},
	{"tokens_per_s", "row_throughput(token/s)", result.TokenRate}, {"requests_per_s", "row_requests", result.Rate},
	{"memory_gib", "row_memory(Gib)", result.GiB}, {"fits", "row_fits", result.None}, {"bound", "row_bound", result.None},
	{"confidence", "row_confidence", result.None}, {"error_band_percent", "row_error_band(%)", result.Percent}, {"reason", "row_reason", result.None},
}

// resultNames are the names of these columns, and resultFields their fields.
var resultNames, resultFields = func() (names []string, fields []*result.Field) {
	for _, c := range resultColumns {
		f, ok := result.Lookup(c.field)
		if !ok {
			panic("point: no field " + c.field)
		}
		names, fields = append(names, c.name), append(fields, f)
	}
	return names, fields
}()

// Tally counts the rows of a table.
type Tally struct {
	Rows int
	Bad  int // without an estimate
}

type WriteError struct{ Err error }

func (e WriteError) Error() string { return e.Err.Error() }
func (e WriteError) Unwrap() error { return e.Err }

// Stream reads points from a CSV table and writes each row with its results as soon as it is read.
// Columns are named like settings; empty cells and absent columns take the values of others. An
// invalid row gets its reason and does not affect the rest. Result columns are recomputed, so that
// output can be read again; columns whose names start with # are copied.
func Stream(ctx context.Context, in io.Reader, out io.Writer, others *question.Question) (Tally, error) {
	var t Tally
	s := stream{estimator: NewEstimator(), others: *others, reader: csvfile.NewReader(in, csvfile.Streamed), writer: csvfile.NewWriter(out)}
	if err := s.header(); err != nil {
		return t, err
	}
	for ctx.Err() == nil {
		row, err := s.reader.Read()
		var broken *csv.ParseError
		switch {
		case err == io.EOF:
			return t, writeError(s.writer.Flush())
		case errors.As(err, &broken):
			row = nil
		case err != nil:
			return t, fmt.Errorf("the table of points: %w", err)
		}
		t.Rows++
		if !s.row(row, err) {
			t.Bad++
		}
		if err := s.writer.Write(s.cells); err != nil {
			return t, writeError(err)
		}
		if s.reader.Waits() {
			if err := s.writer.Flush(); err != nil {
				return t, writeError(err)
			}
		}
	}
	return t, ctx.Err()
}

func writeError(err error) error {
	if err == nil {
		return nil
	}
	return WriteError{err}
}

// stream is a table under way.
type stream struct {
	estimator *Estimator
	others    question.Question
	reader    *csvfile.Reader
	writer    *csvfile.Writer
	columns   []column
	width     int // cells of an input row
	carried   int // of them that are written
	cells     []string
	digits    []byte
}

// column is one of the input.
type column struct {
	field  *question.Setting // nil: not read
	name   string            // of the column
	result bool              // computed anew
}

// header reads the names of the columns and writes those of the results.
func (s *stream) header() error {
	names, err := s.reader.Read()
	if err == io.EOF {
		return errors.New("the table of points is empty: its first row names the columns")
	} else if err != nil {
		return fmt.Errorf("the table of points: %w", err)
	}
	names = slices.Clone(names)
	names[0] = strings.TrimPrefix(names[0], "\uFEFF")
	var errs []error
	seen := map[string]bool{}
	for i, name := range names {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
		c := column{result: slices.Contains(resultNames, strings.ReplaceAll(key, "-", "_"))}
		known := c.result || strings.HasPrefix(key, "#")
		if !known {
			c.field, known = question.Column(question.Estimate, key)
		}
		if c.field != nil {
			key, c.name = c.field.Name, key
		}
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("column %d: %s", i+1, document.NotOneOf(name, question.Columns(question.Estimate))))
		case seen[key] && !c.result:
			errs = append(errs, fmt.Errorf("column %d: %q is there twice", i+1, name))
		}
		seen[key] = true
		s.columns = append(s.columns, c)
		if !c.result {
			s.cells = append(s.cells, name)
		}
	}
	for _, f := range []struct{ name, value string }{{"model", s.others.Model}, {"system", s.others.System}} {
		if f.value == "" && !seen[f.name] {
			errs = append(errs, fmt.Errorf("there is no column %q, and no %s for all rows is given", f.name, f.name))
		}
	}
	if err := document.Join(errs...); err != nil {
		return err
	}
	s.width, s.carried = len(names), len(s.cells)
	return writeError(s.writer.Write(append(s.cells, resultNames...)))
}

// row leaves the cells of one row to be written and reports whether it has an estimate.
func (s *stream) row(row []string, broken error) bool {
	s.cells = s.cells[:0]
	p := s.others
	var errs []error
	if broken != nil {
		errs = append(errs, broken)
	} else if len(row) != s.width {
		errs = append(errs, fmt.Errorf("%d cells under %d columns", len(row), s.width))
	}
	errs = append(errs, s.set(row, &p)...)
	if p.Phase == question.BothPhases {
		errs = append(errs, errors.New("phase: a row is a prefill, a decode or, without a phase, what clients see; not both"))
	}
	var answer *Answer
	if len(errs) == 0 {
		var err error
		if answer, err = s.estimator.Answer(&p); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		for range len(resultColumns) - 1 {
			s.cells = append(s.cells, "")
		}
		s.cells = append(s.cells, strings.ReplaceAll(document.Join(errs...).Error(), "\n", "; "))
		return false
	}
	s.result(answer)
	return true
}

// set copies the cells of one row that are written, and sets what it tells of a question.
func (s *stream) set(row []string, p *question.Question) (errs []error) {
	for i := range s.columns {
		c, text := &s.columns[i], ""
		if i < len(row) {
			text = row[i]
		}
		if !c.result {
			s.cells = append(s.cells, text)
		}
		if text = strings.TrimSpace(csvfile.Unguard(text)); text == "" || c.field == nil {
			continue
		}
		if err := c.field.Set(p, text); err != nil {
			errs = append(errs, err)
		}
	}
	for i := range s.columns {
		if c := &s.columns[i]; c.field != nil && i < len(row) && strings.TrimSpace(row[i]) != "" {
			if err := p.Named(c.name); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

func (s *stream) result(a *Answer) {
	r := a.Record
	for i, f := range resultFields {
		s.cells = append(s.cells, s.cell(f.In(resultColumns[i].unit, r)))
	}
}

func (s *stream) cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return s.number(v)
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	}
	return fmt.Sprint(v)
}

// number writes a result with more digits than anything here is exact to.
func (s *stream) number(v float64) string {
	s.digits = strconv.AppendFloat(s.digits[:0], v, 'g', 9, 64)
	return string(s.digits)
}
