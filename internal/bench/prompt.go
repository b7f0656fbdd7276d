package bench

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/workload"
)

// Token ids of random prompts: ordinary word pieces in every vocabulary in use, the smallest of
// which have 32,000 (Llama 2, Mistral 7B). Bytes and special tokens stand at the front, reserved
// ones at the end.
const firstID, lastID = 1000, 31_000

// words of random prompts: each is one token, with the space before it, in most vocabularies.
var words = strings.Fields(`time year people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government number night point home water
room mother area money story fact month lot right study book eye job word business issue side kind head house service
friend father power hour game line end member law car city community name president team minute idea kid body information
back parent face others level office door health person art war history party result change morning reason research girl
guy moment air teacher force education foot boy age policy music market sense nation plan college interest death course
someone experience behind reach local six remain effect use yeah suggest class control raise care perhaps late hard field
else pass former sell major sometimes require along development themselves report role better economic effort decide rate
strong possible heart drug show leader light voice wife whole police mind finally pull return free military price less
according decision explain son hope develop view relationship town road drive arm true federal break difference thank
receive value international building action full model join season society tax director position player agree especially
record pick wear paper special space ground form support event official whose matter everyone center couple site project`)

// segment is prompt tokens drawn from a key, so that prompts that share keys begin alike.
type segment struct {
	key    uint64
	tokens int
}

// segments are the parts of a prompt: what it shares with others, and its own rest.
func segments(r *workload.Request, own uint64) []segment {
	var out []segment
	left := r.Input
	take := func(key uint64, n int) {
		if n = min(n, left); n > 0 {
			out = append(out, segment{key, n})
			left -= n
		}
	}
	switch {
	case len(r.Hashes) > 0:
		for _, h := range r.Hashes {
			take(h, r.HashTokens)
		}
	case r.Chain != 0 && r.Shared < r.Input:
		take(r.Chain, r.Shared)
	}
	take(own, left)
	return out
}

// prompts makes prompts of token ids or of words.
type prompts struct {
	seed    uint64
	ids     bool
	perWord float64 // tokens
	fixed   float64 // tokens that the server adds to a prompt
	suffix  string
}

// appendIDs appends the token ids of a prompt as a JSON list.
func (p *prompts) appendIDs(out []byte, parts []segment) []byte {
	out = append(out, '[')
	for i, s := range parts {
		random := rand.New(rand.NewPCG(s.key, p.seed))
		for j := range s.tokens {
			if i+j > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(firstID+random.IntN(lastID-firstID)), 10)
		}
	}
	return append(out, ']')
}

// text is a prompt of words; its last part makes up for what the server adds.
func (p *prompts) text(parts []segment) string {
	var b strings.Builder
	for i, s := range parts {
		n := float64(s.tokens)
		if i == len(parts)-1 {
			n -= p.fixed
		}
		random := rand.New(rand.NewPCG(s.key, p.seed))
		for range max(1, int(math.Round(n/p.perWord))) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[random.IntN(len(words))])
		}
	}
	b.WriteString(p.suffix)
	return b.String()
}

func quoted(text string) []byte {
	out, _ := json.Marshal(text) // a string can always be written
	return out
}

type chatTurn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// transcript is a conversation as the prompt of an API.
func transcript(of engine.API, all []chatTurn) []byte {
	if of == engine.Chat {
		out, _ := json.Marshal(all)
		return out
	}
	var text strings.Builder
	for i, s := range all {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(s.Content)
	}
	return quoted(text.String())
}
