package emulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"throughline/serving/simulate"
	"throughline/workload"
)

// apiError is an error as OpenAI's clients expect it.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

// Types of errors.
const (
	badRequest  = "invalid_request_error"
	serverError = "server_error"
)

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// wrongParam is a request with a rejected value.
func wrongParam(param, code, format string, values ...any) *apiError {
	return &apiError{http.StatusBadRequest, fmt.Sprintf(format, values...), badRequest, optional(param), optional(code)}
}

// failure is an error that the client did not cause.
func failure(status int, code, format string, values ...any) *apiError {
	return &apiError{status, fmt.Sprintf(format, values...), serverError, nil, optional(code)}
}

// emulated is a requested error, with OpenAI's type for its status.
func emulated(status int) *apiError {
	e := failure(status, "emulated", "An error that was asked for.")
	switch {
	case status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", optional("rate_limit_exceeded")
	case status < http.StatusInternalServerError:
		e.Type = badRequest
	}
	return e
}

func noModel(name string) *apiError {
	return &apiError{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name), badRequest, optional("model"), optional("model_not_found")}
}

type protocol struct {
	read    func(body []byte) (*request, error)
	answers answers
}

// request of a client in any protocol.
type request struct {
	model     *string
	prompt    prompt
	param     string   // that gave the prompt
	most      *integer // tokens of the answer
	usual     int      // default; 0: until it ends by itself
	least     integer  // tokens before the answer may end by itself
	ignoreEOS bool
	stream    bool
	usage     usage // of a stream
	stamped   bool  // events carry the simulated time
}

// sampling is common to both protocols of OpenAI. Other keys are ignored.
type sampling struct {
	knobs
	Model         *string         `json:"model"`
	MaxTokens     *integer        `json:"max_tokens"`
	MinTokens     integer         `json:"min_tokens"`
	Stream        bool            `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	N             *integer        `json:"n"`
	IgnoreEOS     bool            `json:"ignore_eos"`
	Stop          json.RawMessage `json:"stop"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	Continuous   bool `json:"continuous_usage_stats"`
}

type completionBody struct {
	sampling
	Prompt   json.RawMessage `json:"prompt"`
	BestOf   *integer        `json:"best_of"`
	Echo     bool            `json:"echo"`
	Logprobs *integer        `json:"logprobs"`
}

