package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"throughline/workload"
)

// toy is a server with the three APIs. Its zero value answers at once, a token a chunk.
type toy struct {
	first, gap time.Duration
	serial     bool // one request at a time
	noUsage    bool
	perChunk   int // tokens
	noIDs      bool
	perWord    float64
	added      int

	mu     sync.Mutex
	seen   []asked
	now    atomic.Int64
	most   atomic.Int64
	before func(w http.ResponseWriter, number int) bool // may answer in its place
}

// asked is the body of a request.
type asked struct {
	Path     string `json:"-"`
	Header   http.Header
	Model    string
	Prompt   json.RawMessage
	IDs      []int `json:"input_ids"`
	Text     string
	Messages []chatTurn
	Max      int `json:"max_tokens"`
	MaxChat  int `json:"max_completion_tokens"`
	Stream   bool
	EOS      bool `json:"ignore_eos"`
	Sampling struct {
		Max int  `json:"max_new_tokens"`
		EOS bool `json:"ignore_eos"`
		Top float64
	} `json:"sampling_params"`
	Raw map[string]any `json:"-"`
}

func (a *asked) words() (text string) {
	if json.Unmarshal(a.Prompt, &text) != nil {
		for _, m := range a.Messages {
			text += m.Content + " "
		}
	}
	return text + a.Text
}

func (a *asked) ids() (ids []int) {
	if json.Unmarshal(a.Prompt, &ids) != nil {
		return a.IDs
	}
	return ids
}

func (s *toy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"object":"list","data":[{"id":"toy"}]}`)
		return
	}
	src, _ := io.ReadAll(r.Body)
	a := asked{Path: r.URL.Path, Header: r.Header}
	if err := json.Unmarshal(src, &a); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	json.Unmarshal(src, &a.Raw)
	s.mu.Lock()
	number := len(s.seen)
	s.seen = append(s.seen, a)
	s.mu.Unlock()
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	if s.before != nil && s.before(w, number) {
		return
	}
	if s.noIDs && a.ids() != nil {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"prompt must be a string","type":"invalid_request_error"}}`)
		return
	}
	if s.serial {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	s.answer(w, &a)
}

