package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// capacity asks for the fewest GPUs at a rate.
var capacity = []string{"plan", "--model", "Llama-3.1-8B", "--system", "L40S", "--engine", "vllm", "--mode", "agg", "--isl", "500", "--osl", "20", "--rate", "20", "--ttft", "p99:500ms", "--top", "1"}

// TestCapacityJSON: rows have all that is said about percentiles, the same figures with the same
// seed and others with another; all plans without such limits have none of it.
func TestCapacityJSON(t *testing.T) {
	notRacing(t)
	row := func(more ...string) map[string]any {
		code, out, said := attempt(append(append([]string{}, capacity...), append(more, "--json")...)...)
		var doc struct{ Ranked []map[string]any }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || len(doc.Ranked) != 1 {
			t.Fatalf("exit code %d, %v: %s", code, err, said)
		}
		return doc.Ranked[0]
	}
	one := row("--tpot", "p95:60ms")
	for _, key := range strings.Fields("concurrency ttft_mean_ms ttft_p50_ms ttft_p95_ms ttft_p99_ms ttft_p99_low_ms ttft_p99_high_ms tpot_mean_ms tpot_p50_ms tpot_p95_ms tpot_p99_ms " +
		"tpot_p99_low_ms tpot_p99_high_ms utilisation headroom breaks_first holds simulated_requests simulated_runs") {
		if one[key] == nil {
			t.Errorf("no %s", key)
		}
	}
	if one["holds"] != true || one["ttft_p99_high_ms"].(float64) > 500 || one["requests_per_s"] != 20.0 {
		t.Errorf("%v", one)
	}
	if again := row("--tpot", "p95:60ms"); again["ttft_p99_ms"] != one["ttft_p99_ms"] {
		t.Error("another answer with the same seed")
	}
	if other := row("--tpot", "p95:60ms", "--seed", "77"); other["ttft_p99_ms"] == one["ttft_p99_ms"] || other["gpus"] != one["gpus"] {
		t.Errorf("with another seed p99 is %v ms on %v GPUs, before %v on %v", other["ttft_p99_ms"], other["gpus"], one["ttft_p99_ms"], one["gpus"])
	}
	_, out, _ := attempt("plan", "--model", "Llama-3.1-8B", "--system", "L40S", "--gpus", "1", "--ttft", "2s", "--json")
	if strings.Contains(out, "ttft_p99_ms") || strings.Contains(out, "partial") {
		t.Error("a plan in closed form has percentiles")
	}
}

// TestCapacityMistakes: what is missing or does not go together is said.
func TestCapacityMistakes(t *testing.T) {
	notRacing(t)
	base := []string{"plan", "--model", "Llama-3.1-8B", "--system", "L40S"}
	for _, c := range []struct {
		more string
		want string
		code int
	}{
		{"--gpus 1 --ttft p99:2s", "--rate: is missing: limits of percentiles hold at a number of requests per second", exitBadInput},
		{"--rate 5 --ttft p99:2s --prefix-hit 0.5", "--prefix-hit: does not go with limits of percentiles", exitBadInput},
		{"--rate 5 --ttft p999:2s", "--ttft: \"p999:2s\" is no limit", exitBadInput},
		{"--rate 5 --ttft p99:2s --trace none.jsonl", "none.jsonl", exitBadInput},
		{"--rate 500 --gpus 1 --isl 500 --osl 20 --mode agg --ttft p99:500ms --tpot p95:60ms", "holds them at", exitNoPlan},
	} {
		code, _, said := attempt(append(append([]string{}, base...), strings.Fields(c.more)...)...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(said), " "), c.want) {
			t.Errorf("%s: exit code %d, said %q", c.more, code, said)
		}
	}
}
