package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/internal/table"
)

func newScan(t *testing.T, r *Request) *Scan {
	t.Helper()
	if r.Command == "" {
		r.Command = "estimate"
	}
	s, err := New(files.Machine, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// points are all points of a scan in words.
func points(s *Scan) (out []string) {
	values := make([]Value, len(s.Axes))
	for i := range s.Len() {
		s.At(i, values)
		words := s.WordsAt(values)
		var parts []string
		for name, text := range words {
			parts = append(parts, name+"="+text)
		}
		slices.Sort(parts)
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

// Every combination once; numbers of the system of a bare step move innermost, whatever is given
// first, and what is fixed goes before what varies.
func TestGrid(t *testing.T) {
	s := newScan(t, &Request{Settings: map[string]string{"system": "H200", "set": "sys.mem1.GiB=100", "batch": "1,2", "phase": "decode"}, Vary: []string{"sys.mem1.GBps=1000,2000", "isl=8:9"}})
	got := points(s)
	want := []string{
		"batch=1 isl=8 phase=decode set=sys.mem1.GiB=100,sys.mem1.GBps=1000 system=H200",
		"batch=1 isl=8 phase=decode set=sys.mem1.GiB=100,sys.mem1.GBps=2000 system=H200",
		"batch=1 isl=9 phase=decode set=sys.mem1.GiB=100,sys.mem1.GBps=1000 system=H200",
	}
	if s.Len() != 8 || !slices.Equal(got[:3], want) {
		t.Errorf("%d points:\n%s", s.Len(), strings.Join(got, "\n"))
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != 8 {
		t.Error("a point comes twice")
	}
}

// Axes that are linked move together.
func TestLinked(t *testing.T) {
	s := newScan(t, &Request{Settings: map[string]string{"isl": "1,2", "osl": "3,4", "batch": "5,6"}, Link: []string{"isl,osl"}})
	want := []string{"batch=5 isl=1 osl=3", "batch=6 isl=1 osl=3", "batch=5 isl=2 osl=4", "batch=6 isl=2 osl=4"}
	got := points(s)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A price list names all systems; a point has the price of its own.
func TestPrices(t *testing.T) {
	s := newScan(t, &Request{Command: "plan", Settings: map[string]string{"system": "H100_SXM,H200,B200", "price": "H100_SXM=2,H200=3"}})
	want := []string{"price=H100_SXM=2 system=H100_SXM", "price=H200=3 system=H200", "system=B200"}
	if got := points(s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A point of a design follows from the scan and its number: in any order, from any copy.
func TestPointsArePure(t *testing.T) {
	for _, design := range []string{"grid", "latin", "sobol", "halton"} {
		r := &Request{Settings: map[string]string{"batch": "1:64", "isl": "1k:32k:log9"}, Vary: []string{"sys.mem1.GBps=x0.5:x4:log9"}, Design: design, Samples: 100, Seed: 3}
		if design == "grid" {
			r.Samples = 0
		}
		a, b := newScan(t, r), newScan(t, r)
		one, other := make([]Value, 3), make([]Value, 3)
		for i := range 100 {
			a.At(99-i, one)
			b.At(99-i, other)
			if fmt.Sprint(one) != fmt.Sprint(other) {
				t.Fatalf("%s: point %d is %v and %v", design, 99-i, one, other)
			}
			if v := one[2].Number; v < 0.5 || v > 4 {
				t.Errorf("%s: %v is out of its range", design, one)
			}
			if v := one[0].Number; v != float64(int(v)) {
				t.Errorf("%s: a batch of %v", design, v)
			}
		}
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		text  string
		kind  table.Kind
		unit  string
		value any
		met   bool
	}{
		{"tpot <= 20ms", table.Number, "ms", 20.0, true}, {"tpot<20ms", table.Number, "ms", 20.0, false}, {"ttft > 1s", table.Number, "ms", 1500.0, true},
		{"gpus >= 8", table.Number, "", 8, true}, {"fits = true", table.Flag, "", true, true}, {"fits = yes", table.Flag, "", true, true},
		{"fits != true", table.Flag, "", true, false}, {"bound = memory", table.Text, "", "memory", true}, {"bound != memory", table.Text, "", "memory", false},
		{"tpot <= 20ms", table.Number, "ms", nil, false}, {"bound != memory", table.Text, "", nil, false}, {"gpus == 8", table.Number, "", 7.0, false},
		{"isl < 2k", table.Number, "tokens", 2047.0, true}, {"tokens_per_s => 2k", table.Number, "tokens/s", 2000.0, true}, {"price =< $2", table.Number, "$", 2.0, true},
		{"sys.mem1.GBps < x2", table.Number, "", 1.9, true}, {"idle <= 5%", table.Number, "%", 5.1, false},
	} {
		condition, err := ParseCondition(c.text)
		if err != nil {
			t.Fatal(err)
		}
		met, err := condition.Met(c.kind, c.unit)
		if err != nil || met(c.value) != c.met {
			t.Errorf("%s of %v: %v, %v", c.text, c.value, !c.met, err)
		}
	}
	for text, kind := range map[string]table.Kind{"tpot < fast": table.Number, "tpot = < 20ms": table.Number, "fits = ture": table.Flag, "fits < true": table.Flag, "bound < 3": table.Text} {
		if c, err := ParseCondition(text); err != nil {
			t.Error(err)
		} else if _, err := c.Met(kind, "ms"); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if _, err := ParseCondition("5ms < tpot < 20ms"); err == nil {
		t.Error("a condition that begins with a number is taken")
	}
}
