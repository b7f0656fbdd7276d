package gold

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"throughline/internal/test/golden"
	"throughline/internal/test/long"
	"throughline/internal/test/questions"
	"throughline/internal/version"
)

const (
	answers = 200
	seed    = 20260202
	// asked is how many there are for each that a short test asks.
	asked = 20
)

// TestKept: the answers that the program comes with are its own. -update asks all of them anew;
// read why they moved, first.
func TestKept(t *testing.T) {
	if golden.Updating() {
		s := Set{Version: version.Number}
		for _, d := range questions.Draw(answers, seed) {
			ask := map[string]string{}
			for _, w := range d.AllSettings() {
				ask[w.Name] = w.Value
			}
			s.Add(Ask(ask))
		}
		var src bytes.Buffer
		if err := s.Write(&src); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "answers.jsonl", src.Bytes())
		return
	}
	s, err := Kept()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Answers) != answers {
		t.Errorf("%d answers", len(s.Answers))
	}
	refused := 0
	for _, a := range s.Answers {
		if a.Refused != "" {
			refused++
		}
	}
	if refused > answers/4 {
		t.Errorf("%d questions are refused", refused)
	}
	every := asked
	if long.Mode() {
		every = 1
	}
	_, moved, err := s.Compare(t.Context(), every)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moved {
		t.Errorf("question %d: %s was %g and is %g; %s", m.Number, m.Figure, m.Before, m.After, m.Why)
	}
}

// example is an answer that is cheap to ask.
var example = map[string]string{"model": "Llama-3.1-8B", "system": "H200", "batch": "8", "engine": "vllm"}

// TestWhy: a number that moved is put down to the file that is another, else to the first formulas
// on its way.
func TestWhy(t *testing.T) {
	compare := func(change func(*Answer, Facts)) string {
		t.Helper()
		var s Set
		s.Add(Ask(example))
		if refused := s.Answers[0].Refused; refused != "" {
			t.Fatal(refused)
		}
		change(s.Answers[0], s.Facts)
		_, moved, err := s.Compare(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(moved) == 0 {
			return ""
		}
		return moved[0].Figure + "; " + moved[0].Why
	}
	for _, c := range []struct {
		name   string
		change func(*Answer, Facts)
		want   string
	}{
		{"nothing", func(*Answer, Facts) {}, ""},
		{"digits beyond those of any processor", func(a *Answer, f Facts) { a.Figures["clients TTFT s"] *= 1 + 1e-11 }, ""},
		{"what clients see", func(a *Answer, f Facts) { a.Figures["clients TTFT s"] *= 1.01 }, "clients TTFT s; formula: engine and serving/simulate"},
		{"a step, and what follows from it", func(a *Answer, f Facts) { a.Figures["clients TPOT s"] *= 2; a.Figures["step decode s"] *= 1.01 }, "step decode s; formula: schedule and estimate"},
		{"the kernels of the chip", func(a *Answer, f Facts) {
			a.Figures["step decode s"] *= 1.01
			f["hardware/kernels/H200.json"] = "other"
		}, "step decode s; facts: hardware/kernels/H200.json"},
		{"facts without effect", func(a *Answer, f Facts) { f["hardware/kernels/H200.json"] = "other" }, ""},
		{"a refusal", func(a *Answer, f Facts) { a.Refused = "no" }, "refusal; was refused: no"},
	} {
		if got := compare(c.change); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	facts := Ask(example).facts
	for _, name := range []string{"model/catalogue/Llama-3.1-8B.json", "hardware/catalogue/H200.json", "hardware/kernels/H200.json", "hardware/shape/measured/H200.json", "engine/data/vllm.json", "estimate/bands.json", "collective/libraries/nccl.json"} {
		if len(facts[name]) != 12 {
			t.Errorf("the answer does not rest on %s: %v", name, facts)
		}
	}
}

// TestRead: a set is read as it was written, and a broken line is named.
func TestRead(t *testing.T) {
	s := &Set{Version: "1"}
	s.Add(Ask(example))
	var src bytes.Buffer
	if err := s.Write(&src); err != nil {
		t.Fatal(err)
	}
	again, err := Read(src.Bytes())
	if err != nil || again.Version != "1" || !near(again.Answers[0].Figures["step decode s"], s.Answers[0].Figures["step decode s"]) {
		t.Errorf("%v %v", again, err)
	}
	if _, err := Read([]byte("{}\n{\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

func near(a, b figure) bool { return a > 0 && math.Abs(float64(a/b-1)) < 1e-10 }
