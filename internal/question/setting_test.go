package question

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/workload"
)

// Numbers out of bounds, and what is no number, are refused with the bound, however they come.
func TestBounds(t *testing.T) {
	numbers := 0
	for i := range settings {
		s := &settings[i]
		kind := s.Kind()
		if kind == Text || kind == Switch {
			continue
		}
		numbers++
		if s.High <= s.Low {
			t.Errorf("%s: from %v to %v", s.Name, s.Low, s.High)
		}
		bad := map[string]float64{numberOf(s.Low - 1): s.Low - 1, numberOf(s.High + 1): s.High + 1}
		if kind != Count {
			bad["NaN"], bad["-Inf"] = math.NaN(), math.Inf(-1)
			if !s.Infinite {
				bad["Inf"] = math.Inf(1)
			}
			q := Default()
			if err := s.Set(&q, "1e999"); err == nil || !strings.Contains(err.Error(), s.Name+": "+s.bounds()) {
				t.Errorf("%s 1e999: %v", s.Name, err)
			}
		}
		if s.Above {
			bad[numberOf(s.Low)] = s.Low
		}
		if s.Below {
			bad[numberOf(s.High)] = s.High
		}
		for text, v := range bad {
			q := Default()
			err := s.Set(&q, text)
			if err == nil || !strings.Contains(err.Error(), s.Name+": "+s.bounds()) {
				t.Errorf("%s %s: %v, want %q", s.Name, text, err, s.bounds())
			}
			q = Default()
			if s.Optional && v == 0 {
				continue // not given
			}
			if kind == Count {
				*s.Ref(&q).(*int) = int(v)
			} else {
				*s.Ref(&q).(*float64) = v
			}
			if err := q.Check(s.For); err == nil || !strings.Contains(err.Error(), s.Name+": "+s.bounds()) {
				t.Errorf("%s is %v: %v, want %q", s.Name, v, err, s.bounds())
			}
		}
		good := []float64{(s.Low + s.High) / 2}
		if !s.Above {
			good = append(good, s.Low)
		}
		if !s.Below {
			good = append(good, s.High)
		}
		if kind == Count {
			good[0] = math.Ceil(good[0])
		}
		for _, v := range good {
			q := Default()
			if err := s.Set(&q, numberOf(v)); err != nil {
				t.Error(err)
			}
		}
	}
	if numbers < 20 {
		t.Errorf("only %d numbers", numbers)
	}
}

