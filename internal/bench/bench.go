// Package bench sends requests to a streaming server and measures what its clients see: the figures
// that a simulation predicts, counted as sglang.bench_serving counts them.
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

type Options struct {
	workload.Terms // the concurrency limit is enforced here: a request may be held for a free client
	workload.Protocol
	BaseURL string // without a path
	Model   string // empty: the first that the server lists
	Headers http.Header
	Secrets *secret.Set // hidden from messages, though a server may repeat them; may be nil

	Conversations []Conversation             // of a file, in place of drawn requests
	Extra         map[string]json.RawMessage // members of all bodies
	LoRA          []string                   // adapters, one per request
	Limits        simulate.Limits            // of single requests

	KeepText bool        // of answers
	Each     func(*Done) // called for every request, one at a time; may be nil
	Live     *Live       // progress; may be nil
}

// Done is a request that has ended, well or not. Times are seconds from the start of the run: it
// arrived when it was due, and was scheduled when it was sent.
type Done struct {
	simulate.Ended
	Turn      int
	Gaps      []Gap
	Chunks    int
	Cached    int
	Counted   bool // tokens by the server's usage
	Requested int  // output tokens
	Retries   int
	Resent    int
	Failure   *Failure
	Text      string

	held float64 // seconds without a free client
}

// Bench is a server that is ready to be measured.
type Bench struct {
	o       *Options
	backend *engine.Backend
	client  *client
	bodies  *bodies
	prompts prompts
	perChar float64 // tokens per character in texts of a file
	model   string
	notes   []string
}

// ErrServer means that the server failed before anything was measured.
var ErrServer = errors.New("the server cannot be measured")

// New finds the server's model and warms it up, which tells the tokens per word of prompts.
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

func (b *Bench) Close() { b.client.close() }

// source is the requests at a rate, multiplied in number by times.
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

// closedLoop reports whether requests follow free clients, rather than arrival times.
func (b *Bench) closedLoop(rate float64) bool {
	return b.o.Traffic.Clients > 0 && math.IsInf(rate, 1) && b.o.Traffic.Trace == nil
}
