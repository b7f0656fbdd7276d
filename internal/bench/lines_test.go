package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// split is a reader that hands a text over in two parts.
func split(text string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(text[:at]), strings.NewReader(text[at:]))
}

// readEvents is all events of a stream.
func readEvents(r io.Reader) (out []string, err error) {
	e := newEvents(r)
	var c chunk
	for {
		data, err := e.next(c.parse)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

// TestEvents: events are the same however their bytes are cut, in the middle of characters, too;
// comments, other fields and all kinds of line ends are understood, and so are servers that leave
// out empty lines.
func TestEvents(t *testing.T) {
	const first, second = `{"choices":[{"text":" 世界 \"é\""}]}`, `{"choices":[{"delta":{"content":"\ud83d\ude00"}}]}`
	want := []string{first, second, "[DONE]"}
	for name, text := range map[string]string{
		"usual":           "data: " + first + "\n\ndata: " + second + "\n\ndata: [DONE]\n\n",
		"CRLF":            "data: " + first + "\r\n\r\ndata: " + second + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"comments":        ": keep-alive\n\n:\ndata: " + first + "\n: ping\n\nevent: message\nid: 7\nretry: 10\ndata: " + second + "\n\n\n\ndata: [DONE]\n\n",
		"CR":              "data: " + first + "\r\rdata: " + second + "\r\rdata: [DONE]\r\r",
		"byte order mark": "\ufeffdata: " + first + "\n\ndata: " + second + "\n\ndata: [DONE]\n\n",
		"no space":        "data:" + first + "\n\ndata:" + second + "\n\ndata:[DONE]\n\n",
		"no empty lines":  "data: " + first + "\ndata: " + second + "\ndata: [DONE]\n",
		"end without one": "data: " + first + "\n\ndata: " + second + "\n\ndata: [DONE]",
	} {
		for at := range len(text) {
			if got, err := readEvents(split(text, at)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, cut at %d: %q, %v", name, at, got, err)
			}
		}
		if got, err := readEvents(iotest.OneByteReader(strings.NewReader(text))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, byte by byte: %q, %v", name, got, err)
		}
	}
	// An event on several lines is one, also where no empty line follows.
	if got, err := readEvents(strings.NewReader("data: {\"a\":\"}\ndata: \", \"choices\":\ndata: []}\ndata: [DONE]\n")); err != nil || !slices.Equal(got, []string{"{\"a\":\"}\n\", \"choices\":\n[]}", "[DONE]"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := readEvents(strings.NewReader("data: {\"choices\":\ndata: []}\n\ndata: [DONE]\n\n")); err != nil || !slices.Equal(got, []string{"{\"choices\":\n[]}", "[DONE]"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := readEvents(io.MultiReader(strings.NewReader("data: [DO"), iotest.ErrReader(errors.New("broken")))); err == nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLongLines: lines of megabytes are read, those without end are not.
func TestLongLines(t *testing.T) {
	long := `{"choices":[{"text":"` + strings.Repeat("x", 5<<20) + `"}]}`
	got, err := readEvents(strings.NewReader("data: " + long + "\n\ndata: [DONE]\n\n"))
	if err != nil || len(got) != 2 || got[0] != long {
		t.Errorf("%d events, %v", len(got), err)
	}
	if _, err := readEvents(endless{}); err == nil || !strings.Contains(err.Error(), "an event of more than 8 MB") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestChunk: what counts is taken from the chunks of every API, and nothing else.
func TestChunk(t *testing.T) {
	for _, c := range []struct {
		data string
		want chunk
		text string
	}{
		{`{"choices":[{"text":" a\"b","finish_reason":null}],"usage":null}`, chunk{}, ` a"b`},
		{`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, chunk{}, ""},
		{`{"choices":[{"delta":{"content":null,"reasoning_content":"hm"},"finish_reason":null}]}`, chunk{}, "hm"},
		{`{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}`, chunk{finished: true}, "x"},
		{`{"choices":[],"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}`, chunk{usage: true, prompt: 12, answer: 3, cached: 8}, ""},
		{`{"text":"all so far","meta_info":{"id":"1","finish_reason":{"type":"length"},"prompt_tokens":5,"completion_tokens":7,"cached_tokens":2}}`, chunk{usage: true, prompt: 5, answer: 7, cached: 2, finished: true}, "all so far"},
		{`{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, chunk{usage: true, prompt: 1, answer: 2, finished: true}, "whole"},
		{`{"choices":[{"logprobs":{"content":[{"token":"text","top_logprobs":[{"text":"no"}]}]},"text":"yes"}]}`, chunk{}, "yes"},
		{`{"throughline_written_ns":1234567890123456789,"choices":[{"text":"a"}]}`, chunk{written: 1234567890123456789}, "a"},
	} {
		var got chunk
		if !got.parse([]byte(c.data)) {
			t.Errorf("%s: not read", c.data)
			continue
		}
		text := got.String()
		got.text, got.second = nil, nil
		if fmt.Sprint(got) != fmt.Sprint(c.want) || text != c.text {
			t.Errorf("%s: %+v and %q, want %+v and %q", c.data, got, text, c.want, c.text)
		}
	}
	var c chunk
	if !c.parse([]byte(` [DONE] `)) || !c.done {
		t.Error("the end is not read")
	}
	if !c.parse([]byte(`{"error":{"message":"out of memory","code":500}}`)) || message(c.failure) != "out of memory" {
		t.Errorf("%q", c.failure)
	}
	for _, bad := range []string{"", "{", `{"a"`, `{"a":}`, `{"a":1,}`, `[1]`, `{"a":1} x`, `{"a":"`, `{"choices":[{"text":"a"}`, `{a:1}`, strings.Repeat(`{"a":`, 1000), `{"a":` + strings.Repeat("[", 1<<20)} {
		if c.parse([]byte(bad)) {
			t.Errorf("%.40q is read", bad)
		}
	}
}

// FuzzChunk: every object that encoding/json reads is read, and its first text is the same.
func FuzzChunk(f *testing.F) {
	for _, seed := range []string{`{"choices":[{"text":"a"}]}`, `{"text":"\u00e9","meta_info":{"completion_tokens":1e0}}`, `{}`, `{"a":[[],{}],"b":-1.5e-3,"c":true}`, `{"choices":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c chunk
		ok := c.parse(data)
		var object map[string]json.RawMessage
		if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) > deepest || json.Unmarshal(data, &object) != nil || object == nil {
			return
		}
		if !ok {
			t.Errorf("%q is not read", data)
		}
	})
}

// BenchmarkChunk compares the scanner with encoding/json.
func BenchmarkChunk(b *testing.B) {
	data := []byte(`{"id":"cmpl-0123456789abcdef","object":"text_completion","created":1700000000,"model":"meta-llama/Llama-3.1-8B","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`)
	b.Run("scanner", func(b *testing.B) {
		b.ReportAllocs()
		var c chunk
		for b.Loop() {
			if !c.parse(data) {
				b.Fatal()
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v struct {
				Choices []struct {
					Text         string
					FinishReason *string `json:"finish_reason"`
				}
				Usage *struct {
					Completion int `json:"completion_tokens"`
				}
			}
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