func (s *toy) answer(w http.ResponseWriter, a *asked) {
	input, output := len(a.ids()), max(a.Max, a.MaxChat, a.Sampling.Max)
	if input == 0 {
		input = int(math.Round(max(1, s.perWord)*float64(len(strings.Fields(a.words()))))) + s.added
	}
	usage := fmt.Sprintf(`"prompt_tokens":%d,"completion_tokens":%d`, input, output)
	if !a.Stream {
		w.Header().Set("Content-Type", "application/json")
		time.Sleep(s.first + s.gap*time.Duration(output-1))
		fmt.Fprintf(w, `{"choices":[{"text":"all","finish_reason":"length"}],"usage":{%s}}`, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	out.Flush()
	text := ""
	for i := 0; i < output; i += max(1, s.perChunk) {
		if i == 0 {
			time.Sleep(s.first)
		} else {
			time.Sleep(s.gap)
		}
		n := min(i+max(1, s.perChunk), output)
		switch {
		case a.Path == "/generate":
			text += strings.Repeat(" é", n-i)
			finish := "null"
			if n == output {
				finish = `{"type":"length"}`
			}
			fmt.Fprintf(w, `data: {"text":%q,"meta_info":{"prompt_tokens":%d,"completion_tokens":%d,"finish_reason":%s}}`+"\n\n", text, input, n, finish)
		case len(a.Messages) > 0:
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"w%d "},"finish_reason":null}]}`+"\n\n", i)
		default:
			fmt.Fprint(w, `data: {"choices":[{"index":0,"text":" tok","finish_reason":null}]}`+"\n\n")
		}
		out.Flush()
	}
	if a.Path != "/generate" && !s.noUsage {
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{%s}}\n\n", usage)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// options are those of a run of few short requests.
func options(t *testing.T, handler http.Handler, backend string) *Options {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Options{
		BaseURL: server.URL, Protocol: workload.Protocol{Warmup: 1, Timeout: 10},
		Terms: workload.Terms{Backend: backend, Traffic: workload.Traffic{
			Dataset: "random", Requests: 10, Rate: math.Inf(1), Turns: 1, Seed: 1, Arrival: workload.Arrival{Kind: "constant"}, Input: workload.Fixed(20), Output: workload.Fixed(5),
		}},
	}
}

// measured is a run.
func measured(t *testing.T, o *Options) *Report {
	t.Helper()
	b, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, err := b.Run(context.Background(), o.Traffic.Rate)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// late tells of something that took too long, which is no fault of this program where others have
// the processors.
func late(t *testing.T, format string, args ...any) {
	t.Helper()
	const quiet = 0.002 // the least that is asked of it anywhere
	if held := HeldUp(); held > quiet {
		t.Skipf(format+"; but the machine holds programs up for %.0f ms", append(args, 1e3*held)...)
	}
	t.Errorf(format, args...)
}

// TestAPIs: every API is asked and read as it is: token ids where it takes them, lengths, models,
// and the tokens of usage.
func TestAPIs(t *testing.T) {
	for _, c := range []struct {
		backend, path string
		ids           bool
		stream        bool
	}{
		{"sglang", "/generate", true, true}, {"sglang-oai", "/v1/completions", true, true}, {"vllm", "/v1/completions", true, true},
		{"sglang-oai-chat", "/v1/chat/completions", false, true}, {"openai", "/v1/completions", true, false},
	} {
		s := &toy{perWord: 1, added: 4}
		o := options(t, s, c.backend)
		o.DisableStream = !c.stream
		o.Extra = map[string]json.RawMessage{"min_p": json.RawMessage("0.1"), "sampling_params": json.RawMessage(`{"top":0.5}`)}
		o.Headers = http.Header{"X-Test": {"yes"}}
		r := measured(t, o)
		if r.Failed > 0 || r.Seen.Requests != 10 || r.Seen.Output != 50 || r.Seen.Input != 200 || r.Uncounted > 0 {
			t.Errorf("%s: %d failed (%v), %d ended, %d output and %d input tokens, %d without usage", c.backend, r.Failed, r.Wrong(), r.Seen.Requests, r.Seen.Output, r.Seen.Input, r.Uncounted)
		}
		if c.stream && (r.Seen.ITL.Weight != 40 || r.Chunks != 50) {
			t.Errorf("%s: %d gaps, %d chunks", c.backend, r.Seen.ITL.Weight, r.Chunks)
		}
		last := s.seen[len(s.seen)-1]
		if ids := last.ids(); (len(ids) == 20) != c.ids || last.Path != c.path || last.Header.Get("X-Test") != "yes" || last.Raw["min_p"] != 0.1 {
			t.Errorf("%s: asked %+v", c.backend, last)
		}
		if (c.backend == "sglang") != (last.Sampling.EOS && last.Sampling.Max == 5 && last.Sampling.Top == 0.5) || (c.backend != "sglang") != (last.EOS && last.Model == "toy") {
			t.Errorf("%s: asked %+v", c.backend, last.Raw)
		}
	}
}

// TestNoCoordinatedOmission: a server that does one request at a time, 40 ms each, gets one every
// 10 ms. The nth waits for the n before it, 40(n+1) − 10n ms, whether any number may be under way
// or one.
func TestNoCoordinatedOmission(t *testing.T) {
	const n, service, every = 12, 0.040, 0.010
	for _, clients := range []int{0, 1} {
		o := options(t, &toy{serial: true, first: 40 * time.Millisecond}, "openai")
		o.Traffic.Requests, o.Traffic.Output.Mean, o.Traffic.Rate, o.Traffic.Clients = n, 1, 1/every, clients
		r := measured(t, o)
		want := 0.0
		for i := range n {
			want += (service*float64(i+1) - every*float64(i)) / n
		}
		if got := r.Seen.Summary.TTFT.Mean(); got < want {
			t.Errorf("%d clients: mean TTFT %.1f ms, want %.1f", clients, 1e3*got, 1e3*want)
		} else if got > 1.3*want+0.01 {
			late(t, "%d clients: mean TTFT %.1f ms, want %.1f", clients, 1e3*got, 1e3*want)
		}
		if held := r.Held.Max; (clients == 1) != (held > 0.2) {
			t.Errorf("%d clients: held back for %.0f ms", clients, 1e3*held)
		}
	}
}

// TestClosedLoop: no more requests are under way than clients, nearly always as many, and times
// count from the sending.
func TestClosedLoop(t *testing.T) {
	s := &toy{first: 20 * time.Millisecond, gap: 5 * time.Millisecond}
	o := options(t, s, "openai")
	o.Traffic.Clients, o.Traffic.Requests = 4, 40
	r := measured(t, o)
	if most := s.most.Load(); most != 4 {
		t.Errorf("%d requests were under way", most)
	}
	if c := r.Seen.Residence / r.Seen.Duration(); c > 4 {
		t.Errorf("%v under way on average", c)
	} else if c < 3 || r.Seen.Summary.TTFT.Mean() > 0.1 {
		late(t, "%v under way on average, TTFT %v", c, r.Seen.Summary.TTFT.Mean())
	}
	if r.Seen.Summary.TTFT.Min < 0.020 || r.Seen.ITL.Mean() < 0.004 {
		t.Errorf("TTFT at least %v, ITL %v", r.Seen.Summary.TTFT.Min, r.Seen.ITL.Mean())
	}
	tokens, present := r.peaks()
	if present < 4 || tokens < 100 || tokens > 200 { // 200 in all
		t.Errorf("peaks %d and %d", tokens, present)
	}
}

// TestTokens: tokens are those of usage; without it, chunks with text. Several tokens in a chunk
// are told apart from one where the server counts as it goes.
func TestTokens(t *testing.T) {
	o := options(t, &toy{noUsage: true}, "openai-chat")
	r := measured(t, o)
	if r.Uncounted != 10 || r.Seen.Output != 50 || !strings.Contains(strings.Join(r.Notes(), "\n"), "10 answers had no usage") || !strings.Contains(strings.Join(r.Notes(), "\n"), "each word is taken as one") {
		t.Errorf("%d without usage, %d tokens: %q", r.Uncounted, r.Seen.Output, r.Notes())
	}
	s := &toy{perChunk: 2, gap: 4 * time.Millisecond}
	o = options(t, s, "openai")
	o.Traffic.Output.Mean = 8
	if r = measured(t, o); r.Seen.Output != 80 || r.Chunks != 40 || r.Seen.ITL.Weight != 30 || !strings.Contains(strings.Join(r.Notes(), "\n"), "chunks hold 2.00 tokens on average") {
		t.Errorf("%d tokens, %d chunks, %d gaps: %q", r.Seen.Output, r.Chunks, r.Seen.ITL.Weight, r.Notes())
	}
	o = options(t, s, "sglang")
	o.Traffic.Output.Mean = 8
	sum := 0.0
	o.Each = func(d *Done) {
		for _, g := range d.Gaps {
			if sum += float64(g.Seconds); g.Tokens != 2 {
				t.Errorf("a chunk of %d tokens", g.Tokens)
			}
		}
	}
	if r = measured(t, o); r.Seen.Output != 80 || r.Seen.ITL.Weight != 60 || math.Abs(r.Seen.ITL.Sum-sum) > 1e-9 || sum < 30*0.003 {
		t.Errorf("%d tokens, %d gaps of %v s in all, want %v", r.Seen.Output, r.Seen.ITL.Weight, r.Seen.ITL.Sum, sum)
	}
}

// TestWords: where a server takes no token ids, prompts are words, as many as its usage says the
// tokens have.
func TestWords(t *testing.T) {
	s := &toy{noIDs: true, perWord: 1.5, added: 11}
	o := options(t, s, "openai")
	o.Traffic.Input.Mean = 300
	r := measured(t, o)
	if mean := float64(r.Seen.Input) / 10; math.Abs(mean-300) > 2 || !strings.Contains(strings.Join(r.Notes(), "\n"), "takes no token ids (HTTP 400: prompt must be a string)") {
		t.Errorf("%v tokens: %q", mean, r.Notes())
	}
	o = options(t, s, "openai")
	o.OnlyIDs = true
	if _, err := New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "prompt must be a string") {
		t.Error(err)
	}
}

// TestFailures: every way in which a server may fail is counted under its name, with what was seen,
// and never as an answer.
func TestFailures(t *testing.T) {
	const silence = 5 * time.Second // longer than the timeout on any machine
	chunk := `data: {"choices":[{"text":"a","finish_reason":null}]}` + "\n\n"
	stream := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
		http.NewResponseController(w).Flush()
	}
	hijack := func(w http.ResponseWriter, reset bool) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		if reset {
			conn.(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
	for name, c := range map[string]struct {
		want string
		do   func(w http.ResponseWriter)
	}{
		"500": {"HTTP 500: out of memory", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"out of memory"}}`, http.StatusInternalServerError)
		}},
		"429":         {"HTTP 429: slow down", func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) }},
		"error event": {"error in the stream: CUDA error", func(w http.ResponseWriter) { stream(w, chunk+`data: {"error":{"message":"CUDA error"}}`+"\n\n") }},
		"error object": {"error object: no", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"error":{"message":"no"}}`)
		}},
		"malformed": {`malformed chunk: "{\"choices\": oops}"`, func(w http.ResponseWriter) { stream(w, chunk+"data: {\"choices\": oops}\n\n") }},
		"reset":     {"connection reset in the middle of an answer", func(w http.ResponseWriter) { stream(w, chunk); time.Sleep(20 * time.Millisecond); hijack(w, true) }},
		"closed":    {"connection closed in the middle of an answer", func(w http.ResponseWriter) { stream(w, chunk); hijack(w, false) }},
		"cut off":   {"answer cut off: the stream ended after 1 chunks", func(w http.ResponseWriter) { stream(w, chunk) }},
		"empty":     {"empty answer", func(w http.ResponseWriter) { stream(w, "data: [DONE]\n\n") }},
		"timeout":   {"timeout", func(w http.ResponseWriter) { stream(w, chunk); time.Sleep(silence) }},
		"no answer": {"timeout", func(http.ResponseWriter) { time.Sleep(silence) }},
		"not HTTP": {"no answer in HTTP: ", func(w http.ResponseWriter) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			io.WriteString(conn, "hello\r\n\r\n")
			conn.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &toy{before: func(w http.ResponseWriter, number int) bool {
				if number < 2 || number%2 == 0 { // the warm-up and half of the requests are answered
					return false
				}
				c.do(w)
				return true
			}}
			o := options(t, s, "openai")
			o.Traffic.Clients, o.Timeout = 1, 1
			r := measured(t, o)
			wrong := strings.Join(r.Wrong(), "\n")
			if r.Failed != 5 || r.Seen.Requests != 5 || r.Seen.Output != 25 || r.Seen.ITL.Weight != 20 || !strings.Contains(wrong, "failed: 5 of 10 requests: "+c.want) || r.Holds() {
				t.Errorf("%d failed, %d ended, %d tokens, %d gaps: %s", r.Failed, r.Seen.Requests, r.Seen.Output, r.Seen.ITL.Weight, wrong)
			}
		})
	}
	// No server at all, not even on a low port that another program of this machine may have.
	closed := httptest.NewServer(nil)
	closed.Close()
	o := options(t, &toy{}, "openai")
	o.BaseURL, o.Model = closed.URL, "m"
	if _, err := New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "the warm-up failed: connection refused") {
		t.Error(err)
	}
}

// TestRetries: a request that is refused twice is answered by the third try, and its time counts
// from the first.
func TestRetries(t *testing.T) {
	tries := map[string]int{}
	var mu sync.Mutex
	s := &toy{}
	s.before = func(w http.ResponseWriter, number int) bool {
		mu.Lock()
		defer mu.Unlock()
		s.mu.Lock()
		key := string(s.seen[number].Prompt)
		s.mu.Unlock()
		if tries[key]++; number < 2 || tries[key] > 2 {
			return false
		}
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return true
	}
	o := options(t, s, "openai")
	o.Retries = 3
	r := measured(t, o)
	if r.Failed > 0 || r.Retries != 20 || r.Seen.Summary.TTFT.Min < 0.3 { // 100 and 200 ms
		t.Errorf("%d failed, %d retries, TTFT at least %v", r.Failed, r.Retries, r.Seen.Summary.TTFT.Min)
	}
}

// TestInterrupted: what was measured until the end of the context is reported at once.
func TestInterrupted(t *testing.T) {
	o := options(t, &toy{first: 10 * time.Millisecond, gap: 10 * time.Millisecond}, "openai")
	o.Traffic.Clients, o.Traffic.Requests = 2, 1000
	b, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	r, err := b.Run(ctx, o.Traffic.Rate)
	if err == nil || r == nil || !r.Interrupted || r.Seen.Requests < 4 || r.Unfinished < 1 || r.Unfinished > 3 || r.Failed > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(r.Wrong()[0], "interrupted: ") {
		t.Error(r.Wrong())
	}
}

// TestMaxRate: a server that does one request at a time, in 5 ms, holds a limit of 60 ms at nearly
// 200 a second, not beyond; a limit below its own time at none.
func TestMaxRate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	o := options(t, &toy{serial: true, first: 5 * time.Millisecond}, "openai")
	o.Traffic.Requests, o.Traffic.Output.Mean = 150, 1
	o.TTFT, _ = workload.ParseLimit("p90:60ms")
	b, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var tried []string
	r, err := b.MaxRate(context.Background(), 50, func(text string) { tried = append(tried, text) })
	if err != nil || r.Seen.Traffic.Rate > 205 {
		t.Fatalf("%v, %v\n%s", r.Seen.Traffic.Rate, err, strings.Join(tried, "\n"))
	}
	if r.Seen.Traffic.Rate < 60 {
		late(t, "%v requests/s\n%s", r.Seen.Traffic.Rate, strings.Join(tried, "\n"))
	}
	t.Log("\n" + strings.Join(tried, "\n"))
	// The figures that are told are those that are limited.
	if text := r.verdict(50, true, false); !strings.HasPrefix(text, "50 requests/s: TTFT p90 ") {
		t.Error(text)
	}
	r.Seen.Terms.TTFT.Share = 0
	if text := r.verdict(50, true, false); !strings.HasPrefix(text, fmt.Sprintf("50 requests/s: TTFT mean %.1f ms, ", 1e3*r.Seen.Summary.TTFT.Mean())) {
		t.Error(text)
	}
	o.TTFT, _ = workload.ParseLimit("p90:3ms")
	if _, err := b.MaxRate(context.Background(), 20, func(string) {}); err == nil || !strings.Contains(err.Error(), "even one request at a time takes longer") {
		t.Error(err)
	}
}

// TestUsageOfChunks: tokens of chunks are known where usage comes with each of them, and not by
// that of the last.
func TestUsageOfChunks(t *testing.T) {
	text := func(usage string) string { return `data: {"choices":[{"text":"a"}]` + usage + "}\n\n" }
	for name, c := range map[string]struct {
		stream string
		tokens []int32
		all    int
	}{
		"each": {text(`,"usage":{"completion_tokens":2}`) + text(`,"usage":{"completion_tokens":5}`) + text(`,"usage":{"completion_tokens":6}`), []int32{3, 1}, 6},
		"last": {text("") + text("") + text(`,"usage":{"completion_tokens":6}`), []int32{0, 0}, 6},
		"none": {text("") + text("") + text(`,"usage":null`), []int32{0, 0}, 0},
	} {
		a := answer{}
		f := (&client{}).readStream(strings.NewReader(c.stream+"data: [DONE]\n\n"), &a)
		var got []int32
		for _, g := range a.gaps {
			got = append(got, g.Tokens)
		}
		if f != nil || !slices.Equal(got, c.tokens) || a.tokens != c.all || a.chunks != 3 {
			t.Errorf("%s: %v, %v and %d tokens of %d chunks", name, f, got, a.tokens, a.chunks)
		}
	}
}

// TestLive: the line tells what happened since an earlier look.
func TestLive(t *testing.T) {
	l := &Live{}
	start := time.Now()
	l.begin(start)
	before := l.Snapshot()
	a := &answer{first: start.Add(150 * time.Millisecond), chunks: 1}
	l.chunk(a, 0, start, 0.05)
	for a.chunks = 2; a.chunks < 5; a.chunks++ {
		l.chunk(a, 0.02, start, 0.05)
	}
	l.end(&Done{Failure: &Failure{}})
	l.end(&Done{})
	now := l.Snapshot()
	now.at = before.at.Add(2 * time.Second)
	if got, want := now.Line(before, 8), "2 of 8, 1 failed  TTFT 100 ms  ITL 20 ms  2 tok/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMaxRateOfFailing: a server that answers nothing is said to, and not that the limits hold at
// no rate.
func TestMaxRateOfFailing(t *testing.T) {
	o := options(t, &toy{before: func(w http.ResponseWriter, _ int) bool {
		http.Error(w, "down", http.StatusInternalServerError)
		return true
	}}, "openai")
	o.Warmup, o.TTFT.Seconds = 0, 1
	b, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.MaxRate(context.Background(), 1, func(string) {}); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "HTTP 500: down") {
		t.Error(err)
	}
}

// TestSameRequests: a run sends the requests that a simulation with the same seed draws, when they
// are due.
func TestSameRequests(t *testing.T) {
	s := &toy{}
	o := options(t, s, "openai")
	q := &o.Traffic
	q.Requests, q.Arrival.Kind, o.Traffic.Rate = 40, "poisson", 200
	q.Input, q.Output = workload.Length{Mean: 90, Kind: "uniform", By: 0.2}, workload.Length{Mean: 9, Kind: "uniform", By: 0.3}
	got := map[int]*Done{}
	o.Each = func(d *Done) { got[d.Client] = d }
	measured(t, o)
	source := q.Source()
	for i := range q.Requests {
		want, ok, err := source.Next()
		if d := got[i]; !ok || err != nil || d == nil || d.Arrival != want.Arrival || d.Input != want.Input || d.Output != want.Output {
			t.Fatalf("request %d: %+v, want %+v", i, d, want)
		}
	}
}
