package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/workload"
)

// TestPrefixes: prompts of a trace share as many leading tokens as their hashes say, and no more.
func TestPrefixes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	lines := `{"timestamp":0,"input_length":1100,"output_length":2,"hash_ids":[1,2,3]}
{"timestamp":20,"input_length":1200,"output_length":3,"hash_ids":[1,2,4]}
{"timestamp":50,"input_length":600,"output_length":1,"hash_ids":[1,9]}
`
	if err := os.WriteFile(file, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	trace, err := workload.OpenTrace(files.Machine, file)
	if err != nil {
		t.Fatal(err)
	}
	s := &toy{}
	o := options(t, s, "openai")
	o.Traffic = workload.Traffic{Trace: trace, Rate: trace.Rate()}
	r := measured(t, o)
	if r.Seen.Requests != 3 || r.Seen.Input != 2900 || r.Seen.Output != 6 || math.Abs(r.Seen.LastArrival-0.05) > 1e-9 {
		t.Errorf("%d requests, %d and %d tokens, the last at %v", r.Seen.Requests, r.Seen.Input, r.Seen.Output, r.Seen.LastArrival)
	}
	all := map[int][]int{}
	for _, a := range s.seen[2:] {
		all[len(a.ids())] = a.ids()
	}
	common := func(a, b []int) (n int) {
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	if a, b, c := all[1100], all[1200], all[600]; common(a, b) < 1024 || common(a, b) > 1030 || common(a, c) < 512 || common(a, c) > 518 {
		t.Errorf("%d and %d leading tokens are common", common(a, b), common(a, c))
	}
}

// TestGroups: requests of a group share their prefix.
func TestGroups(t *testing.T) {
	s := &toy{}
	o := options(t, s, "sglang")
	o.Traffic.Groups, o.Traffic.Prefix, o.Traffic.HashTokens = 2, 50, 16
	measured(t, o)
	prefixes := map[string]int{}
	whole := map[string]int{}
	for _, a := range s.seen[2:] {
		prefixes[fmt.Sprint(a.IDs[:50])]++
		whole[fmt.Sprint(a.IDs)]++
	}
	if len(prefixes) != 2 || len(whole) != 10 || len(s.seen[2].IDs) != 70 {
		t.Errorf("%d prefixes of %d prompts", len(prefixes), len(whole))
	}
}

// TestConversations: every turn sends what was said before, the answers as they were, and comes
// after the time to think.
func TestConversations(t *testing.T) {
	for _, backend := range []string{"openai-chat", "openai"} {
		s := &toy{}
		o := options(t, s, backend)
		o.Warmup = 0
		o.Traffic.Requests, o.Traffic.Turns, o.Traffic.Think = 1, 3, 0.05
		var turns []*Done
		o.Each = func(d *Done) { turns = append(turns, d) }
		r := measured(t, o)
		if r.Seen.Requests != 3 || len(s.seen) != 3 {
			t.Fatalf("%s: %d requests", backend, r.Seen.Requests)
		}
		last := s.seen[2]
		if backend == "openai-chat" {
			roles := ""
			for _, m := range last.Messages {
				roles += m.Role[:1]
			}
			if roles != "uauau" || last.Messages[1].Content != "w0 w1 w2 w3 w4 " || last.Messages[0].Content != s.seen[0].Messages[0].Content {
				t.Errorf("asked %+v", last.Messages)
			}
		} else if !strings.HasPrefix(last.words(), s.seen[1].words()+"  tok tok tok tok tok ") {
			t.Errorf("asked %q after %q", last.words(), s.seen[1].words())
		}
		for i, d := range turns[1:] {
			if gap := d.Arrival - turns[i].Finish; math.Abs(gap-0.05) > 1e-6 || d.Turn != i+1 {
				t.Errorf("turn %d comes %v s after the answer", d.Turn, gap)
			}
		}
	}
}

// TestShareGPT: prompts are those of the file, answers as long as its own by the server's tokens,
// without those that are too long.
func TestShareGPT(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chats.json")
	long := strings.Repeat("word ", 400)
	text := `[{"id":"a","conversations":[{"from":"human","value":"one two three four"},{"from":"gpt","value":"one two three four five six seven eight"}]},
		{"conversations":[{"from":"human","value":"only one turn"}]},
		{"conversation":[{"content":"` + long + `"},{"content":"short answer of words"}]}]`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	shared, err := ReadConversations(files.Machine, file, 1)
	if err != nil || len(shared) != 2 {
		t.Fatalf("%d, %v", len(shared), err)
	}
	s := &toy{}
	o := options(t, s, "openai-chat")
	o.Conversations, o.Longest = shared, 100
	r := measured(t, o)
	if r.Seen.Requests != 1 || r.Seen.Input != 4 {
		t.Errorf("%d requests, %d input tokens", r.Seen.Requests, r.Seen.Input)
	}
	last := s.seen[len(s.seen)-1]
	if last.Messages[0].Content != "one two three four" || last.MaxChat < 6 || last.MaxChat > 12 {
		t.Errorf("asked %+v", last)
	}
	for text, want := range map[string]string{"{}": "must be a list", "[1]": "entry 1: ", "[]": "no entry has", `[{"conversations":[`: "entry 1: "} {
		os.WriteFile(file, []byte(text), 0o666)
		if _, err := ReadConversations(files.Machine, file, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
