package questions_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/internal/cli"
	. "throughline/internal/test/questions"
)

func TestParse(t *testing.T) {
	s := Parse("--model M --gpus 8 --max-rate --tpot p99:2s")
	if want := (Settings{{"model", "M"}, {"gpus", "8"}, {"max-rate", ""}, {"tpot", "p99:2s"}}); !slices.Equal(s, want) {
		t.Errorf("%v, not %v", s, want)
	}
	if len(Plans()) != 36 {
		t.Errorf("%d questions to plan", len(Plans()))
	}
}

func TestDrawIsDeterministic(t *testing.T) {
	all := Draw(60, 1)
	if !reflect.DeepEqual(all, Draw(60, 1)) || !reflect.DeepEqual(all[:7], Draw(7, 1)) {
		t.Error("the same seed draws other deployments")
	}
	if reflect.DeepEqual(all, Draw(60, 2)) {
		t.Error("another seed draws the same deployments")
	}
}

// TestDrawsReachEverything: settings of every kind are drawn, and enough of each for
// differences to show.
func TestDrawsReachEverything(t *testing.T) {
	seen := map[string]int{}
	for _, d := range Draw(300, 20260101) {
		for _, w := range d.AllSettings() {
			seen[w.Name]++
			switch w.Name {
			case "model", "system", "engine", "overlap", "assume", "weights":
				seen[w.Name+" "+w.Value]++
			}
		}
		for _, w := range d.ToSimulate() {
			seen["simulate "+w.Name]++
		}
		if d.Prefill != nil {
			for _, word := range strings.Fields(d.AllSettings().Get("decode-plan")) {
				seen["pool "+strings.TrimRight(word, "0123456789")]++
			}
		}
	}
	for what, least := range map[string]int{
		"prefill-plan": 30, "drafts": 15, "redundant": 15, "overlap two-batch": 8, "overlap single-batch": 5, "batch": 60, "concurrency": 100,
		"engine sglang": 30, "engine vllm": 30, "engine trtllm": 30, "engine none": 15, "engine any": 15, "engine sglang@0.4.6": 15,
		"step-tokens": 30, "max-running-requests": 30, "poll-steps": 5, "wait-steps": 3, "balance-steps": 3, "captured-batch": 20, "captured-prompts": 10,
		"attention-backend": 10, "lengths": 10, "random-range-ratio": 10, "prefix": 10, "prefix-hit": 10, "popularity": 5, "cache": 30, "assume reference": 1,
		"system H200": 10, "system MI300X": 5, "weights nvfp4": 3, "weights int4": 3, "simulate rate": 100, "simulate prefix-cache": 10, "simulate turns": 10,
		"simulate step-tokens": 30, "simulate poll-steps": 5, "simulate wait-steps": 3, "simulate balance-steps": 3,
		"pool tbo": 3, "pool sbo": 1, "pool mtp": 3, "pool +": 3,
	} {
		if seen[what] < least {
			t.Errorf("%s: drawn %d times, not %d", what, seen[what], least)
		}
	}
}

// TestMostDrawsAreValid: what is refused says little about numbers.
func TestMostDrawsAreValid(t *testing.T) {
	asked, answered := 0, 0
	for i, d := range Draw(300, 20260101) {
		if i%6 != 0 {
			continue
		}
		asked++
		var out, errs bytes.Buffer
		args := append([]string{"estimate", "--json"}, d.AllSettings().Args()...)
		if cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}) == 0 {
			answered++
		} else {
			t.Logf("%v: %s", d.AllSettings(), &errs)
		}
	}
	if answered*100 < 85*asked {
		t.Errorf("%d of %d are answered", answered, asked)
	}
}
