package emulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"throughline/internal/version"
)

// Bounds on the time and memory of clients.
const (
	headerTime  = 10 * time.Second // for the header of a request
	bodyTime    = time.Minute      // for its body
	roomTime    = 30 * time.Second // for others to make room for it
	idleTime    = 2 * time.Minute  // between two requests of a connection
	writeTime   = 30 * time.Second // for a client to read what is written
	headerBytes = 32 << 10
	GraceTime   = 2 * time.Second // for streams to end when the server does
)

type route struct {
	method, path string
	do           http.HandlerFunc
}

func (e *Emulator) routes() []route {
	health := func(w http.ResponseWriter, _ *http.Request) {
		if !e.ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	info := e.object(func() any {
		return map[string]any{"model_path": e.Model, "served_model_name": e.Model, "tokenizer_path": e.Model, "is_generation": true, "max_context_length": e.Context}
	})
	model := func() any {
		m := map[string]any{"id": e.Model, "object": "model", "created": e.start.Unix(), "owned_by": "throughline", "root": e.Model, "max_model_len": e.Context}
		return m
	}
	models := e.object(func() any { return map[string]any{"object": "list", "data": []any{model()}} })
	versions := e.object(func() any { return map[string]any{"version": "throughline " + version.Number} })
	return []route{
		{"POST", "/v1/completions", e.answer(&completions)},
		{"POST", "/v1/chat/completions", e.answer(&chat)},
		{"POST", "/generate", e.answer(&generate)},
		{"GET", "/v1/models", models},
		{"GET", "/v1/models/{name...}", func(w http.ResponseWriter, r *http.Request) {
			if name := r.PathValue("name"); name != e.Model {
				e.refuse(w, noModel(name))
				return
			}
			e.object(model)(w, r)
		}},
		{"GET", "/health", health},
		{"GET", "/health_generate", health},
		{"GET", "/ping", health},
		{"GET", "/version", versions},
		{"GET", "/get_model_info", info},
		{"GET", "/model_info", info},
		{"GET", "/get_server_info", versions},
		{"GET", "/server_info", versions},
		{"GET", "/flush_cache", e.flushCache},
		{"POST", "/flush_cache", e.flushCache},
		{"POST", "/reset_prefix_cache", func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]bool{"success": e.flush()})
		}},
		{"GET", "/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			e.WriteMetrics(w) // a client that has gone needs none
		}},
	}
}

// object answers with JSON.
func (e *Emulator) object(what func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, what()) }
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	json.NewEncoder(&b).Encode(v) // maps of texts and numbers have no error
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

func (e *Emulator) refuse(w http.ResponseWriter, err error) {
	var known *apiError
	if !errors.As(err, &known) {
		known = failure(http.StatusInternalServerError, "", "%v", err)
	}
	e.mu.Lock()
	e.met.refused++
	e.mu.Unlock()
	if known.status == http.StatusTooManyRequests || known.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, known.status, map[string]any{"error": known})
}

func (e *Emulator) Handler() http.Handler {
	mux := http.NewServeMux()
	routes := e.routes()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, r.do)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		status, said := http.StatusNotFound, "Unknown request URL: %s %s."
		if slices.ContainsFunc(routes, func(known route) bool { return known.path == r.URL.Path }) {
			status, said = http.StatusMethodNotAllowed, "Not allowed to %s on %s."
		}
		e.refuse(w, &apiError{status, fmt.Sprintf(said, r.Method, r.URL.Path), badRequest, nil, optional("unknown_url")})
	})
	return crossOrigin(mux)
}

// crossOrigin allows pages of any origin, as the servers of vLLM
// (vllm/entrypoints/openai/cli_args.py, allowed_origins) and SGLang do.
func crossOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
		h.Set("Access-Control-Max-Age", "600")
		if headers := r.Header.Get("Access-Control-Request-Headers"); headers != "" {
			h.Set("Access-Control-Allow-Headers", headers)
		}
	})
}

// flush empties the prefix cache, if no request is under way.
func (e *Emulator) flush() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live.Flush()
}

// flushCache answers as SGLang does (python/sglang/srt/entrypoints/http_server.py at cce0a12): it
// waits for requests under way as long as the client allows, and then flushes nothing.
func (e *Emulator) flushCache(w http.ResponseWriter, r *http.Request) {
	const poll = 10 * time.Millisecond
	seconds := 0.0
	if text := r.URL.Query().Get("timeout"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil || !(seconds >= 0 && seconds <= mostSeconds) {
			e.refuse(w, wrongParam("timeout", "invalid_value", "'timeout' must be a time from 0 to %g seconds, not %q.", mostSeconds, text))
			return
		}
	}
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for !e.flush() {
		if time.Now().After(until) || r.Context().Err() != nil {
			http.Error(w, "Flush cache failed: requests are under way.", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(poll):
		case <-e.closed:
			until = time.Time{}
		}
	}
	fmt.Fprintln(w, "Cache flushed.")
}

// stampHeader requests the simulated time of events, in a comment.
const stampHeader = "X-Simulated-Time"

func (e *Emulator) answer(of *protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		a, q, err := e.begin(of, w, r, control)
		if err != nil {
			e.refuse(w, err)
			return
		}
		defer e.leave(a.stream)
		if q.stream {
			(&writer{w: w, control: control, answers: &of.answers, answer: a, stamped: q.stamped, cut: e.cut(a.output)}).run(r.Context())
		} else {
			e.writeComplete(w, r, of, a)
		}
	}
}

