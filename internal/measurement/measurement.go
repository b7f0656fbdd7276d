// Package measurement reads tables of measured kernel times into typed rows. It knows three
// schemas: one with a column of parameters (kind,dtype,params,flops,bytes,time_us), which
// measure/measure.py writes; one with a column per dimension
// (framework,version,device,op_name,kernel_source,...,latency in ms), as in public data sets; and
// tables whose path gives the shape (.../mha/decode/h20/32-8-128.csv).
package measurement

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/files"

	"throughline/hardware/kernel"
)

// Row is one measured time.
type Row struct {
	Kind    kernel.Slot // the kernel that was measured
	Type    string      // number type as the system format names it, else as written
	Seconds float64
	File    string
	Line    int

	layout *layout
	dims   []int
	labels []string
}

// layout is what the rows of a file have in common: names of dimensions and labels.
type layout struct{ dims, labels []string }

func (r *Row) Dim(name string) (int, bool) {
	if i := slices.Index(r.layout.dims, name); i >= 0 {
		return r.dims[i], true
	}
	return 0, false
}

// Get is a dimension as a number, 0 where the row does not have it.
func (r *Row) Get(name string) float64 {
	n, _ := r.Dim(name)
	return float64(n)
}

// Label is a textual property (kernel, dtype as written, kv, distribution, model), or empty.
func (r *Row) Label(name string) string {
	if i := slices.Index(r.layout.labels, name); i >= 0 {
		return r.labels[i]
	}
	return ""
}

// Shape names everything but the time: rows of one shape measured the same thing.
func (r *Row) Shape() string { return r.ShapeBut("") }

// ShapeBut is Shape without one dimension: rows that have it in common make a series.
func (r *Row) ShapeBut(dim string) string {
	b := []byte(r.Kind.String())
	b = append(b, ' ')
	b = append(b, r.Type...)
	for i, n := range r.layout.dims {
		if n != dim {
			b = fmt.Appendf(b, " %s=%d", n, r.dims[i])
		}
	}
	for i, n := range r.layout.labels {
		if r.labels[i] != "" {
			b = fmt.Appendf(b, " %s=%s", n, r.labels[i])
		}
	}
	return string(b)
}

// Place is where the row stands.
func (r *Row) Place() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// Problem is a row that cannot be used, and why.
type Problem struct {
	File   string
	Line   int
	Reason string
}

func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Reason) }

// Table is what a file holds. Every row of the file is in one of the two lists.
type Table struct {
	Rows     []Row
	Problems []Problem
}

// ReadFile reads a table, compressed or not. Its error does not name the file; bad rows are in the
// table.
func ReadFile(in *files.Door, name string) (*Table, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(Name(name), f)
}

// Parser returns a reader of records with the given columns; a record may hold several rows.
func Parser(name string, head []string) (func(record []string) ([]Row, error), error) {
	switch {
	case slices.Contains(head, "params") && slices.Contains(head, "time_us"):
		return newParams(head)
	case slices.Contains(head, "op_name"):
		return newColumns(head)
	}
	parse, err := newNamed(name, head)
	if parse == nil && err == nil {
		err = fmt.Errorf("unknown columns %s; a table of kernels has kind,dtype,params,flops,bytes,time_us, or op_name,latency and its dimensions, or m,k,n,latency_us", strings.Join(head, ","))
	}
	return parse, err
}

// Read reads a table; the name is for messages, and gives the shape where columns do not.
func Read(name string, src io.Reader) (*Table, error) {
	c := csvfile.NewReader(src, csvfile.Kept)
	head, err := c.Read()
	if err == io.EOF {
		return nil, errors.New("the table is empty: its first row names the columns")
	} else if err != nil {
		return nil, err
	}
	head = slices.Clone(head)
	var first []string // where a row is in the place of the header
	if headless(head) {
		head, first = decodeColumns, head
	}
	parse, err := Parser(name, head)
	if err != nil {
		return nil, err
	}
	t := &Table{}
	for {
		rec := first
		if first == nil {
			rec, err = c.Read()
		}
		first = nil
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			var bad *csv.ParseError
			if !errors.As(err, &bad) {
				return nil, err
			}
			t.Problems = append(t.Problems, Problem{name, bad.Line, bad.Err.Error()})
			continue
		}
		line := c.Line()
		if len(rec) != len(head) {
			t.Problems = append(t.Problems, Problem{name, line, fmt.Sprintf("%d fields, not %d", len(rec), len(head))})
			continue
		}
		rows, err := parse(rec)
		if err != nil {
			t.Problems = append(t.Problems, Problem{name, line, err.Error()})
			continue
		}
		for i := range rows {
			rows[i].File, rows[i].Line = name, line
		}
		t.Rows = append(t.Rows, rows...)
	}
}

// seconds reads a time.
func seconds(s string, unit float64) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("time %q is not a number", s)
	}
	if !(v > 0) {
		return 0, fmt.Errorf("time %q is not positive", s)
	}
	if v*unit < 1e-12 {
		return 0, fmt.Errorf("time %q is under a picosecond: no kernel is that fast", s)
	}
	if v*unit > 3600 {
		return 0, fmt.Errorf("time %q is over an hour: no kernel takes that long", s)
	}
	return v * unit, nil
}

func integer(name, s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a whole number", name, s)
	}
	if n < 0 {
		return 0, fmt.Errorf("%s is negative: %d", name, n)
	}
	return n, nil
}

// numberTypes are those of the system format.
var numberTypes = []string{"float4", "int4", "float8", "int8", "float16", "bfloat16", "float32"}

// numberType translates the names of number types; others stay as they are.
func numberType(s string) string {
	switch s {
	case "bf16", "bfloat16":
		return "bfloat16"
	case "fp32", "float32":
		return "float32"
	case "fp16", "half", "float16":
		return "float16"
	case "fp8", "fp8_block", "fp8_static", "fp8_ootb", "float8":
		return "float8"
	case "nvfp4", "w4a8_mxfp4_mxfp8", "w4a16_mxfp4", "fp4", "float4":
		return "float4"
	case "int8", "int8_wo", "sq":
		return "int8"
	case "int4", "int4_wo":
		return "int4"
	}
	return s
}
