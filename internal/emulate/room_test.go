package emulate

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"throughline/workload"
)

// TestRoom: an answer is as long as it is asked for, as the protocol has it, or as answers are,
// and never goes beyond the context of 20 tokens; at each bound, and one beyond it.
func TestRoom(t *testing.T) {
	e := &Emulator{Config: Config{Context: 20, Answers: workload.Length{Mean: 8, Kind: "fixed"}}, random: rand.New(rand.NewPCG(1, 2))}
	n := func(i integer) *integer { return &i }
	for _, c := range []struct {
		name    string
		input   int
		q       request
		output  int
		stops   bool
		refused string
	}{
		{"its own length", 4, request{}, 8, true, ""},
		{"what is left", 12, request{}, 8, true, ""},
		{"less is left", 13, request{}, 7, false, ""},
		{"one is left", 19, request{}, 1, false, ""},
		{"nothing is left", 20, request{param: "prompt"}, 0, false, "you requested 20 tokens in the prompt and 1 in the completion"},
		{"one", 4, request{most: n(1)}, 1, false, ""},
		{"none", 4, request{most: n(0)}, 0, false, "below minimum value. Expected a value >= 1, but got 0"},
		{"all that fit", 4, request{most: n(16), least: 16}, 16, true, ""},
		{"one too many", 4, request{most: n(17), param: "messages"}, 0, false, "4 tokens in the messages and 17 in the completion"},
		{"as many as its own", 4, request{most: n(8)}, 8, true, ""},
		{"fewer", 4, request{most: n(7)}, 7, false, ""},
		{"the protocol's", 4, request{usual: 5}, 5, false, ""},
		{"not the protocol's", 4, request{usual: 5, most: n(6)}, 6, false, ""},
		{"the protocol's do not fit", 17, request{usual: 5}, 3, false, ""},
		{"at least", 4, request{least: 9}, 9, true, ""},
		{"at least what fits", 4, request{least: 16}, 16, true, ""},
		{"at least too many", 4, request{least: 17}, 0, false, "from 0 to the 16 tokens that the answer may have, not 17"},
		{"at least too few", 4, request{least: -1}, 0, false, "not -1"},
		{"no end, all", 4, request{most: n(12), ignoreEOS: true}, 12, false, ""},
		{"no end, the protocol's", 4, request{usual: 12, ignoreEOS: true}, 12, false, ""},
		{"no end at all", 4, request{ignoreEOS: true}, 0, false, "would never end"},
	} {
		c.q.prompt = make(prompt, tokenBytes*c.input)
		output, stops, err := e.lengths(&c.q)
		if output != c.output || stops != c.stops {
			t.Errorf("%s: %d tokens, ends by itself %v", c.name, output, stops)
		}
		var refusal *apiError
		if (c.refused == "") != (err == nil) || err != nil && (!errors.As(err, &refusal) || !strings.Contains(refusal.Message, c.refused)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
