package emulate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"strings"
)

// tokenBytes per token: four bytes of text, about what English takes (OpenAI, "What are tokens and
// how to count them"), or a token id. Answers have four bytes per token, too, so that conversations
// add up.
const tokenBytes = 4

// prompt is the input, four bytes per token.
type prompt []byte

func (p prompt) tokens() int { return max(1, (len(p)+tokenBytes-1)/tokenBytes) }

var errTokens = errors.New("must be one text, or one list of token numbers from 0 to 4294967295")

// idsPrompt reads comma-separated token ids.
func idsPrompt(list []byte) (prompt, error) {
	out := make(prompt, 0, tokenBytes*(1+bytes.Count(list, []byte(","))))
	for word := range bytes.SplitSeq(list, []byte(",")) {
		n, digits := uint64(0), 0
		for _, c := range bytes.TrimSpace(word) {
			if c < '0' || c > '9' || n > 1<<32 {
				return nil, errTokens
			}
			n, digits = 10*n+uint64(c-'0'), digits+1
		}
		if digits == 0 || n >= 1<<32 {
			return nil, errTokens
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	return out, nil
}

// hashes names the blocks of a prompt and its answer, each including all before it.
func (p prompt) hashes(blockTokens, answer int) []uint64 {
	size := blockTokens * tokenBytes
	h := fnv.New64a()
	var out []uint64
	all := appendText(append(prompt{}, p...), 0, answer)
	for len(all) >= size {
		h.Write(all[:size])
		out = append(out, h.Sum64())
		all = all[size:]
	}
	return out
}

// words are the tokens of answers: three letters after a space.
var words = strings.Fields(`the and for are but not you all can had her was one our out day get has him his how man new now old
	see two way who boy did its let put say she too use air arm art ask bed big box bus car cat cup dog dry ear eat egg end eye far`)

func appendText(to []byte, from, count int) []byte {
	for i := range count {
		to = append(append(to, ' '), words[(from+i)%len(words)]...)
	}
	return to
}
