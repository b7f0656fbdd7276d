package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"throughline/engine"
	"throughline/internal/secret"
)

// after answers as a toy the warm-up, and whatever comes behind it as is said.
func after(do func(w http.ResponseWriter)) *toy {
	return &toy{before: func(w http.ResponseWriter, number int) bool {
		if number < 2 {
			return false
		}
		do(w)
		return true
	}}
}

const (
	oneChunk = `data: {"choices":[{"text":"a"}]}` + "\n\n"
	theEnd   = "data: [DONE]\n\n"
)

// TestRedirects: an answer from elsewhere is a failure that says where, and no header goes there.
func TestRedirects(t *testing.T) {
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		io.WriteString(w, `{"choices":[{"text":"a","finish_reason":"stop"}]}`)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		o := options(t, after(func(w http.ResponseWriter) {
			w.Header().Set("Location", strings.Replace(elsewhere.URL, "://", "://me:pass@", 1)+"/login?key=key-1234")
			w.WriteHeader(status)
		}), "openai")
		o.Headers = http.Header{"X-Api-Key": {"key-1234"}}
		o.Secrets = &secret.Set{}
		o.Secrets.Add("key-1234")
		r := measured(t, o)
		want := fmt.Sprintf("failed: 10 of 10 requests: HTTP %d: redirects to %s/login?key=***, which is not followed", status, elsewhere.URL)
		if wrong := strings.Join(r.Wrong(), "\n"); r.Failed != 10 || !strings.Contains(wrong, want) || asked.Load() > 0 {
			t.Errorf("%d requests went there: %s, want %s", asked.Load(), wrong, want)
		}
	}
	// Nor is the list of models taken from there.
	o := options(t, http.RedirectHandler(elsewhere.URL, http.StatusFound), "openai")
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "/v1/models: HTTP 302: redirects to "+elsewhere.URL) || asked.Load() > 0 {
		t.Errorf("%v", err)
	}
}

// TestReflected: keys that a server repeats are in no message, text or field.
func TestReflected(t *testing.T) {
	s := &toy{}
	s.before = func(w http.ResponseWriter, number int) bool {
		if number < 2 {
			return false
		}
		key := s.seen[number].Header.Get("X-Api-Key")
		switch number % 4 {
		case 0, 2:
			http.Error(w, `{"error":{"message":"the key `+key+` is unknown"}}`, http.StatusUnauthorized)
			return true
		case 3: // where what is shown of it is cut off
			io.WriteString(w, "data: "+strings.Repeat("x", 114)+key+"\n\n")
			return true
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"text":"your `+key+`","finish_reason":"stop"}]}`+"\n\n"+theEnd)
		return true
	}
	o := options(t, s, "openai")
	o.Headers, o.Secrets = http.Header{"X-Api-Key": {"key-1234"}}, &secret.Set{}
	o.Secrets.Add("key-1234")
	o.Traffic.Clients, o.KeepText = 1, true
	var rows strings.Builder
	to := RowsTo("x.jsonl", &rows)
	o.Each = to.Add
	r := measured(t, o)
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(r.Notes(), "\n") + rows.String()
	if !strings.Contains(text, "the key *** is unknown") || !strings.Contains(text, "your ***") || strings.Contains(text, "key-") {
		t.Error(text)
	}
}

// TestBounds: a server does not decide how much is kept of its answers.
func TestBounds(t *testing.T) {
	stream := func(write func(say func(string) error)) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			write(func(text string) error { _, err := io.WriteString(w, text); return err })
		}
	}
	endless := func(text string) func(http.ResponseWriter) {
		text = strings.Repeat(text, 1+4096/len(text)) // 8 MB in writes of a few bytes take a busy server longer than a request may
		return stream(func(say func(string) error) {
			for say(text) == nil {
			}
		})
	}
	usage := func(count string) func(http.ResponseWriter) {
		return stream(func(say func(string) error) {
			_ = say(oneChunk + oneChunk + `data: {"choices":[{"text":"b"}],"usage":{"prompt_tokens":20,"completion_tokens":` + count + `}}` + "\n\n" + theEnd)
		})
	}
	for name, c := range map[string]struct {
		do   func(http.ResponseWriter)
		want string
	}{
		"data lines without end": {endless("data: " + strings.Repeat("x", 1000) + "\n"), "event without end: an event of more than 8 MB"},
		"JSON without end":       {endless("data: {\"a\":\n"), "event without end: an event of more than 8 MB"},
		"JSON that is closed":    {endless("data: {\"a\": x\ndata: }\n"), "event without end: an event of more than 8 MB"},
		"a line without end":     {endless("data: xxxxxxxxxxxxxxxxxxxx"), "event without end: an event of more than 8 MB"},
		"chunks without end":     {endless(oneChunk), "answer without end: more than 1034 chunks with text"},
		"text without end":       {endless(strings.Replace(oneChunk, `"a"`, `"`+strings.Repeat("a", 1<<20)+`"`, 1)), "answer without end: more than 264704 bytes of text"},
		"a long error":           {endless(`data: {"error":{"message":"` + strings.Repeat(`a\n`, 1<<20) + "\"}}\n\n"), "error in the stream: a a a"},
		"a compressed answer":    {func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); endless("\x1f\x8b")(w) }, `compressed answer: it comes as "gzip"`},
		"many tokens":            {usage("100000000"), "implausible usage: 100000000 tokens of an answer that may have 1034"},
		"more than fit":          {usage("100000000000000000000"), "implausible usage: "},
		"as a number":            {usage("1e300"), "implausible usage: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, after(c.do), "openai")
			o.Traffic.Clients, o.Traffic.Requests, o.KeepText = 2, 4, true
			details := &Details{}
			o.Each = details.Add
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			r := measured(t, o)
			runtime.ReadMemStats(&now)
			if wrong := strings.Join(r.Wrong(), "\n"); r.Failed != 4 || !strings.Contains(wrong, "failed: 4 of 4 requests: "+c.want) {
				t.Errorf("%d failed: %s", r.Failed, wrong)
			} else if len(wrong) > mostMessage+100 {
				t.Errorf("a message of %d bytes", len(wrong))
			}
			// Buffers that double up to 8 MB, for each of four requests, and what the server itself
			// takes.
			if took := (now.TotalAlloc - before.TotalAlloc) >> 20; took > 400 {
				t.Errorf("%d MB were allocated", took)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestInterruptedFlood: a server that never stops writing does not keep the run from being ended.
func TestInterruptedFlood(t *testing.T) {
	o := options(t, after(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, ": nothing\n\n"); err != nil {
				return
			}
		}
	}), "openai")
	b, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	r, err := b.Run(ctx, math.Inf(1))
	if err == nil || r == nil || !r.Interrupted || time.Since(begin) > 5*time.Second {
		t.Errorf("%v, %+v after %v", err, r, time.Since(begin))
	}
}

