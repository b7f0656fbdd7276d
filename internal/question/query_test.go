package question

import (
	"strings"
	"testing"

	"throughline/internal/files"
)

// TestAsk: words are read by the names of settings or their other names; all mistakes are named
// together, by the names that were given.
func TestAsk(t *testing.T) {
	a := NewQuery(files.Machine, Simulate, map[string]string{"model": "Llama-3.1-8B", "max-concurrency": "16", "tp": " 2 "})
	if a.Wrong != nil || a.Model != "Llama-3.1-8B" || a.Concurrency != 16 || a.TP != 2 || a.PP != 1 {
		t.Errorf("%+v: %v", a.Question, a.Wrong)
	}
	if !a.Given("concurrency") || a.Given("pp") {
		t.Error("concurrency is given, pp is not")
	}
	for _, c := range []struct {
		of    Command
		words map[string]string
		want  string
	}{
		{Estimate, map[string]string{"batchs": "8"}, "unknown setting batchs; did you mean batch?"},
		{Simulate, map[string]string{"gpus": "8"}, "simulate has no setting gpus; these have: plan, estimate"},
		{Estimate, map[string]string{"qqqqqqqq": "8"}, "unknown setting qqqqqqqq; there are model, system"},
		{Simulate, map[string]string{"concurrency": "8", "max-concurrency": "9"}, "concurrency: says the same as `max-concurrency`; give one of them"},
		{Simulate, map[string]string{"max-concurrency": "x"}, "max-concurrency: must be a whole number"},
		{Plan, map[string]string{"model": " ", "tpot": "soon"}, "model: is empty; give a value, or leave it out\ntpot: "},
	} {
		if got := NewQuery(files.Machine, c.of, c.words).Wrong; got == nil || !strings.HasPrefix(got.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.words, got, c.want)
		}
	}
}

func TestRemarks(t *testing.T) {
	for want, r := range map[string]Remark{
		"warning: full": {Kind: Warning, Text: "full"}, "note: tp has no effect": {Note, "tp", "has no effect"}, "fitted": {Text: "fitted"},
	} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
}
