package emulate

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// answer is a stream on its way to the client.
type answer struct {
	*stream
	id      string
	created int64 // seconds since 1970
	model   string
	quoted  string // model, in JSON
	usage   usage  // requested, in a stream
	sent    int    // tokens
	finish  bool   // all are sent
}

// reason is why an answer ends.
func (a *answer) reason() string {
	if a.stops {
		return "stop"
	}
	return "length"
}

// usage is which events of a stream carry the token counts.
type usage uint8

const (
	noUsage usage = iota
	lastUsage
	everyUsage
)

// appendUsage adds the token counts of a request, with this many of its answer.
func (a *answer) appendUsage(to []byte, tokens int) []byte {
	return fmt.Appendf(to, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		a.input, tokens, a.input+tokens, a.cached)
}

// answers is how a protocol writes answers.
type answers struct {
	mark     string                            // prefix of the answer's id
	begin    func(to []byte, a *answer) []byte // of a stream, with the first token
	some     func(to []byte, a *answer, tokens int) []byte
	end      func(to []byte, a *answer) []byte // of a stream, with the last token
	complete func(a *answer) map[string]any    // in place of a stream
}

// The protocols.
var (
	completions = protocol{readCompletion, answers{mark: "cmpl-", begin: nothing, some: someText, end: endOpenAI("text_completion"), complete: wholeText}}
	chat        = protocol{readChat, answers{mark: "chatcmpl-", begin: beginChat, some: someChat, end: endChat, complete: wholeChat}}
	generate    = protocol{readGenerate, answers{mark: "", begin: nothing, some: someGenerated, end: done, complete: completeGenerated}}
)

func nothing(to []byte, _ *answer) []byte { return to }

func done(to []byte, _ *answer) []byte { return append(to, "data: [DONE]\n\n"...) }

// head begins an event of OpenAI's protocols.
func (a *answer) head(to []byte, object string) []byte {
	to = append(to, `data: {"id":"`...)
	to = append(to, a.id...)
	to = append(to, `","object":"`...)
	to = append(to, object...)
	to = append(to, `","created":`...)
	to = strconv.AppendInt(to, a.created, 10)
	to = append(to, `,"model":`...)
	return append(to, a.quoted...)
}

// tail ends an event. If usage is requested at the end, all events but the last have none.
func (a *answer) tail(to []byte, tokens int) []byte {
	switch a.usage {
	case lastUsage:
		to = append(to, `,"usage":null`...)
	case everyUsage:
		to = a.appendUsage(append(to, `,"usage":`...), tokens)
	}
	return append(to, "}\n\n"...)
}

const chunk = "chat.completion.chunk"

func someText(to []byte, a *answer, tokens int) []byte {
	to = a.head(to, "text_completion")
	to = append(to, `,"choices":[{"index":0,"text":"`...)
	to = appendText(to, a.sent, tokens)
	to = append(to, `","logprobs":null,"finish_reason":`...)
	if a.finish {
		to = append(append(append(to, '"'), a.reason()...), '"')
	} else {
		to = append(to, "null"...)
	}
	return a.tail(append(to, "}]"...), a.sent+tokens)
}

func beginChat(to []byte, a *answer) []byte {
	to = a.head(to, chunk)
	return a.tail(append(to, `,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...), 0)
}

func someChat(to []byte, a *answer, tokens int) []byte {
	to = a.head(to, chunk)
	to = append(to, `,"choices":[{"index":0,"delta":{"content":"`...)
	to = appendText(to, a.sent, tokens)
	return a.tail(append(to, `"},"logprobs":null,"finish_reason":null}]`...), a.sent+tokens)
}

func endChat(to []byte, a *answer) []byte {
	to = a.head(to, chunk)
	to = fmt.Appendf(to, `,"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"%s"}]`, a.reason())
	return endOpenAI(chunk)(a.tail(to, a.sent), a)
}

// endOpenAI ends a stream, with the usage if requested.
func endOpenAI(object string) func([]byte, *answer) []byte {
	return func(to []byte, a *answer) []byte {
		if a.usage != noUsage {
			to = append(a.head(to, object), `,"choices":[],"usage":`...)
			to = append(a.appendUsage(to, a.sent), "}\n\n"...)
		}
		return done(to, a)
	}
}

func (a *answer) text() string { return string(appendText(nil, 0, a.output)) }

// object is an answer in one piece.
func (a *answer) object(kind string, choice map[string]any) map[string]any {
	choice["index"], choice["logprobs"], choice["finish_reason"] = 0, nil, a.reason()
	return map[string]any{"id": a.id, "object": kind, "created": a.created, "model": a.model, "choices": []any{choice},
		"usage": json.RawMessage(a.appendUsage(nil, a.output))}
}

func wholeText(a *answer) map[string]any {
	return a.object("text_completion", map[string]any{"text": a.text()})
}

func wholeChat(a *answer) map[string]any {
	return a.object("chat.completion", map[string]any{"message": map[string]any{"role": "assistant", "content": a.text(), "refusal": nil}})
}

// completeGenerated is an answer of SGLang's own protocol
// (sglang/srt/managers/tokenizer_manager.py).
func completeGenerated(a *answer) map[string]any {
	return map[string]any{"text": a.text(), "meta_info": a.meta(a.output, true)}
}

func (a *answer) meta(tokens int, finished bool) map[string]any {
	m := map[string]any{"id": a.id, "finish_reason": nil, "prompt_tokens": a.input, "completion_tokens": tokens, "cached_tokens": a.cached}
	switch {
	case finished && a.stops:
		m["finish_reason"] = map[string]any{"type": "stop", "matched": nil}
	case finished:
		m["finish_reason"] = map[string]any{"type": "length", "length": tokens}
	}
	return m
}

// someGenerated has all of the text so far, as in SGLang's own protocol.
func someGenerated(to []byte, a *answer, tokens int) []byte {
	n := a.sent + tokens
	event, _ := json.Marshal(map[string]any{"text": string(appendText(nil, 0, n)), "meta_info": a.meta(n, a.finish)}) // texts and numbers have no error
	return append(append(append(to, "data: "...), event...), "\n\n"...)
}
