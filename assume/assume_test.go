package assume_test

import (
	"strings"
	"testing"

	"throughline/assume"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]func(*assume.Assumptions){
		"reference":              func(a *assume.Assumptions) { *a = assume.Reference },
		" physical ":             func(a *assume.Assumptions) {},
		"physical,causal=false":  func(a *assume.Assumptions) { a.Causal, a.Name = false, "physical,causal=false" },
		"physical,reserve-gib=0": func(a *assume.Assumptions) { a.ReserveGiB, a.Name = 0, "physical,reserve-gib=0" },
		"physical, causal = 0, memory-fraction = 0.85,gate-elements=31": func(a *assume.Assumptions) {
			a.Causal, a.MemoryFraction, a.GateElementsPerToken = false, 0.85, 31
			a.Name = "physical,causal=0,memory-fraction=0.85,gate-elements=31"
		},
		"physical,tflop=1024e9,gb=1073741824": func(a *assume.Assumptions) {
			a.FlopsPerTFlop, a.BytesPerGB, a.Name = 1024e9, 1<<30, "physical,tflop=1024e9,gb=1073741824"
		},
		"physical,memory-fraction=1": func(a *assume.Assumptions) { a.MemoryFraction, a.Name = 1, "physical,memory-fraction=1" },
	} {
		expected := assume.Physical
		want(&expected)
		got, err := assume.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if *got != expected {
			t.Errorf("%q is\n%+v, want\n%+v", text, *got, expected)
		}
	}
	if assume.Physical.Name != "physical" || !assume.Physical.Causal {
		t.Errorf("a change of a preset has changed the preset itself: %+v", assume.Physical)
	}
}

// The two presets differ in every assumption: each of them takes a decision.
func TestPresetsDiffer(t *testing.T) {
	physical := assume.Physical.Describe()
	for i, r := range assume.Reference.Describe() {
		if physical[i].Value == r.Value {
			t.Errorf("%s is %s in both presets", r.Name, r.Value)
		}
		if r.Doc == "" {
			t.Errorf("%s is not described", r.Name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "reference",
		"fysical":                         `did you mean "physical"?`,
		"Physical":                        `did you mean "physical"?`,
		"physical,":                       `"" is not of the form name=value`,
		"physical,,causal=false":          `"" is not of the form name=value`,
		"physical,causal":                 `"causal" is not of the form name=value`,
		"physical,casual=false":           `did you mean "causal"?`,
		"physical,touched_experts=false":  `did you mean "touched-experts"?`,
		"physical,=3":                     `"" is not one of`,
		"physical,Name=x":                 `"Name" is not one of`,
		"physical,causal=no":              `causal must be true or false, not "no"`,
		"physical,causal=":                `causal must be true or false, not ""`,
		"physical,reserve-gib=-1":         `reserve-gib must be a number of at least 0, not "-1"`,
		"physical,reserve-gib=NaN":        `reserve-gib must be a number of at least 0, not "NaN"`,
		"physical,gate-elements=+Inf":     `gate-elements must be a number of at least 0, not "+Inf"`,
		"physical,gate-elements=many":     `gate-elements must be a number of at least 0, not "many"`,
		"physical,tflop=0":                `tflop must be a number above 0, not "0"`,
		"physical,gb=0":                   `gb must be a number above 0, not "0"`,
		"physical,gb=-1e9":                `gb must be a number above 0, not "-1e9"`,
		"physical,memory-fraction=0":      `memory-fraction must be a number above 0 and at most 1, not "0"`,
		"physical,memory-fraction=1.1":    `memory-fraction must be a number above 0 and at most 1, not "1.1"`,
		"physical,causal=true,causal=2.5": `causal must be true or false, not "2.5"`,
	} {
		got, err := assume.Parse(text)
		if err == nil {
			t.Errorf("%q is accepted as %+v", text, *got)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestUsable: of 80 GiB nine tenths are 72, less one 71.
func TestUsable(t *testing.T) {
	const gib = 1073741824.0
	for _, c := range []struct {
		a    assume.Assumptions
		gib  float64
		want float64
	}{
		{assume.Reference, 80, 80 * gib}, {assume.Physical, 80, 71 * gib}, {assume.Physical, 1, -0.1 * gib},
		{assume.Assumptions{MemoryFraction: 0.5, ReserveGiB: 2}, 16, 6 * gib},
	} {
		if got := c.a.Usable(c.gib); got < c.want-1 || got > c.want+1 {
			t.Errorf("%s: %v bytes of %v GiB, want %v", c.a.Name, got, c.gib, c.want)
		}
	}
}
