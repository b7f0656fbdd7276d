package validate

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"throughline/internal/question"
	"throughline/internal/test/builtin"
)

// TestCancelled: a table of any length ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	onH200 := question.Default()
	onH200.System = "H200"
	const ops, forward = "kind,dtype,params,flops,bytes,time_us\n", "kind,model,params,time_ms\n"
	for what, run := range map[string]func() (*Report, error){
		"ops":     func() (*Report, error) { return Ops(ctx, "ops.csv", endless(ops), builtin.System(t, "H200")) },
		"forward": func() (*Report, error) { return Forward(ctx, "forward.csv", endless(forward), onH200) },
		"serving": func() (*Report, error) { return Serving(ctx, "serving.csv", endless(servingTable), question.Default()) },
	} {
		if r, err := run(); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// endless is a table whose last line repeats.
func endless(table string) *repeat {
	return &repeat{next: []byte(table), line: []byte("x,x,x,x,x,x\n")}
}

type repeat struct{ next, line []byte }

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.next) == 0 {
		r.next = r.line
	}
	n := copy(p, r.next)
	r.next = r.next[n:]
	return n, nil
}

// TestFormulas: a table that a spreadsheet opens holds no formulas, and its numbers stay numbers.
func TestFormulas(t *testing.T) {
	r := Report{
		Header: []string{"=note", "offset", "predicted", "reason"}, Figures: []string{""},
		Rows: []Row{{Cells: []string{"@sum", "-5"}, Figures: []Figure{{Predicted: -1.5}}}, {Cells: []string{"plain", "+1e3"}, Figures: []Figure{{Reason: "-x is no time"}}}},
	}
	var out bytes.Buffer
	if err := r.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	want := "'=note,offset,predicted,reason\n'@sum,-5,-1.5,\nplain,+1e3,,'-x is no time\n"
	if out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

func TestEndlessTime(t *testing.T) {
	for _, text := range []string{"inf", "+Inf", "nan", "0", "-1", "1e999", "x"} {
		if f := measured(text); f.Measured != 0 || !strings.Contains(f.Reason, "is not a time") {
			t.Errorf("%s is taken for %v", text, f.Measured)
		}
	}
}