type chatBody struct {
	sampling
	MaxCompletionTokens *integer      `json:"max_completion_tokens"`
	Messages            []chatMessage `json:"messages"`
	Logprobs            bool          `json:"logprobs"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type generateBody struct {
	Text     json.RawMessage `json:"text"`
	IDs      json.RawMessage `json:"input_ids"`
	Stream   bool            `json:"stream"`
	Sampling struct {
		knobs
		MaxNewTokens *integer `json:"max_new_tokens"`
		MinNewTokens integer  `json:"min_new_tokens"`
		IgnoreEOS    bool     `json:"ignore_eos"`
		N            *integer `json:"n"`
	} `json:"sampling_params"`
}

// Default tokens of an answer: 16 in completions (OpenAI's API reference; vllm/entrypoints/openai,
// CompletionRequest), 128 in SGLang's own protocol (sglang/srt/sampling/sampling_params.py).
const (
	completionTokens = 16
	generateTokens   = 128
)

// decode reads a body, with errors in OpenAI's terms.
func decode(body []byte, to any) error {
	err := json.Unmarshal(body, to)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		param := embedded.Replace(kind.Field)
		return wrongParam(param, "invalid_type", "Invalid type for '%s': expected %s, but got %s.", param, jsonName(kind.Type.Kind().String()), kind.Value)
	case err != nil:
		return wrongParam("", "invalid_json", "We could not parse the JSON body of your request: %v.", err)
	}
	return nil
}

// embedded removes the names of embedded structs from the path of a key.
var embedded = strings.NewReplacer("sampling.", "", "knobs.", "")

func jsonName(kind string) string {
	switch kind {
	case "int":
		return "an integer"
	case "float64":
		return "a number"
	case "bool":
		return "a boolean"
	case "slice":
		return "an array"
	case "struct":
		return "an object"
	}
	return "a " + kind
}

func (s *sampling) fill(q *request) error {
	q.model, q.most, q.ignoreEOS, q.stream = s.Model, s.MaxTokens, s.IgnoreEOS, s.Stream
	q.least = s.MinTokens
	if o := s.StreamOptions; o != nil && o.IncludeUsage {
		if q.usage = lastUsage; o.Continuous {
			q.usage = everyUsage
		}
	}
	if s.StreamOptions != nil && !s.Stream {
		return wrongParam("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if s.N != nil && *s.N != 1 {
		return wrongParam("n", "unsupported_value", "'n' must be 1 here: one answer to a request.")
	}
	return s.knobs.check("", 2)
}

func readCompletion(body []byte) (*request, error) {
	var b completionBody
	if err := decode(body, &b); err != nil {
		return nil, err
	}
	q := &request{param: "prompt", usual: completionTokens}
	if err := b.fill(q); err != nil {
		return nil, err
	}
	switch {
	case b.Echo:
		return nil, wrongParam("echo", "unsupported_value", "'echo' is not supported here.")
	case b.Logprobs != nil:
		return nil, wrongParam("logprobs", "unsupported_value", "'logprobs' are not supported here: nothing is computed.")
	case b.BestOf != nil && *b.BestOf != 1:
		return nil, wrongParam("best_of", "unsupported_value", "'best_of' must be 1 here: one answer to a request.")
	}
	var err error
	q.prompt, err = textOrIDs("prompt", b.Prompt)
	return q, err
}

// textOrIDs is a prompt: a text, a list of token ids, or a list of one of these.
func textOrIDs(param string, raw json.RawMessage) (prompt, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil, wrongParam(param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
	}
	if raw[0] == '[' {
		inner := bytes.TrimSpace(raw[1 : len(raw)-1])
		if !bytes.HasPrefix(inner, []byte("[")) && !bytes.HasPrefix(inner, []byte(`"`)) {
			p, err := idsPrompt(inner)
			if err != nil {
				return nil, wrongParam(param, "invalid_type", "'%s' %v.", param, err)
			}
			return p, nil
		}
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || len(list) != 1 {
			return nil, wrongParam(param, "unsupported_value", "'%s' must be one prompt here: several in a request are not supported.", param)
		}
		return textOrIDs(param, list[0])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, wrongParam(param, "invalid_type", "'%s' %v.", param, errTokens)
	}
	return prompt(s), nil
}

func readChat(body []byte) (*request, error) {
	var b chatBody
	if err := decode(body, &b); err != nil {
		return nil, err
	}
	q := &request{param: "messages"}
	if err := b.fill(q); err != nil {
		return nil, err
	}
	if b.MaxCompletionTokens != nil {
		q.most = b.MaxCompletionTokens
	}
	switch {
	case b.Logprobs:
		return nil, wrongParam("logprobs", "unsupported_value", "'logprobs' are not supported here: nothing is computed.")
	case len(b.Messages) == 0:
		return nil, wrongParam("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	}
	for i, m := range b.Messages {
		if m.Role == "" {
			return nil, wrongParam("messages", "missing_required_parameter", "Missing required parameter: 'messages[%d].role'.", i)
		}
		text, err := content(i, m.Content)
		if err != nil {
			return nil, err
		}
		q.prompt = fmt.Appendf(q.prompt, "%s\n%s\n", m.Role, text)
	}
	q.prompt = append(q.prompt, "assistant\n"...)
	return q, nil
}

// content is the text of a message, plain or in parts.
func content(i int, raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return "", wrongParam("messages", "invalid_type", "'messages[%d].content' must be a text, or a list of parts.", i)
	}
	for k, p := range parts {
		if p.Type != "text" {
			return "", wrongParam("messages", "unsupported_value", "'messages[%d].content[%d]': parts of type %q are not supported here, only text.", i, k, p.Type)
		}
		text += p.Text
	}
	return text, nil
}

func readGenerate(body []byte) (*request, error) {
	var b generateBody
	if err := decode(body, &b); err != nil {
		return nil, err
	}
	q := &request{param: "text", usual: generateTokens, most: b.Sampling.MaxNewTokens, least: b.Sampling.MinNewTokens, ignoreEOS: b.Sampling.IgnoreEOS, stream: b.Stream}
	if err := b.Sampling.knobs.check("sampling_params.", math.Inf(1)); err != nil {
		return nil, err
	}
	if b.Sampling.N != nil && *b.Sampling.N != 1 {
		return nil, wrongParam("sampling_params.n", "unsupported_value", "'n' must be 1 here: one answer to a request.")
	}
	given := b.Text
	if len(b.IDs) > 0 {
		q.param, given = "input_ids", b.IDs
	}
	var err error
	q.prompt, err = textOrIDs(q.param, given)
	return q, err
}

// mostBody is the most bytes of a body: a million token ids, and room for more.
const mostBody = 16 << 20

// heldBytes bounds all bodies being parsed, each of which takes several times its size meanwhile.
const heldBytes = 4 * mostBody

// smallBody needs no reservation: a connection takes as much.
const smallBody = headerBytes

// hold waits for room for the body of a request, and returns its release.
func (e *Emulator) hold(r *http.Request) (release func(), err error) {
	size := r.ContentLength
	switch {
	case size < 0 || size > mostBody:
		size = mostBody
	case size <= smallBody:
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), roomTime)
	defer cancel()
	if e.bodies.Acquire(ctx, size) != nil {
		return nil, failure(http.StatusServiceUnavailable, "too_many_bytes", "Too many large requests come at once.")
	}
	return func() { e.bodies.Release(size) }, nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(0, r.ContentLength), mostBody)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, mostBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &apiError{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body of your request is larger than %d bytes.", mostBody), badRequest, nil, optional("request_too_large")}
	case err != nil:
		return nil, &apiError{http.StatusRequestTimeout, "The body of your request did not come.", badRequest, nil, nil}
	}
	return b.Bytes(), nil
}

