// Package bench sends requests to a server that answers them token by token, and measures what its clients see: the same
// figures as a simulation predicts, counted as sglang.bench_serving counts them.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"throughline/engine"
	"throughline/internal/secret"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Options are what is asked of a run.
type Options struct {
	Backend string
	BaseURL string // without a path
	Model   string // empty: the first that the server names
	Headers http.Header
	Secrets *secret.Set // what must not be shown, though a server may repeat it; nil: nothing

	Requests Requests
	Rate     float64 // requests per second; +Inf: all at once, or as clients are free
	Clients  int     // requests under way at most; 0: any number
	Seed     uint64

	Warmup        int
	Flush         bool // the prefix cache, after the warm-up
	Profile       bool // SGLang's profiler runs meanwhile
	Retries       int  // of a request that has no answer yet
	Timeout       time.Duration
	DisableStream bool

	DisableIgnoreEOS, ReturnLogprob bool
	Extra                           map[string]json.RawMessage // members of all bodies
	LoRA                            []string                   // adapters, one of which each request names
	Suffix                          string                     // of prompts that are text
	OnlyIDs                         bool                       // prompts must be token ids

	TTFT, TPOT workload.Limit  // of shares of the requests
	Limits     simulate.Limits // of single ones

	KeepText bool        // answers are wanted
	Each     func(*Done) // is told of every request, one at a time; nil: no one
	Live     *Live       // what is under way; nil: no one looks
}

// Requests are what is sent: drawn, of a trace, or of a file of conversations.
type Requests struct {
	Traffic simulate.Traffic // its rate and clients are those of the options
	Trace   *simulate.Trace
	Shared  []Conversation
	// Of conversations: tokens of the answers in place of those recorded, and the most of prompt and answer; 0: as they are.
	FixedOutput, Longest int
	Asked                simulate.Asked
}

// Done is a request that has ended, well or not. Times are seconds from the start of the run: it arrived when it was due,
// and was scheduled when it was sent.
type Done struct {
	simulate.Ended
	Turn    int
	Gaps    []Gap
	Chunks  int
	Cached  int
	Counted bool // tokens by the server's usage
	Asked   int  // output tokens
	Retries int
	Resent  int
	Failure *Failure
	Text    string

	held float64 // seconds for which no client was free
}

// Bench is a server that is ready to be measured.
type Bench struct {
	o       *Options
	backend *engine.Backend
	client  *client
	bodies  *bodies
	prompts prompts
	perChar float64 // tokens of a character, of texts of a file
	model   string
	notes   []string
}

// ErrServer is a server that does not answer as it should before anything is measured.
var ErrServer = errors.New("the server cannot be measured")

// New asks a server which model it serves, and warms it up. What it answers tells how many tokens a word has, where prompts
// are words.
func New(ctx context.Context, o *Options) (*Bench, error) {
	backend, ok := engine.FindBackend(o.Backend)
	if !ok {
		return nil, fmt.Errorf("no backend %q", o.Backend)
	}
	b := &Bench{o: o, backend: backend, client: newClient(o, backend), model: o.Model, perChar: usualPerChar}
	if b.model == "" && backend.NeedsModel() {
		var err error
		if b.model, err = b.client.firstModel(ctx); err != nil {
			b.Close()
			return nil, fmt.Errorf("%w: %s/v1/models: %w; name the model to do without it", ErrServer, o.BaseURL, err)
		}
	}
	b.bodies = newBodies(o, backend, b.model)
	b.prompts = prompts{seed: o.Seed, ids: backend.TakesIDs() && len(o.Requests.Shared) == 0 && o.Requests.Traffic.Turns <= 1, perWord: 1, suffix: o.Suffix}
	if err := b.warmUp(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close lets the connections go.
func (b *Bench) Close() { b.client.close() }

// Model is the name of the model in requests.
func (b *Bench) Model() string { return b.model }

// source is the requests at a rate, so many times as many as were asked for.
func (b *Bench) source(rate float64, times int) (simulate.Source, []string, error) {
	q := &b.o.Requests
	if q.Trace != nil {
		speed := 1.0
		if !math.IsInf(rate, 1) {
			speed = rate / q.Trace.Rate()
		}
		s, err := q.Trace.Source(speed, q.Traffic.Requests, 0)
		return s, nil, err
	}
	t := q.Traffic
	t.Requests *= times
	t.Rate, t.Clients = rate, 0 // who waits for a client is known here
	var texts []string
	if len(q.Shared) > 0 {
		t.Recorded, texts = q.recorded(b.perChar)
		if len(texts) == 0 {
			return nil, nil, fmt.Errorf("%s: no conversation is left whose prompt and answer have at least %d tokens each and fit", q.Asked.Dataset, fewestTokens)
		}
		t.Requests = min(t.Requests, len(texts))
	}
	return t.Source(), texts, nil
}

// closedLoop reports whether requests come as clients are free, rather than at times of their own.
func (b *Bench) closedLoop(rate float64) bool {
	return b.o.Clients > 0 && math.IsInf(rate, 1) && b.o.Requests.Trace == nil
}
