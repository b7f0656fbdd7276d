package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"throughline/engine"
	"throughline/internal/secret"
)

// client sends requests to a server over kept connections, one at a time on each.
type client struct {
	base    string
	url     string
	headers http.Header
	http    *http.Client
	stream  bool
	api     engine.API
	timeout time.Duration
	secrets *secret.Set
}

// idleFor is how long an idle connection is kept: less than servers do, so that none closes it
// while a request is on its way (uvicorn, which SGLang and vLLM run on, closes after 5 s).
const idleFor = 2 * time.Second

// Timeouts around a run.
const (
	dialTimeout = 30 * time.Second
	askTimeout  = 10 * time.Second // for what a server tells about itself
	drainFor    = time.Second      // for the end of a stream after its last event
)

// HeaderVariable is the environment variable with headers that must not appear on the command line,
// which everybody on a machine can read.
const HeaderVariable = "THROUGHLINE_BENCH_HEADER"

func newClient(o *Options, b *engine.Backend) *client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 1 << 20,
		IdleConnTimeout:     idleFor,
		DisableCompression:  true, // which would hold chunks back
	}
	// A redirect leads away from the measured server, which alone may see the headers.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{
		base: o.BaseURL, url: o.BaseURL + b.API.Path(), headers: o.Headers, http: &http.Client{Transport: transport, CheckRedirect: stay},
		stream: !o.DisableStream, api: b.API, timeout: time.Duration(o.Timeout * float64(time.Second)), secrets: o.Secrets,
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// Failure is why a request has no answer.
type Failure struct {
	Kind    string // groups similar failures
	Message string
	again   bool          // a retry may help: nothing was answered yet
	after   time.Duration // that the server requests before a retry
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Kind
	}
	return f.Kind + ": " + f.Message
}

// failureOf classifies a network error. answered: a part of the answer had come.
func failureOf(err error, answered bool) *Failure {
	f := &Failure{Message: err.Error(), again: !answered}
	var timeout net.Error
	var dialed *net.OpError
	closed := false
	switch {
	case errors.Is(err, context.Canceled):
		f.Kind, f.Message, f.again = interrupted, "", false
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		f.Kind, f.again = "timeout", false
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Kind = "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.Kind, closed = "connection reset", true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Kind, closed = "connection closed", true
	case errors.As(err, &dialed) && dialed.Op == "dial":
		f.Kind = "no connection"
	default:
		f.Kind, f.again = "no answer in HTTP", false
	}
	if closed && answered {
		f.Kind += " in the middle of an answer"
	}
	return f
}

// hide removes secrets from a failure, as servers repeat what they were sent, and shortens it.
func (c *client) hide(f *Failure) *Failure {
	if f != nil {
		line := strings.Join(strings.Fields(c.secrets.Redact(f.Message)), " ")
		f.Message = strings.ToValidUTF8(line[:min(len(line), mostMessage)], "")
	}
	return f
}

// interrupted is the failure of requests under way when a run was ended.
const interrupted = "interrupted"

// body of a request, freed as it is sent: an answer may take minutes.
type body struct{ rest []byte }

func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		b.rest = nil
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error {
	b.rest = nil
	return nil
}

// request sends a body and returns the response. If the server has closed a reused connection, it
// is sent again over a new one, which is counted.
func (c *client) request(ctx context.Context, text []byte, a *answer) (*http.Response, error) {
	for {
		reused := false
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(g httptrace.GotConnInfo) { reused = g.Reused }})
		r, err := http.NewRequestWithContext(traced, http.MethodPost, c.url, &body{text})
		if err != nil {
			return nil, err
		}
		r.ContentLength = int64(len(text))
		for key, values := range c.headers {
			r.Header[key] = values
		}
		r.Header.Set("Content-Type", "application/json")
		if c.stream {
			r.Header.Set("Accept", "text/event-stream")
		}
		response, err := c.http.Do(r)
		if err != nil && reused && ctx.Err() == nil && wasClosed(err) {
			a.resent++
			continue // ends when all kept connections are used up
		}
		return response, err
	}
}

// wasClosed reports whether a server closed a connection before it answered anything.
func wasClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "server closed idle connection") // net/http has no name for it
}

