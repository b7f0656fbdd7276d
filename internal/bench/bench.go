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

	"throughline/engine"
	"throughline/internal/secret"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Options are what is asked of a run.
type Options struct {
	workload.Terms // requests under way at most are known here: who waits for a client is held
	workload.Protocol
	BaseURL string // without a path
	Model   string // empty: the first that the server names
	Headers http.Header
	Secrets *secret.Set // what must not be shown, though a server may repeat it; nil: nothing

	Conversations []Conversation             // of a file, in place of drawn requests
	Extra         map[string]json.RawMessage // members of all bodies
	LoRA          []string                   // adapters, one of which each request names
	Limits        simulate.Limits            // of single requests

	KeepText bool        // answers are wanted
	Each     func(*Done) // is told of every request, one at a time; nil: no one
	Live     *Live       // what is under way; nil: no one looks
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
	b.prompts = prompts{seed: o.Traffic.Seed, ids: backend.TakesIDs() && len(o.Conversations) == 0 && o.Traffic.Turns <= 1, perWord: 1, suffix: o.Suffix}
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
func (b *Bench) source(rate float64, times int) (workload.Source, []string, error) {
	t := b.o.Traffic
	if t.Rate, t.Clients = rate, 0; t.Trace == nil {
		t.Requests *= times
	}
	var texts []string
	if len(b.o.Conversations) > 0 {
		t.Recorded, texts = b.o.recorded(b.perChar)
		if len(texts) == 0 {
			return nil, nil, fmt.Errorf("%s: no conversation is left whose prompt and answer have at least %d tokens each and fit", t.Dataset, fewestTokens)
		}
		t.Requests = min(t.Requests, len(texts))
	}
	return t.Source(), texts, nil
}

// closedLoop reports whether requests come as clients are free, rather than at times of their own.
func (b *Bench) closedLoop(rate float64) bool {
	return b.o.Traffic.Clients > 0 && math.IsInf(rate, 1) && b.o.Traffic.Trace == nil
}