// begin reads and submits a request.
func (e *Emulator) begin(of *protocol, w http.ResponseWriter, r *http.Request, control *http.ResponseController) (*answer, *request, error) {
	release, err := e.hold(r)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := readBody(w, r)
	control.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, nil, err
	}
	q, err := of.read(body)
	if err != nil {
		return nil, nil, err
	}
	q.stamped = r.Header.Get(stampHeader) != ""
	s, err := e.accept(q)
	if err != nil {
		return nil, nil, err
	}
	q.prompt = nil // which may be large
	return &answer{stream: s, id: fmt.Sprintf("%s%08x", of.answers.mark, s.client), created: time.Now().Unix(), model: e.Model, quoted: e.quoted, usage: q.usage}, q, nil
}

// cut is the tokens after which the connection is closed.
func (e *Emulator) cut(output int) int {
	if p, _ := e.share("cut"); p > 0 && e.chance(p) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return 1 + e.random.IntN(output)
	}
	return math.MaxInt
}

// failures are the errors with which streams end.
var failures = map[ending]*apiError{
	replicaLost: failure(http.StatusInternalServerError, "replica_failed", "The replica that computed this answer has failed."),
	shutDown:    failure(http.StatusServiceUnavailable, "shutting_down", "The server is shutting down."),
}

// writeComplete waits for all tokens, and writes them in one piece.
func (e *Emulator) writeComplete(w http.ResponseWriter, r *http.Request, of *protocol, a *answer) {
	for {
		select {
		case <-a.wake:
		case <-r.Context().Done():
			hangUp()
		}
		_, end := a.take(nil)
		if end == running {
			continue
		}
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		switch {
		case end != complete:
			e.refuse(w, failures[end])
		case e.cut(a.output) <= a.output:
			hangUp()
		default:
			writeJSON(w, http.StatusOK, of.answers.complete(a))
		}
		return
	}
}

// hangUp closes the connection. A client that closed only its side, which looks like one that has
// gone, would take an empty answer as complete.
func hangUp() { panic(http.ErrAbortHandler) }

// writer writes a stream as its tokens come.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	answers *answers
	*answer
	stamped  bool
	cut      int
	deadline time.Time
}

// scratch are buffers for events, one per stream being written rather than per open stream.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// run writes until the stream ends, or the client goes.
func (w *writer) run(ctx context.Context) {
	h := w.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	w.w.WriteHeader(http.StatusOK)
	if w.flush() != nil {
		return
	}
	var got []burst
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			hangUp()
		}
		var end ending
		got, end = w.take(got)
		if len(got) == 0 && end == running {
			continue
		}
		if !w.write(got, end) || end != running {
			return
		}
	}
}

// write writes new tokens; false when the client has gone.
func (w *writer) write(got []burst, end ending) bool {
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	b := (*buffer)[:0]
	for _, one := range got {
		if w.sent == 0 {
			b = w.answers.begin(b, w.answer)
		}
		w.finish = w.sent+one.tokens >= w.output
		if w.stamped {
			b = append(strconv.AppendFloat(append(b, ": "...), one.time, 'f', 9, 64), '\n')
		}
		b = w.answers.some(b, w.answer, one.tokens)
		if w.sent += one.tokens; w.sent >= w.cut {
			w.w.Write(b)
			w.flush()
			hangUp()
		}
	}
	switch {
	case end == complete:
		b = w.answers.end(b, w.answer)
	case end != running:
		object, _ := json.Marshal(map[string]any{"error": failures[end]}) // texts have no error
		b = fmt.Appendf(b, "data: %s\n\ndata: [DONE]\n\n", object)
	}
	*buffer = b
	_, err := w.w.Write(b)
	return err == nil && w.flush() == nil
}

// flush sends what is written, to clients that read it in time.
func (w *writer) flush() error {
	if now := time.Now(); w.deadline.Sub(now) < writeTime/2 {
		w.deadline = now.Add(writeTime)
		w.control.SetWriteDeadline(w.deadline)
	}
	return w.control.Flush()
}

// Serve answers on a listener until the context ends; running streams then end with an error.
func (e *Emulator) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: e.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 2)
	go func() { failed <- e.Run(ctx) }()
	go func() { failed <- server.Serve(&bounded{Listener: l, most: int64(e.Connections)}) }()
	err := <-failed // nil when the context has ended
	cancel()
	<-e.closed
	grace, stop := context.WithTimeout(context.Background(), GraceTime)
	defer stop()
	if server.Shutdown(grace) != nil {
		server.Close()
	}
	return err
}

// bounded is a listener that limits open connections and answers those above.
type bounded struct {
	net.Listener
	most int64
	open atomic.Int64
}

// full is the answer to a connection too many.
const full = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	`{"error":{"message":"Too many connections are open.","type":"server_error","param":null,"code":"too_many_connections"}}` + "\n"

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			return &counted{Conn: c, open: &b.open}, nil
		}
		b.open.Add(-1)
		c.SetDeadline(time.Now().Add(time.Second))
		c.Write([]byte(full))
		c.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