// TestRetryAfter: a server may ask for a wait, but not for any.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "100000": time.Minute, "9223372036854775807": time.Minute, "1e400": 0, "-5": 0, "NaN": 0, "tomorrow": 0,
	} {
		r := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {text}}, Body: http.NoBody}
		if got := refused(r).after; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestCounts: counts of tokens are read in every form in which servers write them.
func TestCounts(t *testing.T) {
	for text, want := range map[string]int{"12": 12, `"12"`: 12, "12.0": 12, "1.2e1": 12, "null": 0, "-3": 0, `"many"`: 0, `{"a": [1]}`: 0, "true": 0, "[1]": 0, "9223372036854775808": math.MaxInt64, "1e300": 1 << 62} {
		var c chunk
		if !c.parse([]byte(`{"choices":[],"usage":{"completion_tokens":`+text+`}}`)) || c.answer != want {
			t.Errorf("%s: %d, want %d", text, c.answer, want)
		}
	}
}

// TestMostTokens: how long answers may be follows what is asked of the server, also by what is
// given on top.
func TestMostTokens(t *testing.T) {
	for _, c := range []struct {
		backend, extra string
		want           int
	}{
		{"openai", ``, 1034}, {"openai", `"max_tokens": 100`, 1224}, {"openai-chat", `"max_completion_tokens": 100`, 1224},
		{"sglang", `"sampling_params": {"max_new_tokens": 100}`, 1224}, {"sglang", `"sampling_params": {"top_p": 1}`, 1034},
		{"openai-chat", `"max_tokens": 9000`, 2*unknownLength + 1024}, {"openai", `"max_tokens": null`, 2*unknownLength + 1024},
	} {
		var extra map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+c.extra+"}"), &extra); err != nil {
			t.Fatal(err)
		}
		backend, _ := engine.FindBackend(c.backend)
		if got := newBodies(&Options{Extra: extra}, backend, "m").mostTokens(5); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.backend, c.extra, got, c.want)
		}
	}
}

// TestTogether: chunks that something between holds back and sends at once are told; those of a
// steady server are not.
func TestTogether(t *testing.T) {
	const told = "most chunks came together"
	held := measured(t, options(t, after(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{strings.Repeat(oneChunk, 4), oneChunk} {
			io.WriteString(w, part)
			http.NewResponseController(w).Flush()
			time.Sleep(30 * time.Millisecond)
		}
		io.WriteString(w, theEnd)
	}), "openai"))
	if !slices.ContainsFunc(held.Notes(), func(note string) bool { return strings.HasPrefix(note, told) }) {
		t.Errorf("not told: %q", held.Notes())
	}
	whole := measured(t, options(t, after(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Repeat(oneChunk, 5)+theEnd)
	}), "openai"))
	if !slices.ContainsFunc(whole.Notes(), func(note string) bool { return strings.HasPrefix(note, told) }) {
		t.Errorf("not told: %q", whole.Notes())
	}
	steady := measured(t, options(t, &toy{first: 20 * time.Millisecond, gap: 5 * time.Millisecond}, "openai"))
	if slices.ContainsFunc(steady.Notes(), func(note string) bool { return strings.HasPrefix(note, told) }) {
		t.Errorf("told: %q", steady.Notes())
	}
}
