package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// WrittenKey is an optional key of a test server's chunks: when it wrote them, in nanoseconds since
// 1970. With it, a run measures how much later it has read them.
const WrittenKey = "throughline_written_ns"

// chunk is an event of a stream of any API: choices with a text (completions) or a delta (chat), or
// a text and its meta_info (SGLang).
type chunk struct {
	done     bool   // [DONE]
	text     []byte // raw JSON without quotes; of several, the first that is not empty
	second   []byte // a reasoning text beside the content
	finished bool   // a finish_reason
	usage    bool
	prompt   int // tokens, with usage
	answer   int
	cached   int
	failure  []byte // an error object
	written  int64
}

// parse reads the data of an event; false if it is not one complete value.
func (c *chunk) parse(data []byte) bool {
	*c = chunk{}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		c.done = true
		return true
	}
	s := scanner{b: data}
	s.object(c, top)
	s.space()
	return !s.bad && s.i == len(s.b)
}

// place is where in a chunk a value stands.
type place int

const (
	other place = iota
	top
	choice
	delta
	counts
	details
)

// scanner reads JSON once and takes what counts. encoding/json takes six times as long
// (BenchmarkChunk), and there may be 100,000 chunks a second.
type scanner struct {
	b     []byte
	i     int
	depth int
	bad   bool
}

// deepest is more than any server nests.
const deepest = 100

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// is consumes a byte, if it is the next.
func (s *scanner) is(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// text consumes a string and returns its contents.
func (s *scanner) text() []byte {
	if !s.is('"') {
		s.bad = true
		return nil
	}
	from := s.i
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.bad = true
			return nil
		}
		s.i += n + 1
		escapes := 0
		for at := s.i - 2; at >= from && s.b[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return s.b[from : s.i-1]
		}
	}
}

// scalar consumes a number, true, false or null.
func (s *scanner) scalar() []byte {
	s.space()
	from := s.i
	number := true
	for ; s.i < len(s.b); s.i++ {
		c := s.b[s.i]
		if c == ',' || c == ']' || c == '}' || c <= ' ' {
			break
		}
		number = number && (c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E')
	}
	word := s.b[from:s.i]
	if len(word) == 0 || !number && string(word) != "null" && string(word) != "true" && string(word) != "false" {
		s.bad = true
	}
	return word
}

// number consumes an integer, which some servers write as a string; 0 if it is none, and saturated.
func (s *scanner) number() (n int64) {
	var word []byte
	if s.space(); s.i < len(s.b) && s.b[s.i] == '"' {
		word = s.text()
	} else {
		word = s.scalar()
	}
	if n, err := strconv.ParseInt(string(word), 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return max(0, n)
	}
	x, err := strconv.ParseFloat(string(word), 64) // 20.0, 1e3
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(x > 0) {
		return 0
	}
	return int64(min(x, 1<<62))
}

// count consumes a number of tokens; other values are 0.
func (s *scanner) count() int {
	if s.space(); s.i < len(s.b) && (s.b[s.i] == '{' || s.b[s.i] == '[') {
		s.value(nil, other)
		return 0
	}
	return int(s.number())
}

func (s *scanner) value(c *chunk, in place) {
	s.space()
	s.depth++
	defer func() { s.depth-- }()
	switch {
	case s.bad || s.i == len(s.b) || s.depth > deepest:
		s.bad = true
	case s.b[s.i] == '{':
		s.object(c, in)
	case s.b[s.i] == '[':
		s.array(c, in)
	case s.b[s.i] == '"':
		s.text()
	default:
		s.scalar()
	}
}

func (s *scanner) array(c *chunk, in place) {
	s.i++
	if s.is(']') {
		return
	}
	for !s.bad {
		s.value(c, in)
		if s.is(']') {
			return
		}
		if !s.is(',') {
			s.bad = true
		}
	}
}

func (s *scanner) object(c *chunk, in place) {
	if !s.is('{') {
		s.bad = true
		return
	}
	if s.is('}') {
		return
	}
	for !s.bad {
		key := s.text()
		if !s.is(':') {
			s.bad = true
			return
		}
		s.space()
		if s.i == len(s.b) {
			s.bad = true
			return
		}
		s.member(c, in, key)
		if s.is('}') {
			return
		}
		if !s.is(',') {
			s.bad = true
		}
	}
}

// member consumes the value of a key.
func (s *scanner) member(c *chunk, in place, name []byte) {
	null := bytes.HasPrefix(s.b[s.i:], []byte("null"))
	quoted := s.b[s.i] == '"'
	switch {
	case in == top && string(name) == "choices":
		s.value(c, choice)
	case in == choice && (string(name) == "delta" || string(name) == "message"):
		s.value(c, delta)
	case (in == choice || in == top) && string(name) == "text" && quoted, in == delta && string(name) == "content" && quoted:
		c.add(s.text())
	case in == delta && (string(name) == "reasoning_content" || string(name) == "reasoning") && quoted:
		if text := s.text(); len(text) > 0 && len(c.second) == 0 {
			c.second = text
		}
	case in == delta && string(name) == "tool_calls" && !null: // a call is generated as text is
		from := s.i
		s.value(c, other)
		c.second = s.b[from:s.i]
	case (in == choice || in == counts) && string(name) == "finish_reason":
		c.finished = !null
		s.value(c, other)
	case in == top && (string(name) == "usage" || string(name) == "meta_info") && !null:
		c.usage = true
		s.value(c, counts)
	case in == counts && string(name) == "prompt_tokens":
		c.prompt = s.count()
	case in == counts && string(name) == "completion_tokens":
		c.answer = s.count()
	case in == counts && string(name) == "prompt_tokens_details":
		s.value(c, details)
	case (in == counts || in == details) && string(name) == "cached_tokens":
		c.cached = s.count()
	case in == top && string(name) == "error" && !null:
		from := s.i
		s.value(c, other)
		c.failure = s.b[from:s.i]
	case in == top && string(name) == WrittenKey:
		c.written = int64(s.count())
	default:
		s.value(c, other)
	}
}

func (c *chunk) add(text []byte) {
	if len(c.text) == 0 {
		c.text = text
	}
}

func (c *chunk) tokens() bool { return len(c.text) > 0 || len(c.second) > 0 }

// String is the text without escapes.
func (c *chunk) String() string { return unquoted(c.second) + unquoted(c.text) }

// unquoted is a JSON string without its escapes.
func unquoted(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var out string
	if err := json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &out); err != nil {
		return string(text)
	}
	return out
}

// message of an error object: OpenAI's, SGLang's, or any.
func message(object []byte) string {
	var failure struct {
		Message string `json:"message"`
		Error   any    `json:"error"`
		Detail  any    `json:"detail"`
	}
	if err := json.Unmarshal(object, &failure); err == nil {
		switch nested := failure.Error.(type) {
		case map[string]any:
			if text, ok := nested["message"].(string); ok {
				return text
			}
		case string:
			return nested
		}
		if text, ok := failure.Detail.(string); ok {
			return text
		}
		if failure.Message != "" {
			return failure.Message
		}
	}
	return string(bytes.TrimSpace(object))
}