// Times take units everywhere.
func TestTimes(t *testing.T) {
	for text, want := range map[string]float64{
		"50": 50, "50ms": 50, "2s": 2000, "1.5 s": 1500, "300us": 0.3, "300µs": 0.3, "300μs": 0.3, "2min": 120_000, "500000ns": 0.5, "1e3": 1000,
	} {
		q := Default()
		s, _ := Lookup(Explain, "ttft")
		if err := s.Set(&q, text); err != nil || math.Abs(q.TTFT-want) > 1e-12*want {
			t.Errorf("%q is %v ms, %v; want %v", text, q.TTFT, err, want)
		}
		q = Default()
		s, _ = Lookup(Plan, "ttft")
		if err := s.Set(&q, text); err != nil || q.Simulates() || math.Abs(*q.Limits().TTFT-want) > 1e-12*want {
			t.Errorf("%q is %v, %v; want %v", text, q.Goals, err, want)
		}
	}
	for text, want := range map[string]float64{"0.5": 0.5, "500ms": 0.5, "2s": 2, "2min": 120, "300us": 3e-4} {
		q := Default()
		s, _ := Lookup(Simulate, "think-time")
		if err := s.Set(&q, text); err != nil || math.Abs(q.Traffic.Think-want) > 1e-12*want {
			t.Errorf("%q is %v s, %v; want %v", text, q.Traffic.Think, err, want)
		}
	}
	for _, text := range []string{"2 hours", "s", "2x", "2ss", "1m"} {
		for _, of := range []Command{Plan, Explain} {
			q := Default()
			s, _ := Lookup(of, "tpot")
			if err := s.Set(&q, text); err == nil || !strings.Contains(err.Error(), "must be a time like 2s, 50ms or 300us, or a number of ms, not") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

// TestGoals: limits with a share of the requests are simulated, others are not.
func TestGoals(t *testing.T) {
	for text, want := range map[string]workload.Limit{"p99:2s": {Share: 0.99, Seconds: 2}, "median:40ms": {Share: 0.5, Seconds: 0.04}, "mean:50": {Seconds: 0.05}, "50": {Seconds: 0.05}} {
		q := Default()
		s, _ := Lookup(Plan, "tpot")
		if err := s.Set(&q, text); err != nil {
			t.Fatal(err)
		}
		if _, got := q.GoalsOf(); got != want || q.Simulates() != strings.Contains(text, ":") {
			t.Errorf("%q is %+v, simulated %v", text, got, q.Simulates())
		}
	}
	for _, text := range []string{"p100:2s", "q99:2s", "p99:", "p99:0", "p99:NaN", "-1", "Inf", "NaN"} {
		q := Default()
		s, _ := Lookup(Plan, "ttft")
		if err := s.Set(&q, text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// A value that is none of the choices is refused with the nearest.
func TestChoices(t *testing.T) {
	for _, c := range []struct {
		of                  Command
		setting, text, want string
	}{
		{Plan, "mode", "dissag", `mode: "dissag" is not one of "agg", "disagg", "both"; did you mean "disagg"?`},
		{Plan, "objective", "min-gpu", `did you mean "min-gpus"?`},
		{Estimate, "phase", "Decod", `did you mean "decode"?`},
		{Forward, "weights", "mxfp5", `did you mean "mxfp4"?`},
		{Estimate, "engine", "vlm", `did you mean "vllm"?`},
		{Serving, "assume", "fysical", `did you mean "physical"?`},
	} {
		q := Default()
		s, ok := Lookup(c.of, c.setting)
		if !ok {
			t.Fatalf("no setting %s", c.setting)
		}
		if err := s.Set(&q, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A choice may be in any case of letters, and is kept as it is listed; names of files stay as they
// are.
func TestCaseOfChoices(t *testing.T) {
	for _, c := range []struct{ setting, text, want string }{
		{"engine", "SGLang", "sglang"}, {"engine", "None", "none"}, {"weights", "FP8", "fp8"}, {"cache", "FP8_E4M3", "fp8_e4m3"}, {"overlap", "Two-Batch", "two-batch"},
		{"phase", "Decode", "decode"}, {"attention-backend", "FA3", "fa3"}, {"attention-backend", "FlashInfer", "FlashInfer"}, {"system", "h200", "h200"},
	} {
		q := Default()
		s, ok := Lookup(Estimate, c.setting)
		if !ok {
			t.Fatalf("no setting %s", c.setting)
		}
		if err := s.Set(&q, c.text); err != nil || s.Get(&q) != c.want {
			t.Errorf("%s %s is %q, want %q: %v", c.setting, c.text, s.Get(&q), c.want, err)
		}
	}
}

// A list is checked word by word.
func TestLists(t *testing.T) {
	for text, want := range map[string]string{
		"8, 16": "", "1,8,99999999": "ep: must be from 2 to 1000000, not 1\nep: must be from 2 to 1000000, not 99999999", "8,x": `must be whole numbers from 2 to 1000000, not "x"`,
	} {
		q := Default()
		s, _ := Lookup(Comm, "ep")
		err := s.Set(&q, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	q := Default()
	s, _ := Lookup(Comm, "library")
	if err := s.Set(&q, "nccl,ucl"); err == nil || !strings.Contains(err.Error(), `did you mean "uccl"?`) {
		t.Error(err)
	}
}

// The table is complete: every name once for each command, a line of help, a default that is
// allowed, and no dashes of flags in the text.
func TestTable(t *testing.T) {
	seen := map[string]Command{}
	usual := Default()
	for i := range settings {
		s := &settings[i]
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if seen[name]&s.For != 0 || s.Doc == "" || s.For == 0 {
				t.Errorf("%+v", s)
			}
			seen[name] |= s.For
		}
		for _, c := range Commands {
			if doc := s.Help(c.Command); strings.Contains(doc, "--") {
				t.Errorf("%s: %q", s.Name, doc)
			}
		}
	}
	if err := usual.Check(All); err != nil {
		t.Error(err)
	}
	for _, c := range Commands {
		usual := DefaultOf(c.Command)
		if err := usual.Check(c.Command); err != nil {
			t.Error(c.Path, err)
		}
	}
	if all := Command(len(Commands)); All != 1<<all-1 {
		t.Errorf("%d commands, %b", all, All)
	}
}

// What a plan was asked can be asked again by its words.
func TestWords(t *testing.T) {
	q := Default()
	for name, text := range map[string]string{
		"model": "DeepSeek-V3", "system": "H200", "gpus": "32", "tpot": "50ms", "rate": "2.5", "objective": "min-gpus", "mode": "agg", "weights": "fp8",
		"prefix-hit": "0.25", "offload-cache": "0.5", "isl": "4000", "lengths": "uniform:0.5", "price": "3", "decode-system": "H20_96G",
	} {
		s, ok := Lookup(Plan, name)
		if !ok {
			t.Fatal(name)
		}
		if err := s.Set(&q, text); err != nil {
			t.Fatal(err)
		}
	}
	again := Default()
	for name, text := range q.Words(Plan) {
		s, ok := Lookup(Plan, name)
		if !ok {
			t.Fatal(name)
		}
		if err := s.Set(&again, text); err != nil {
			t.Error(err)
		}
	}
	q.Output = defaultLength // which the words say
	if diff := cmp.Diff(q, again); diff != "" {
		t.Error(diff)
	}
}
