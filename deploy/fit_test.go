package deploy

import (
	"math"
	"testing"
)

// TestFitStep: of a step of 10 s, 4 of which it takes without its prompts, decoding counts twice
// and prompts three times: 2·4 + 3·6.
func TestFitStep(t *testing.T) {
	f := Fit{Decode: 2, Prefill: 3}
	alone := func() float64 { return 4 }
	for _, c := range []struct {
		prompts, decodes bool
		want             float64
	}{{true, true, 26}, {true, false, 30}, {false, true, 20}} {
		if got := f.Step(c.prompts, c.decodes, 10, alone); got != c.want {
			t.Errorf("prompts %v, decodes %v: %v s, want %v", c.prompts, c.decodes, got, c.want)
		}
	}
	var none Fit
	if got := none.Step(true, true, 10, alone); got != 10 {
		t.Errorf("without a fit: %v s", got)
	}
	if half := (&Fit{Decode: 4, Prefill: 9, First: 0.2, Wave: 3}).Faded(Shares{0.5, 0, 0.5}); math.Abs(half.Decode-2) > 1e-12 || half.Prefill != 1 || half.First != 0.1 || half.Wave != 1.5 {
		t.Errorf("half of it, but nothing of prompts: %+v", half)
	}
}

// TestFitApply: a fit is that of one engine, and takes away no more than there is.
func TestFitApply(t *testing.T) {
	e := Engine{Name: "vllm", Scheduling: Scheduling{FrontEnd: FrontEnd{FirstSeconds: 0.03}}}
	f := Fit{Engine: "vllm", Decode: 2, First: -0.05}
	if f.Apply(&e); e.FirstSeconds != 0 || f.Decode != 2 {
		t.Errorf("%v s before a request is scheduled, fit %+v", e.FirstSeconds, f)
	}
	other := Engine{Name: "sglang", Scheduling: Scheduling{FrontEnd: FrontEnd{FirstSeconds: 0.03}}}
	if f.Apply(&other); other.FirstSeconds != 0.03 || !f.IsNone() {
		t.Errorf("of another engine: %v s, fit %+v", other.FirstSeconds, f)
	}
}
