package cli

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestScenarioIsEstimate: without an engine a scenario of one output token takes the prefill and
// the decode step of estimate.
func TestScenarioIsEstimate(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = `{"model": "llama_3_8b", "engine": "none", "requests": 8, "input": 528, "output": 1, "scenarios": [{"prefill": "H200", "decode": "H200"}]}`
	if err := os.WriteFile("one.json", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(call(t, "scenario", "one.json", "--csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for column, phase := range map[int][]string{1: {"--phase", "prefill", "--isl", "528"}, 4: {"--phase", "decode", "--context", "529"}} {
		seconds, err := strconv.ParseFloat(rows[1][column], 64)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"estimate", "--model", "llama_3_8b", "--system", "H200", "--engine", "none", "--batch", "8", "--json"}, phase...)
		var one any
		if err := json.Unmarshal([]byte(call(t, args...)), &one); err != nil {
			t.Fatal(err)
		}
		if ms := stepOf(one); math.Abs(seconds-1e-3*ms) > 0.5e-4 {
			t.Errorf("%v: %g s, a step of %g ms", phase, seconds, ms)
		}
	}
}

// stepOf finds the time of a step in the JSON of estimate.
func stepOf(v any) float64 {
	switch x := v.(type) {
	case map[string]any:
		if ms, ok := x["step_ms"].(float64); ok {
			return ms
		}
		for _, inner := range x {
			if ms := stepOf(inner); ms > 0 {
				return ms
			}
		}
	case []any:
		for _, inner := range x {
			if ms := stepOf(inner); ms > 0 {
				return ms
			}
		}
	}
	return 0
}
