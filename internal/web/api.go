package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"throughline"
	"throughline/internal/advice"
	"throughline/internal/api"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
)

// eventStream is the type of answers that tell their progress.
const eventStream = "text/event-stream"

type progress func(phase string, parts, done int)

// call is an answer for programs: the bytes that the command of the same name writes.
type call struct {
	name string
	of   question.Command
	give func(s *Server, ctx context.Context, words map[string]string, to *outbox) (any, error)
}

var calls = []call{
	{"plan", question.Plan, func(s *Server, ctx context.Context, words map[string]string, to *outbox) (any, error) {
		p, err := throughline.NewPlans(throughline.Question(words), s.reading()...)
		if err != nil {
			return nil, err
		}
		if to != nil {
			p.Options.Tell(progressTo(to))
			p.Options.Sofar = func(a *advice.Advice) {
				if len(a.Ranked) > 0 {
					to.put(message{name: "sofar", data: marshal(report.AdviceJSON(&advice.Plans{Loaded: p.Loaded, Options: p.Options, Advice: a}))})
				}
			}
		}
		return p, p.Search(ctx)
	}},
	{"estimate", question.Estimate, func(s *Server, ctx context.Context, words map[string]string, _ *outbox) (any, error) {
		return throughline.Estimate(ctx, throughline.Question(words), s.reading()...)
	}},
	{"explain", question.Explain, func(s *Server, ctx context.Context, words map[string]string, _ *outbox) (any, error) {
		return throughline.Explain(ctx, throughline.Question(words), s.reading()...)
	}},
	{"simulate", question.Simulate, func(s *Server, ctx context.Context, words map[string]string, _ *outbox) (any, error) {
		r, err := throughline.Simulate(ctx, throughline.Question(words), s.reading()...)
		if err != nil {
			return nil, err
		}
		text, err := r.Result.JSON()
		return literal(text), err
	}},
	{"compare", question.Compare, func(s *Server, ctx context.Context, words map[string]string, _ *outbox) (any, error) {
		return s.compareJSON(ctx, words)
	}},
}

// literal is an answer that is written as it is.
type literal []byte

// programs adds the answers for programs.
func (s *Server) programs(mux *http.ServeMux) {
	for _, c := range calls {
		for _, method := range []string{"GET ", "POST "} {
			mux.HandleFunc(method+api.Path+c.name, s.call(&c))
		}
	}
	for _, method := range []string{"GET ", "POST "} {
		mux.HandleFunc(method+api.Path+"diff", s.diff)
	}
	mux.HandleFunc("GET "+api.Path+"scan", s.call(&call{name: "scan", of: question.Plan}))
	mux.HandleFunc("POST "+api.Path+"scan", s.call(&call{name: "scan", of: question.Plan}))
	mux.HandleFunc("GET "+api.Path+"models", tableHandler(report.Models))
	mux.HandleFunc("GET "+api.Path+"systems", tableHandler(report.Systems))
	mux.HandleFunc("GET "+api.Path+"engines", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, engineRows()) })
	mux.HandleFunc("POST "+api.Path+"check", s.check)
	mux.HandleFunc("GET "+api.Path+"openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		src, err := api.OpenAPI()
		if err != nil {
			panic(err) // it is made of what is built in
		}
		writeJSON(w, literal(src))
	})
}

func tableHandler[T any](table func() (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		t, err := table()
		if err != nil {
			writeProblems(w, http.StatusInternalServerError, err)
			return
		}
		writeJSON(w, t)
	}
}

// writeJSON writes an object as commands do.
func writeJSON(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	if text, ok := v.(literal); ok {
		b.Write(text)
	} else if err := report.WriteObject(&b, v); err != nil {
		writeProblems(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b.Bytes())
}

// words are those of a request: parameters, and keys of an object in its body.
func (s *Server) words(w http.ResponseWriter, r *http.Request) (map[string]string, error) {
	object := api.Object{}
	for name, values := range r.URL.Query() {
		object[name] = strings.Join(values, ",")
	}
	if r.Method == http.MethodPost {
		src, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostText))
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(src)) > 0 {
			if err := json.Unmarshal(src, &object); err != nil {
				return nil, fmt.Errorf("the body must be an object of settings: %w", err)
			}
		}
	}
	return api.Words(object)
}

// call answers a program.
func (s *Server) call(c *call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		words, err := s.words(w, r)
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			writeProblems(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the body may have %d bytes", large.Limit))
			return
		case err != nil:
			writeProblems(w, http.StatusBadRequest, err)
			return
		}
		of, limit := c.of, s.deadline
		if c.name == "scan" {
			if of, err = commandOf(words); err != nil {
				writeProblems(w, http.StatusBadRequest, err)
				return
			}
		}
		if slow(words) || c.name == "scan" {
			limit = longDeadline
		}
		streams := strings.Contains(r.Header.Get("Accept"), eventStream)
		var to *outbox
		tell, write := progress(nil), func(message) {}
		if streams {
			w.Header().Set("Content-Type", eventStream)
			w.WriteHeader(http.StatusOK)
			to = newOutbox()
			tell, write = progressTo(to), func(m message) { sendEvent(w, m) }
		}
		var answer any
		err = s.aside(r.Context(), limit, cmp.Or(to, newOutbox()), write, func() {}, func(ctx context.Context) (err error) {
			asked, several, err := s.several(ctx, of, words, tell)
			if several || err != nil || c.give == nil {
				answer = asked
				return err
			}
			answer, err = c.give(s, ctx, words, to)
			return err
		})
		switch {
		case streams && err != nil:
			sendEvent(w, message{name: "problems", data: marshal(problemsJSON(err))})
		case streams:
			sendEvent(w, message{name: "answer", data: marshal(answer)})
		case err != nil:
			writeProblems(w, statusOf(err), err)
		default:
			writeJSON(w, answer)
		}
	}
}

func commandOf(words map[string]string) (question.Command, error) {
	name := words["command"]
	delete(words, "command")
	for _, c := range []question.Command{question.Plan, question.Estimate, question.Simulate} {
		if c.Paths()[0] == name || name == "" && c == question.Plan {
			return c, nil
		}
	}
	return 0, question.OfSetting("command", errors.New(document.NotOneOf(name, []string{"plan", "estimate", "simulate"})))
}

// slow reports whether requests are simulated until limits hold.
func slow(words map[string]string) bool {
	return words["rate"] != "" || words["max-rate"] != "" || words["trace"] != ""
}

// eventPause is the least time between two messages on progress.
const eventPause = 100 * time.Millisecond

// progressTo tells progress as messages, not too often.
func progressTo(o *outbox) progress {
	var mu sync.Mutex
	var last time.Time
	return func(phase string, parts, done int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < eventPause && done > 0 {
			return
		}
		last = time.Now()
		text, _ := json.Marshal(map[string]any{"phase": phase, "parts": parts, "done": done}) // plain values
		o.put(message{name: "progress", data: text})
	}
}

// marshal is an answer as commands write it.
func marshal(v any) []byte {
	if text, ok := v.(literal); ok {
		return text
	}
	var b bytes.Buffer
	if err := report.WriteObject(&b, v); err != nil {
		panic(err) // answers are plain values
	}
	return b.Bytes()
}

func sendEvent(w http.ResponseWriter, m message) {
	fmt.Fprintf(w, "event: %s\n", m.name)
	for line := range bytes.Lines(m.data) {
		fmt.Fprintf(w, "data: %s\n", bytes.TrimRight(line, "\n"))
	}
	io.WriteString(w, "\n")
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
