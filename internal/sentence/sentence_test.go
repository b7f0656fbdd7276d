package sentence_test

import (
	"fmt"
	"strings"
	"testing"

	"throughline"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/number"
)

// told are sentences in one text.
func told(lines []string) string { return strings.Join(lines, " ") }

// missing are the texts that do not stand in the sentences.
func missing(text string, parts ...string) (out []string) {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			out = append(out, p)
		}
	}
	return out
}

// TestPlan: the sentences name the engine, the GPUs, what they give, the limit and its chance, with
// the numbers of the first row.
func TestPlan(t *testing.T) {
	p, err := throughline.Plan(t.Context(), throughline.Question{"model": "llama_3_8b", "system": "H200", "gpus": "4", "tpot": "20ms", "price": "3", "isl": "1000", "osl": "200"})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.Ranked[0].Record
	tokens := result.In("tokens_per_processor", "")(r).(float64)
	text := told(sentence.Plan(p.Plans))
	if left := missing(text, "Launch "+p.Ranked[0].Deployment.Engine.Title, "4 × H200", number.Rate(tokens), number.Banded(r.TPOT, r.Trusted.TPOT.Band), number.Banded(r.TTFT, r.Trusted.TTFT.Band),
		"✓ TPOT", "at most 20 ms", fmt.Sprintf("a chance of %.0f%%", 100*r.Chance()), "$"+number.Plain(r.DollarsPerMillion, 3)); len(left) > 0 {
		t.Errorf("%s\nleaves out %q", text, left)
	}
}

// TestNoPlan: where nothing is found, that is told first, with a change that has an answer.
func TestNoPlan(t *testing.T) {
	p, err := throughline.Plan(t.Context(), throughline.Question{"model": "llama_3_70b", "system": "L40S", "gpus": "1"})
	if err != nil {
		t.Fatal(err)
	}
	text := told(sentence.Plan(p.Plans))
	if left := missing(text, "No deployment was found.", "--weights int4 gives", "requests/s"); len(left) > 0 || len(p.Reasons) == 0 {
		t.Errorf("%s\nleaves out %q; reasons %q", text, left, p.Reasons)
	}
}

// TestPoint: an estimate and its explanation state the figures of the record, what binds, and
// whether it fits.
func TestPoint(t *testing.T) {
	q := throughline.Question{"model": "llama_3_8b", "system": "H200", "batch": "8"}
	got, err := throughline.Estimate(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	r := got.Record
	text := told(sentence.Point(got.Answer))
	if left := missing(text, "8 clients", number.Banded(r.TTFT, r.Trusted.TTFT.Band), number.Banded(r.TPOT, r.Trusted.TPOT.Band), "emory binds", "It fits"); len(left) > 0 {
		t.Errorf("%s\nleaves out %q", text, left)
	}
	why, err := throughline.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text = told(sentence.Explained(why.Explained))
	if left := missing(text, "TPOT is "+number.Banded(r.TPOT, r.Trusted.TPOT.Band), "10% more memory bandwidth"); len(left) > 0 {
		t.Errorf("%s\nleaves out %q", text, left)
	}
	got, err = throughline.Estimate(t.Context(), throughline.Question{"model": "llama_3_70b", "system": "L40S", "batch": "1", "phase": "decode"})
	if err != nil {
		t.Fatal(err)
	}
	if text := told(sentence.Point(got.Answer)); !strings.Contains(text, "✗ Decode does not fit") {
		t.Errorf("what does not fit is not told: %s", text)
	}
}

// TestPowerBinds: a limit that lowers clocks is said beside what binds, and one that no clock
// keeps.
func TestPowerBinds(t *testing.T) {
	for limit, want := range map[string][]string{
		"":    {"J per output token at"},
		"400": {"400 W hold the clock of the decode step at ", "under a limit of 400 W"},
		"100": {"Even at the lowest clock, 17%, the decode step draws more than 100 W.", "above the limit of 100 W even at the lowest clock"},
	} {
		q := throughline.Question{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm", "concurrency": "64"}
		if limit != "" {
			q["power-limit"] = limit
		}
		got, err := throughline.Estimate(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text := told(sentence.Point(got.Answer))
		if left := missing(text, want...); len(left) > 0 || limit == "" && strings.Contains(text, "limit") {
			t.Errorf("under %q W: %s\nleaves out %q", limit, text, left)
		}
	}
	why, err := throughline.Explain(t.Context(), throughline.Question{"model": "Llama-3.1-8B", "system": "H200", "phase": "prefill", "batch": "1", "isl": "4096", "power-limit": "300"})
	if err != nil {
		t.Fatal(err)
	}
	if text := told(sentence.Explained(why.Explained)); !strings.Contains(text, "10% more power limit would change it by −") {
		t.Errorf("the number that counts is not the limit: %s", text)
	}
}

// TestLoad: limits are marked by whether they hold.
func TestLoad(t *testing.T) {
	for limit, mark := range map[string]string{"p99:10s": "✓", "p50:1ms": "✗"} {
		got, err := throughline.Simulate(t.Context(), throughline.Question{"model": "llama_3_8b", "system": "H200", "rate": "2", "isl": "200", "osl": "20", "num-prompts": "100", "ttft": limit})
		if err != nil {
			t.Fatal(err)
		}
		text := told(sentence.Load(&sentence.Loaded{Seen: got.Seen()}))
		statistic, _, _ := strings.Cut(limit, ":")
		if left := missing(text, "100 requests", mark+" "+statistic+" TTFT"); len(left) > 0 {
			t.Errorf("%s\nleaves out %q", text, left)
		}
	}
}
