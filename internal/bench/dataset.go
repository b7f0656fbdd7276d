package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/workload"
)

// Conversation is a prompt and its answer, of a file.
type Conversation struct{ Prompt, Answer string }

// fewestTokens of a prompt or an answer of a file, as in sglang.bench_serving.
const fewestTokens = 2

// ReadConversations reads a file like those of ShareGPT: a list of objects with a list
// "conversations" of turns, of which the first two count, each with a "value" (or "content"). The
// seed draws their order.
func ReadConversations(in *files.Door, name string, seed uint64) ([]Conversation, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	defer f.Close()
	out, err := conversations(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no entry has a conversation of two turns", name)
	}
	random := rand.New(rand.NewPCG(seed, 4))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

func conversations(r io.Reader) ([]Conversation, error) {
	type turn struct {
		Value   string `json:"value"`
		Content string `json:"content"`
	}
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("must be a list of conversations in JSON, as those of ShareGPT")
	}
	var out []Conversation
	for n := 1; d.More(); n++ {
		var entry struct {
			Conversations []turn `json:"conversations"`
			Conversation  []turn `json:"conversation"`
		}
		if err := d.Decode(&entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		turns := append(entry.Conversations, entry.Conversation...)
		if len(turns) < 2 {
			continue
		}
		if c := (Conversation{turns[0].Value + turns[0].Content, turns[1].Value + turns[1].Content}); c.Prompt != "" {
			out = append(out, c)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return out, nil
}

// recorded are the lengths of conversations and their prompts, without too short or too long ones.
func (q *Options) recorded(perChar float64) (lengths []workload.Recorded, texts []string) {
	for i := range q.Conversations {
		c := &q.Conversations[i]
		input := int(math.Round(perChar * float64(len(c.Prompt))))
		output := int(math.Round(perChar * float64(len(c.Answer))))
		if q.FixedOutput > 0 {
			output = q.FixedOutput
		}
		if input < fewestTokens || output < fewestTokens || q.Longest > 0 && input+output > q.Longest {
			continue
		}
		lengths = append(lengths, workload.Recorded{Input: input, Output: output})
		texts = append(texts, c.Prompt)
	}
	return lengths, texts
}

// lengths are the mean ones of requests.
func (q *Options) lengths() (input, output int) {
	if len(q.Conversations) > 0 {
		return max(1, int(usualPerChar*float64(len(q.Conversations[0].Prompt)))), warmOutput
	}
	t := q.Traffic
	t.Turns = 1
	return t.Lengths()
}
