package question

import (
	"slices"
	"strings"
	"testing"
)

// TestPowerLimits: watts are read with and without their unit; auto is for plans, and alone.
func TestPowerLimits(t *testing.T) {
	var q Question
	q.PowerLimit = "700, 500W,0.4kW,300 W"
	if got := q.PowerLimits(); !slices.Equal(got, []float64{700, 500, 400, 300}) {
		t.Errorf("limits of %v W", got)
	}
	for _, text := range []string{"", "0", "-5", "1e9", "0.5kw", "1MW", "nan", "W"} {
		if v, err := parseWatts(text); err == nil {
			t.Errorf("%q is %v W", text, v)
		}
	}
	for _, c := range []struct {
		limit string
		of    Command
		why   string
	}{
		{"auto", Plan, ""}, {"700,500", Plan, ""}, {"500,auto", Plan, "give it alone"},
		{"auto", Estimate, "is searched by plan"}, {"500,auto", Explain, "is searched by plan"}, {"auto", Run, "is searched by plan"},
		{"700,500", Estimate, ""}, {"700,500", Run, ""}, {"700,500", Emulate, "one limit"}, {"700,500", Compare, "one limit"},
	} {
		q := DefaultOf(c.of)
		q.PowerLimit = c.limit
		got := ""
		if err := q.Check(c.of); err != nil && strings.Contains(err.Error(), "power-limit") {
			got = err.Error()
		}
		if !strings.Contains(got, c.why) || c.why == "" && got != "" {
			t.Errorf("%s of %v: %q", c.limit, c.of.Paths(), got)
		}
	}
}

// TestLimitsAsked: several limits are several runs of a simulation and of a runtime file, and one
// question of a plan or an estimate, which compare them.
func TestLimitsAsked(t *testing.T) {
	for of, want := range map[Command]int{Plan: 0, Estimate: 0, Explain: 0, Simulate: 3, Run: 3} {
		curves, rest, err := Curves(nil, of, map[string]string{"power-limit": "300:700:3"})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, c := range curves {
			if got += c.Len(); !slices.Equal(c.Numbers, []float64{300, 500, 700}) {
				t.Errorf("%v: %v W", of.Paths(), c.Numbers)
			}
		}
		if got != want || (rest["power-limit"] == "") != (want > 0) {
			t.Errorf("%v: %d questions, and the words %q", of.Paths(), got, rest)
		}
	}
}
