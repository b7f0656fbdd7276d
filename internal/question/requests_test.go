package question

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/workload"
)

// TestOneTraffic: the same words ask for the same requests of a simulation and of a benchmark,
// whose settings have other names.
func TestOneTraffic(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(trace, []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n0,10,1\n2,30,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ simulate, bench map[string]string }{
		"a range at a rate": {
			map[string]string{"isl": "300", "osl": "40", "random-range-ratio": "0.25", "rate": "3", "arrival": "gamma:2", "num-prompts": "70", "seed": "9"},
			map[string]string{"random-input-len": "300", "random-output-len": "40", "random-range-ratio": "0.25", "request-rate": "3", "arrival": "gamma:2", "num-prompts": "70", "seed": "9"},
		},
		"clients that talk": {
			map[string]string{"concurrency": "5", "turns": "3", "think-time": "2s", "seed": "1"},
			map[string]string{"max-concurrency": "5", "turns": "3", "think-time": "2s"},
		},
		"a prefix": {
			map[string]string{"gsp-num-groups": "4", "gsp-system-prompt-len": "100", "isl": "20", "osl": "30", "num-prompts": "12", "seed": "1"},
			map[string]string{"dataset-name": SharedPrefix, "gsp-num-groups": "4", "gsp-prompts-per-group": "3", "gsp-system-prompt-len": "100", "gsp-question-len": "20", "gsp-output-len": "30"},
		},
		"a trace": {map[string]string{"trace": trace, "seed": "1"}, map[string]string{"dataset-name": Mooncake, "dataset-path": trace}},
	} {
		a, b := NewQuery(files.Machine, Simulate, c.simulate), NewQuery(files.Machine, Bench, c.bench)
		one, err := a.Terms(a.Given)
		two, other := b.Terms(b.Given)
		if err != nil || other != nil || !reflect.DeepEqual(one, two) {
			t.Errorf("%s: %+v, %v, and %+v, %v", name, one, err, two, other)
		}
	}
	a := NewQuery(files.Machine, Simulate, map[string]string{"trace": trace})
	if terms, err := a.Terms(a.Given); err != nil || terms.Traffic.Count() != 2 || terms.Traffic.Rate != 0.5 {
		t.Errorf("%+v, %v", terms, err)
	}
}

// TestFiles: lengths of a file are those of its requests, in order; what has none, or no arrivals
// where those are asked for, is refused.
func TestFiles(t *testing.T) {
	door := files.Held(map[string][]byte{"lengths.csv": []byte("isl,osl\n10,1\n30,5\n"), "empty.csv": []byte("isl,osl\n")})
	for _, c := range []struct {
		of    Command
		words map[string]string
		want  []workload.Recorded
		err   string
	}{
		{Simulate, map[string]string{"lengths": "trace:lengths.csv", "rate": "1"}, []workload.Recorded{{Input: 10, Output: 1}, {Input: 30, Output: 5}}, ""},
		{Simulate, map[string]string{"lengths": "trace:empty.csv", "rate": "1"}, nil, "has no requests"},
		{Simulate, map[string]string{"trace": "lengths.csv"}, nil, "has no arrivals; `lengths` trace:lengths.csv takes its lengths"},
		{Simulate, map[string]string{"trace": "none.csv"}, nil, "none.csv"},
	} {
		q := NewQuery(door, c.of, c.words)
		terms, err := q.Terms(q.Given)
		if !reflect.DeepEqual(terms.Traffic.Recorded, c.want) || (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %+v, %v", c.words, terms.Traffic.Recorded, err)
		}
		if name, file := strings.CutPrefix(c.words["lengths"], "trace:"); file && terms.Traffic.Dataset != name {
			t.Errorf("%v: the dataset is %q", c.words, terms.Traffic.Dataset)
		}
	}
}

// TestGoodput: limits on single requests are read in seconds, each above 0 and at most the longest
// time that any setting takes.
func TestGoodput(t *testing.T) {
	for text, want := range map[string]Goodput{
		"": {}, "ttft:2000,tpot:50ms": {TTFT: 2, TPOT: 0.05}, "e2el:3s": {E2E: 3}, fmt.Sprintf("ttft:%d", mostMilliseconds): {TTFT: mostMilliseconds / 1e3},
	} {
		if got, err := GoodputOf(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"ttft:0", "ttft:-1", "tpot:", "tpot", "e2e:3s", fmt.Sprintf("ttft:%d", mostMilliseconds+1), "ttft:nan"} {
		if got, err := GoodputOf(text); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

// TestLeastOfBench: a rate or a time that no run can have is refused.
func TestLeastOfBench(t *testing.T) {
	for _, name := range []string{"request-rate", "timeout"} {
		q := DefaultOf(Bench)
		s, _ := Lookup(Bench, name)
		err := s.Set(&q, "5e-324")
		if err == nil {
			err = q.Check(Bench)
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of 5e-324: %v", name, err)
		}
	}
}