// answer to a request, as it arrives.
type answer struct {
	first, finish time.Time
	last          time.Time // when the last text came
	gaps          []Gap
	most          int // tokens and chunks; 0: unlimited
	chunks        int // with text
	prompt        int // tokens by usage; 0: unknown
	tokens        int
	cached        int
	resent        int  // over another connection
	counts        bool // usage comes with every chunk
	finished      bool // the server marked the end
	keep          bool
	text          strings.Builder
	all           string // SGLang's cumulative text
	on            func(a *answer, gap float64)
	written       func(late time.Duration)
}

// Gap is the time between chunks with text, and the tokens of the second; 0 if unknown.
type Gap struct {
	Seconds float32
	Tokens  int32
}

// send sends a request and reads its answer to the end.
func (c *client) send(ctx context.Context, text []byte, a *answer) *Failure {
	return c.hide(c.exchange(ctx, text, a))
}

func (c *client) exchange(ctx context.Context, text []byte, a *answer) *Failure {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.request(ctx, text, a)
	if err != nil {
		return failureOf(err, false)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return refused(response)
	}
	if coding := response.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &Failure{Kind: "compressed answer", Message: fmt.Sprintf("it comes as %q, which was not asked for and holds chunks back; switch it off in the server", coding)}
	}
	if !c.stream || strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return c.readAtOnce(response.Body, a)
	}
	failure := c.readStream(response.Body, a)
	if failure == nil {
		stop := time.AfterFunc(drainFor, cancel)
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
		stop.Stop()
	}
	return failure
}

// mostMessage is how much of a message is kept. More is read, so that no secret is cut in two.
const mostMessage = 4 << 10

// refused is the failure of a status other than 200.
func refused(r *http.Response) *Failure {
	text, _ := io.ReadAll(io.LimitReader(r.Body, 2*mostMessage))
	f := &Failure{Kind: fmt.Sprintf("HTTP %d", r.StatusCode), Message: message(text)}
	if to, err := r.Location(); err == nil {
		to.User = nil
		f.Message = "redirects to " + to.String() + ", which is not followed; give the address that answers itself"
	}
	switch r.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.again = true
	}
	if s, err := strconv.ParseFloat(r.Header.Get("Retry-After"), 64); err == nil && s > 0 {
		f.after = time.Duration(min(s, longestBackOff.Seconds()) * float64(time.Second))
	}
	return f
}

// readAtOnce reads an answer that is not streamed: its first token comes with its last.
func (c *client) readAtOnce(r io.Reader, a *answer) *Failure {
	data, err := io.ReadAll(io.LimitReader(r, mostAnswer))
	now := time.Now()
	if err != nil {
		return failureOf(err, len(data) > 0)
	}
	var k chunk
	if !k.parse(data) || k.done {
		return &Failure{Kind: "malformed answer", Message: c.shown(data)}
	}
	if k.failure != nil {
		return &Failure{Kind: "error object", Message: message(k.failure)}
	}
	a.finished = true
	if f := c.take(a, &k, now); f != nil {
		return f
	}
	a.finish = now
	return a.complete()
}

func (c *client) readStream(r io.Reader, a *answer) *Failure {
	events := newEvents(r)
	var k chunk
	read := false
	parse := func(data []byte) bool {
		read = k.parse(data)
		return read
	}
	for {
		data, err := events.next(parse)
		if err == io.EOF {
			break
		}
		if errors.Is(err, errLong) {
			return &Failure{Kind: "event without end", Message: err.Error()}
		}
		if err != nil {
			return failureOf(err, !a.first.IsZero())
		}
		switch {
		case !read:
			return &Failure{Kind: "malformed chunk", Message: c.shown(data)}
		case k.failure != nil:
			return &Failure{Kind: "error in the stream", Message: message(k.failure)}
		}
		if k.written > 0 && a.written != nil {
			a.written(time.Duration(events.at.UnixNano() - k.written))
		}
		a.finish = events.at
		if k.done {
			a.finished = true
			break
		}
		if f := c.take(a, &k, events.at); f != nil {
			return f
		}
	}
	return a.complete()
}

// Bounds that no model reaches.
const (
	mostPrompt   = 1 << 30 // tokens of a prompt
	longestToken = 256     // bytes of text, on average over an answer
)

