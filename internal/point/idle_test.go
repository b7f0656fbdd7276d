package point

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/question"
)

// A setting that is said to have no effect has none: the answer is the same with and without it.
// The one that a case changes last is the one that is said.
func TestIdle(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(trace, []byte("isl,osl\n1000,100\n3000,300\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	type words [][2]string
	for _, c := range []struct {
		base    words
		setting string
		text    string
	}{
		{words{{"phase", "decode"}}, "concurrency", "7"},
		{words{{"context", "4096"}}, "concurrency", "7"},
		{words{{"assume", "reference"}}, "concurrency", "7"},
		{words{{"assume", "reference"}}, "engine", "vllm"},
		{words{{"engine", "none"}}, "gpus-per-node", "4"},
		{words{{"assume", "reference"}}, "gpus-per-node", "4"},
		{words{{"lengths", "trace:" + trace}}, "isl", "77"},
		{words{{"lengths", "trace:" + trace}}, "osl", "77"},
		{words{{"prefill-plan", "tp2"}, {"decode-plan", "2x tp1"}}, "tp", "4"},
		{words{{"prefill-plan", "tp2"}, {"decode-plan", "2x tp1"}}, "dp", "4"},
		{words{{"prefill-plan", "tp2"}}, "cp", "2"},
		{words{{"phase", "decode"}}, "sp", "true"},
		{words{{"model", "DeepSeek-V3"}, {"dp", "8"}, {"phase", "prefill"}}, "drafts", "2"},
		{words{{"phase", "decode"}}, "prefix", "100"},
		{words{{"context", "4096"}}, "prefix", "100"},
		{words{{"phase", "decode"}}, "prefix-hit", "0.5"},
		{words{}, "gpus-per-node", "4"},
		{words{}, "comm", "fp8"},
		{words{{"phase", "decode"}}, "dispatch", "bf16"},
		{words{{"decode-plan", "tp2"}}, "drafts", "2"},
	} {
		q := llama()
		set := func(name, text string) {
			s, ok := question.Lookup(question.Estimate, name)
			if !ok {
				t.Fatal(name)
			}
			if err := s.Set(&q, text); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range c.base {
			set(w[0], w[1])
		}
		without, err := NewEstimator().Answer(&q)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		set(c.setting, c.text)
		with, err := NewEstimator().Answer(&q)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		said := with.Phases[0].Loaded.Idle(question.Estimate, func(name string) bool { return name == c.setting })
		if len(said) != 1 {
			t.Errorf("%v: said %v", c, said)
		}
		if diff := cmp.Diff(without.Seen, with.Seen); diff != "" {
			t.Errorf("%v: clients see\n%s", c, diff)
		}
		for i := range with.Phases {
			a, b := without.Phases[i].Estimate, with.Phases[i].Estimate
			b.Plan.SequenceParallel = a.Plan.SequenceParallel // is what a case says
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%v: a step\n%s", c, diff)
			}
		}
		q = llama()
		set(c.setting, c.text)
		if answer, err := NewEstimator().Answer(&q); err == nil && len(c.base) > 0 && c.setting != "sp" && c.setting != "cp" && c.setting != "gpus-per-node" && c.setting != "dispatch" {
			if said := answer.Phases[0].Loaded.Idle(question.Estimate, func(name string) bool { return name == c.setting }); len(said) > 0 {
				t.Errorf("%s by itself: %v", c.setting, said)
			}
		}
	}
}