// lengths is the length of the answer to a request, and whether it ends by itself.
func (e *Emulator) lengths(q *request) (output int, stops bool, err error) {
	input := q.prompt.tokens()
	most := e.Context - input
	switch {
	case most < 1:
		return 0, false, e.tooLong(q, input, 1)
	case q.most != nil && *q.most < 1:
		return 0, false, wrongParam("max_tokens", "integer_below_min_value", "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got %d instead.", *q.most)
	case q.most != nil && int(*q.most) > most:
		return 0, false, e.tooLong(q, input, int(*q.most))
	case q.most != nil:
		most = int(*q.most)
	case q.usual > 0:
		most = min(most, q.usual)
	}
	if q.least < 0 || int(q.least) > most {
		return 0, false, wrongParam("min_tokens", "invalid_value", "'min_tokens' must be from 0 to the %d tokens that the answer may have, not %d.", most, q.least)
	}
	if q.ignoreEOS {
		if q.most == nil && q.usual == 0 {
			return 0, false, wrongParam("max_tokens", "", "'ignore_eos' needs 'max_tokens' here: the answer would never end.")
		}
		return most, false, nil
	}
	e.mu.Lock()
	own := max(int(q.least), e.Answers.Draw(e.random))
	e.mu.Unlock()
	return min(most, own), own <= most, nil
}

func (e *Emulator) tooLong(q *request, input, output int) error {
	return wrongParam(q.param, "context_length_exceeded",
		"This model's maximum context length is %d tokens. However, you requested %d tokens in the %s and %d in the completion. Please reduce the length of either one.",
		e.Context, input, q.param, output)
}

// accept checks and submits a request. As in vLLM, the model is optional.
func (e *Emulator) accept(q *request) (*stream, error) {
	if q.model != nil && *q.model != "" && *q.model != e.Model {
		return nil, noModel(*q.model)
	}
	output, stops, err := e.lengths(q)
	if err != nil {
		return nil, err
	}
	if !e.ready() {
		return nil, failure(http.StatusServiceUnavailable, "not_ready", "The server is not ready.")
	}
	if p, f := e.share("errors"); p > 0 && e.chance(p) {
		return nil, emulated(int(f.or("status", http.StatusInternalServerError)))
	}
	s := newStream(q.prompt.tokens(), output)
	s.stops, s.quiet = stops, !q.stream
	one := workload.Request{Input: s.input, Output: output}
	if policy := &e.Simulation.Pools[0].Policy; policy.PrefixCache {
		one.HashTokens = policy.BlockTokens
		one.Hashes = q.prompt.hashes(policy.BlockTokens, output)
	}
	switch err := e.submit(one, s); {
	case errors.Is(err, errShut), errors.Is(err, simulate.ErrNoServer):
		return nil, failure(http.StatusServiceUnavailable, "not_ready", "%v", err)
	case err != nil:
		return nil, wrongParam(q.param, "context_length_exceeded", "%v", err)
	}
	return s, nil
}

// chance is true with a probability.
func (e *Emulator) chance(p float64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.random.Float64() < p
}