// beyond is the failure of an impossibly long answer: a server must not decide how much is kept.
func (a *answer) beyond(k *chunk) *Failure {
	switch {
	case k.prompt > mostPrompt || k.cached > mostPrompt:
		return &Failure{Kind: "implausible usage", Message: fmt.Sprintf("%d tokens of the prompt, %d of them cached", k.prompt, k.cached)}
	case a.most > 0 && k.answer > a.most:
		return &Failure{Kind: "implausible usage", Message: fmt.Sprintf("%d tokens of an answer that may have %d", k.answer, a.most)}
	case a.most > 0 && a.chunks > a.most:
		return &Failure{Kind: "answer without end", Message: fmt.Sprintf("more than %d chunks with text", a.most)}
	case a.keep && a.text.Len()+len(a.all)+len(k.text)+len(k.second) > a.mostText():
		return &Failure{Kind: "answer without end", Message: fmt.Sprintf("more than %d bytes of text", a.mostText())}
	}
	return nil
}

// mostText is the most bytes of text that are kept of an answer.
func (a *answer) mostText() int {
	if a.most == 0 {
		return mostAnswer
	}
	return min(mostAnswer, a.most*longestToken)
}

func (c *client) take(a *answer, k *chunk, at time.Time) *Failure {
	if f := a.beyond(k); f != nil {
		return f
	}
	a.finished = a.finished || k.finished
	fresh := 0 // new tokens, where usage comes with every chunk
	if k.usage {
		if k.tokens() {
			a.counts = a.counts || a.first.IsZero()
		}
		if a.counts {
			fresh = max(0, k.answer-a.tokens)
		}
		a.prompt, a.tokens, a.cached = max(a.prompt, k.prompt), max(a.tokens, k.answer), max(a.cached, k.cached)
	}
	if !k.tokens() || c.api == engine.Generate && a.counts && fresh == 0 { // as sglang.bench_serving counts
		return nil
	}
	a.chunks++
	if a.keep {
		a.appendText(k, c.api == engine.Generate)
	}
	gap := 0.0
	if a.first.IsZero() {
		a.first = at
	} else {
		gap = at.Sub(a.last).Seconds()
		a.gaps = append(a.gaps, Gap{float32(gap), int32(fresh)})
	}
	a.last = at
	if a.on != nil {
		a.on(a, gap)
	}
	return nil
}

// appendText keeps the text, which SGLang sends cumulatively unless started otherwise.
func (a *answer) appendText(k *chunk, cumulative bool) {
	text := k.String()
	if !cumulative {
		a.text.WriteString(text)
		return
	}
	if !strings.HasPrefix(text, a.all) {
		text = a.all + text
	}
	a.all = text
}

func (a *answer) answered() string { return a.all + a.text.String() }

// complete checks an answer that has ended.
func (a *answer) complete() *Failure {
	switch {
	case !a.finished:
		return &Failure{Kind: "answer cut off", Message: fmt.Sprintf("the stream ended after %d chunks, before its end was announced", a.chunks)}
	case a.chunks == 0 && a.tokens == 0:
		return &Failure{Kind: "empty answer"}
	case a.first.IsZero(): // tokens without text
		a.first = a.finish
	}
	return nil
}

// shown is the start of what a server sent.
func (c *client) shown(data []byte) string {
	const most = 120
	text := c.secrets.Redact(string(data[:min(len(data), mostMessage)]))
	if len(text) > most {
		return fmt.Sprintf("%q and more, of %d bytes", text[:most], len(data))
	}
	return fmt.Sprintf("%q", text)
}

// ask sends a request other than for text.
func (c *client) ask(ctx context.Context, method, path string, into any) error {
	data, failure := c.fetch(ctx, method, path)
	if failure != nil {
		return c.hide(failure)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal([]byte(c.secrets.Redact(string(data))), into)
}

func (c *client) fetch(ctx context.Context, method, path string) ([]byte, *Failure) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(nil))
	if err != nil {
		return nil, failureOf(err, false)
	}
	for key, values := range c.headers {
		r.Header[key] = values
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, failureOf(err, false)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refused(response)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, failureOf(err, true)
	}
	return data, nil
}

func (c *client) firstModel(ctx context.Context) (string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.ask(ctx, http.MethodGet, "/v1/models", &list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", errors.New("the list of models is empty")
	}
	return list.Data[0].ID, nil
}
